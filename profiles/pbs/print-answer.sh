print_answer() { # prints the jobs in gpe_text, which qstat has printed with the exit status gpe_rc
  case $gpe_rc:$gpe_text in
  0: | 0:*'Job Id:'*) ;;
  35:*'Job Id:'* | 153:*'Job Id:'*) gpe_rc=0 ;; # all but some, which it does not know
  0:*) gpe_rc=1 ;;                              # it answers, but not about jobs
  esac
  if [ "$gpe_rc" -ne 0 ]; then
    printf '%s\n' "$gpe_text" >&2
    return "$gpe_rc"
  fi
  printf '%s\n' "$gpe_text" | print_jobs
}
