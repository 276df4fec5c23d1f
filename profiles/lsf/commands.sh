# LSF's commands, as functions for the programs of batch.
# bkill sends INT, before TERM and KILL.
# shellcheck disable=SC2034  # gpe_ended_itself, of linux, reads it
gpe_removal_code=130
gpe_find() { # by the directory in which it was submitted
  gpe_text=$(bjobs -noheader -o "jobid sub_cwd delimiter='|'" 2>&1)
  case $?:$gpe_text in
  0:?* | *'job found'*) ;;
  *)
    printf '%s\n' "${gpe_text:-bjobs printed nothing}" >&2
    return 1
    ;;
  esac
  printf '%s\n' "$gpe_text" | GPE_D=$PWD GPE_P=$(pwd -P) awk '
{ at = index($0, "|"); id = substr($0, 1, at - 1); d = substr($0, at + 1) }
sub(/^\$HOME/, "", d) { d = ENVIRON["HOME"] d }
id ~ /^[0-9]+$/ && (d == ENVIRON["GPE_D"] || d == ENVIRON["GPE_P"]) { print id; exit }'
}
gpe_name_tasks() { ID=$1 awk '{ print ENVIRON["ID"] "[" $0 "]" }'; }
gpe_has_ended() { case $1 in DONE | EXIT) ;; *) return 1 ;; esac }
gpe_is_removal() { # STATE WHY
  case $2 in
  TERM_OWNER | TERM_ADMIN | TERM_FORCE_* | TERM_BUCKET_KILL | TERM_ORPHAN_SYSTEM) ;;
  *) return 1 ;;
  esac
}
# STATE WHY: any other reason of LSF's: a limit, or that it could not run the job.
gpe_is_limit() { case $2 in TERM_*) ! gpe_is_removal "$@" ;; *) return 1 ;; esac }
gpe_cancel() { bkill "$1"; }
gpe_hold() { # ID: if something of it is not held, nor has ended
  gpe_read_state "$1" || return
  # shellcheck disable=SC2154  # gpe_read_state, of batch, sets it
  case $gpe_state in
  *PEND* | *RUN* | *SSUSP* | *WAIT* | *PROV*) ;;
  *SUSP*) return 0 ;;
  esac
  bstop "$1"
}
gpe_resume() { # ID: if something of it is held
  gpe_read_state "$1" || return
  case $gpe_state in
  *SUSP*) ;;
  *PEND* | *WAIT* | *PROV* | *RUN*) return 0 ;;
  esac
  bresume "$1"
}
gpe_signal() { # ID NUMBER: of an array, the tasks that run: KILL would end the others, too
  gpe_lines=$(gpe_list "$1") || return
  gpe_ids=$(printf '%s\n' "$gpe_lines" | awk '$2 == "RUN" { print $1 }')
  [ -n "$gpe_ids" ] || { echo 'it does not run: only running jobs can get signals' && return 1; }
  # shellcheck disable=SC2086
  bkill -s "$2" $gpe_ids
}
