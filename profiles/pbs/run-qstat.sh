gpe_qstat() { # [ID...]: prints lines of the program qstat
  sh "$qstat" "$@"
}
