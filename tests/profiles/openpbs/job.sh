# shellcheck shell=sh
# For the stand-ins: jobs/N is a job or an array, jobs/N/tasks/I a task of it that has begun; jobs/N/remaining has the
# indices of those that have not, and jobs/N/indices those of all.
find_job() { # ID: sets n, i (a task's index) and job; id, as PBS prints it
  n=${1%%.*} i=''
  case $n in *\[*) i=${n#*\[}; i=${i%\]} n=${n%%\[*} ;; esac
  id=$n.pbs0 job=$FAKE_PBS/jobs/$n
  [ ! -e "$job/indices" ] || id="$n[$i].pbs0"
  [ -z "$i" ] || job=$job/tasks/$i
}
is_listed() { grep -qx -e "$2" "$1" 2> /dev/null; }
job_state() { # prints the state, or nothing for an unknown job
  [ -e "$FAKE_PBS/jobs/$n/state" ] || return 0
  # without a history, what has ended is unknown
  [ ! -e "$FAKE_PBS/nohistory" ] || [ "$(cat "$FAKE_PBS/jobs/$n/state")" != F ] || return 0
  if [ -z "$i" ] || [ -e "$job/state" ]; then
    task=$(cat "$job/state" 2> /dev/null)
    [ -z "$i" ] || [ "$(cat "$FAKE_PBS/jobs/$n/state")" != F ] || task=F
    echo "$task"
  elif is_listed "$FAKE_PBS/jobs/$n/remaining" "$i"; then echo Q
  elif is_listed "$FAKE_PBS/jobs/$n/indices" "$i"; then echo X
  fi
}
