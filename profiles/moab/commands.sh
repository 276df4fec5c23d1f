gpe_submit() { # SCRIPT NODES/PROCESSES/CPUS/MEMORY OPTION...: mem= is of the whole job
  gpe_script=$1
  gpe_need=$(printf '%s\n' "$2" | awk -F / '{
  n = $1 ? $1 : 1
  ppn = int((($2 ? $2 : n) + n - 1) / n) * ($3 ? $3 : 1)
  print "nodes=" n ":ppn=" ppn ($4 ? ",mem=" $4 * n "mb" : "")
}')
  shift 2
  msub -E -j oe -o /dev/null -l "$gpe_need" "$@" "$gpe_script" 2>&1
}
gpe_list() { gpe_showq; }
gpe_list_ended() { gpe_showq -c; }
gpe_showq() { # [-c]: of jobs that have ended
  gpe_ask '*</Data>*' showq "$@" --xml -w "user=$(id -un)" || return
  gpe_check_list '<queue' showq || return
  printf '%s\n' "$gpe_text" | awk -v RS='<' '
function read_value(name) {
  if (!match($0, " " name "=\"[^\"]*\"")) return ""
  return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
}
/^job / {
  state = read_value("State")
  code = read_value("CompletionCode")
  if (code ~ /^CNCLD/) state = "Removed"
  if (state code ~ /^Completed[0-9]+$/)
    state = state (code + 0 < 256 ? "/exit exit=" code : " signal=" code % 128)
  # Removed by a user, or for its wall time
  limit = read_value("ReqAWDuration") + 0
  if (state == "Removed" && limit && read_value("AWDuration") + 0 >= limit) state = "time"
  print read_value("JobID"), state
  if (state == "") exit 1
}' && return
  gpe_check_list 'no job is without a state' showq
}
gpe_has_ended() { case $1 in Completed | Vacated | Removed | time) ;; *) return 1 ;; esac }
gpe_is_removal() { [ "$1" = Removed ]; }
gpe_is_limit() { [ "$1" = time ]; }
gpe_own_id() { printf '%s\n' "${MOAB_JOBID:-${PBS_JOBID%%.*}}"; }
gpe_cancel() { mjobctl -c "$1"; }
gpe_hold() { gpe_require 'Idle|Deferred|Blocked' "$1" && mjobctl -h user "$1"; }
gpe_is_held() { case $1 in *Hold) ;; *) return 1 ;; esac }
gpe_resume() { mjobctl -u user "$1"; }
gpe_signal() { gpe_require Running "$1" && mjobctl -N "signal=$2" "$1"; }
# shellcheck disable=SC2034  # job.sh has it
gpe_submit_directory=PBS_O_WORKDIR
