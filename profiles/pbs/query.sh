gpe_program=$1
gpe_qstat() { # ID...: prints lines of qstat.sh
  sh "$gpe_program" "$@"
}
