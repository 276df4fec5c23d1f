gpe_own_id() { printf '%s\n' "$GPE_CLUSTER"; }
gpe_own_task() { printf '%s\n' "$GPE_INDEX"; }
gpe_control() { # COMMAND ID
  case $2 in
  *_*) "$1" -constraint "ClusterId == ${2%_*} && GpeIndex == ${2#*_}" ;;
  *) "$1" "$2" ;;
  esac
}
gpe_cancel() { gpe_control condor_rm "$1"; }
gpe_hold() { gpe_control condor_hold "$1"; }
gpe_resume() { gpe_control condor_release "$1"; }
