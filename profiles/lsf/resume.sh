# resume.sh PROFILE ID: releases a held job, continues a suspended one. The exit status of a failure
# is that of bresume.
main() { # PROFILE ID
  states=$(gpe_states "$2") || exit
  case $states in
  *SUSP*) ;;
  *PEND* | *WAIT* | *PROV* | *RUN*) exit 0 ;;
  esac
  run_quietly bresume "$2"
}
