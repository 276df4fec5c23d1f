# hold.sh PROFILE ID: holds a waiting job, suspends a running one. The exit status of a failure is
# that of bstop.
main() { # PROFILE ID
  states=$(gpe_states "$2") || exit
  case $states in
  *PEND* | *RUN* | *SSUSP* | *WAIT* | *PROV*) ;;
  *SUSP*) exit 0 ;;
  esac
  run_quietly bstop "$2"
}
