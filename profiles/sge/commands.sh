# Grid Engine's commands, as functions for the programs of batch.
gpe_name_tasks() { ID=$1 awk '{ print ENVIRON["ID"] "." $0 }'; }
gpe_find() { # by the directory in which it was submitted
  gpe_lines=$(gpe_qstat) || return
  [ -n "$gpe_lines" ] || return 0
  gpe_lines=$(qstat -j "$(printf '%s\n' "$gpe_lines" | gpe_print_wholes)") || return
  printf '%s\n' "$gpe_lines" | GPE_D=$PWD GPE_P=$(pwd -P) awk '
sub(/^job_number: */, "") { id = $0 }
id != "" && sub(/^sge_o_workdir: */, "") {
  if ($0 == ENVIRON["GPE_D"] || $0 == ENVIRON["GPE_P"]) { print id; exit }
  id = ""
}'
}
gpe_has_ended() { [ "$1" = ended ]; }
gpe_is_limit() { # of ended/N, failure 37
  case $2 in time | memory | 37) ;; *) return 1 ;; esac
}
gpe_cancel() { qdel "$1"; }
gpe_hold() { # ID: holds what waits, suspends what runs; qmod's exit status tells nothing
  gpe_read_state "$1" || return
  case " ${gpe_state:?}" in *' '[!d]*) ;; *) echo 'it is being deleted' && return 1 ;; esac
  case $gpe_state in *q*)
    qhold -h u "$1" && gpe_read_state "$1" || return
    ! gpe_are_held || return 0
    # it began in between; the hold would wait for it until it is queued again
    case $gpe_state in *q*) ;; *) qrls -h u "$1" ;; esac
    ;;
  esac
  qmod -sj "$1"
  gpe_read_state "$1" || return
  gpe_are_held || { echo "it is in state $gpe_state" && return 1; }
}
gpe_are_held() { # the tasks of an array may have several states
  for gpe_one in $gpe_state; do
    case $gpe_one in *h*q* | *[dsST]*) ;; *) return 1 ;; esac
  done
}
gpe_resume() { # ID
  gpe_read_state "$1" || return
  case $gpe_state in *E*) qmod -cj "$1" ;; esac
  case $gpe_state in *s*) qmod -usj "$1" ;; esac
  case $gpe_state in *h*) qrls -h u "$1" || return ;; esac
  gpe_read_state "$1" || return
  case $gpe_state in
  *s* | *E*) gpe_why= ;;
  *h*) gpe_why=': an operator, the system or another job holds it' ;;
  *[ST]*) gpe_why=': its queue or the load suspends it' ;;
  *) return 0 ;;
  esac
  echo "it is still in state $gpe_state$gpe_why"
  return 1
}
