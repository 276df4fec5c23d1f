# resume.sh PROFILE ID: releases a held job, continues a suspended one, clears an error. Exit status
# 1: it is still held.
template=RESUME
main() { # PROFILE ID
  state=$(gpe_state "$id") || exit
  message=
  # qmod's exit code tells nothing
  case $state in *E*) message=$(qmod -cj "$id" 2>&1) ;; esac
  case $state in *s*) message=$(qmod -usj "$id" 2>&1) ;; esac
  case $state in '' | *h*) run_quietly qrls -h u "$id" && message=$words ;; esac
  state=$(gpe_state "$id") || exit
  case $state in
  *s* | *E*) fail "is in state $state${message:+: $message}" ;;
  *h*) fail "is still in state $state: an operator, the system or another job holds it" ;;
  *[ST]*) fail "is in state $state: its queue or the load suspends it" ;;
  esac
}
