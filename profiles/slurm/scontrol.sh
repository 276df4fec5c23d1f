run_scontrol() { # ACTION: of the job id; exits with 1 if Slurm refuses
  words=$(scontrol "$1" "$id" 2>&1) && return
  case $words in *'already finished'*) return 0 ;; esac # some tasks of an array
  printf '%s\n' "$words" >&2
  exit 1
}
