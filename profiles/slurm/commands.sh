# Slurm's commands, as functions for the programs of batch.
set_up_slurm "${gpe_profile-}"
# By the script's path and the directory, which may have a | of its own. squeue lists those that
# wait or run, which is enough: an ended job has left its id in the directory.
gpe_find() {
  gpe_lines=$(squeue -h -u "$(id -u)" -o '%F|%Z|%o') || return
  gpe_real=$(pwd -P)
  printf '%s\n' "$gpe_lines" | while IFS= read -r gpe_line; do
    for gpe_name in .gpe/script .gpe_job; do # of an early 0.1.0
      case ${gpe_line#*|} in
      "$PWD|$gpe_name" | "$PWD|$PWD/$gpe_name") ;;
      "$gpe_real|$gpe_name" | "$gpe_real|$gpe_real/$gpe_name" | "$gpe_real|$PWD/$gpe_name") ;;
      *) continue ;;
      esac
      printf '%s\n' "${gpe_line%%|*}"
      return
    done
  done
}
gpe_has_ended() {
  case $1 in COMPLETED | FAILED | CANCELLED | forgotten | removed) ;; *) gpe_is_limit "$1" ;; esac
}
gpe_is_removal() { [ "$1" = CANCELLED ]; }
gpe_is_limit() { # what Slurm alone knows
  case $1 in
  TIMEOUT | DEADLINE | OUT_OF_MEMORY | PREEMPTED) ;;
  NODE_FAIL | BOOT_FAIL | LAUNCH_FAILED | RECONFIG_FAIL) ;;
  *) return 1 ;;
  esac
}
gpe_cancel() { scancel "$1"; }
gpe_hold() { # ID: for a running job, Slurm would report success and do nothing
  gpe_read_state "$1" || return
  # shellcheck disable=SC2154  # gpe_read_state, of batch, sets it
  case $gpe_state in *PENDING*)
    gpe_scontrol hold "$1" && gpe_read_state "$1" || return
    case $gpe_state in *PENDING*) return 0 ;; esac
    # it began in between; the hold would wait for it until it is queued again
    scontrol release "$1"
    ;;
  esac
  echo "it is $gpe_state: only waiting jobs can be held"
  return 1
}
gpe_resume() { # ID
  gpe_read_state "$1" || return
  gpe_resumed=
  case $gpe_state in *RUNNING* | *CONFIGURING*) gpe_resumed=y ;; esac
  case $gpe_state in *PENDING* | *REQUEUE_HOLD* | *SPECIAL_EXIT* | *RESV_DEL_HOLD*)
    gpe_scontrol release "$1" || return
    gpe_resumed=y
    ;;
  esac
  # tasks of an array may be held, and others suspended
  case $gpe_state in *SUSPENDED*)
    gpe_scontrol resume "$1" || return
    gpe_resumed=y
    ;;
  esac
  [ -n "$gpe_resumed" ] && return
  echo "it is $gpe_state"
  return 1
}
# ACTION ID: false if Slurm refuses, and has not done it all the same: of a hold or release of a job
# that its partition cannot start, it only says so.
gpe_scontrol() {
  gpe_words=$(scontrol "$1" "$2" 2>&1) && return
  case $gpe_words in *'already finished'*) return 0 ;; esac # some tasks of an array
  case $1 in hold | release)
    gpe_read_state "$2"
    case $1:" $gpe_state " in
    hold:*' PENDING '* | release:*' PENDING/held '*) ;;
    *' PENDING'*) return 0 ;;
    esac
    ;;
  esac
  printf '%s\n' "$gpe_words"
  return 1
}
# ID NUMBER: for a whole array, scancel would signal the other tasks as they begin. And where a task
# waits, Slurm sends the signal to the others, but answers that they change their state; then
# scancel sends it again, every five seconds. It asks for ten at a time.
gpe_signal() {
  gpe_lines=$(gpe_list "$1") || return
  gpe_ids=$(printf '%s\n' "$gpe_lines" | awk -v id="$1" '
$2 == "RUNNING" && ($1 == id || index($1, id "_") == 1) { print $1 }')
  case $gpe_ids in
  '') echo 'it does not run: only running jobs can get signals' && return 1 ;;
  *_*)
    printf '%s\n' "$gpe_ids" | xargs -n 10 sh -c '
timeout 4 scancel --full --signal="$0" "$@"
rc=$?
[ "$rc" -eq 124 ] || exit "$rc"' "$2"
    ;;
  *) scancel --full --signal="$2" "$1" ;;
  esac
}
