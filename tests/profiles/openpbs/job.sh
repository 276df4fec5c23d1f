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
get() { # FILE of the job: sets value to its line; false without one. No process is started, as tests ask often
  value=
  [ ! -e "$job/$1" ] || IFS= read -r value < "$job/$1"
  [ -n "$value" ]
}
find_state() { # sets state, to nothing for an unknown job
  task=$job job=$FAKE_PBS/jobs/$n
  get state
  all=$value job=$task
  # without a history, what has ended is unknown
  [ "$all" != F ] || [ ! -e "$FAKE_PBS/nohistory" ] || all=
  if [ -z "$all" ] || [ -z "$i" ]; then state=$all
  elif get state; then
    state=$value
    [ "$all" != F ] || state=F
  elif is_listed "$FAKE_PBS/jobs/$n/remaining" "$i"; then state=Q
  elif is_listed "$FAKE_PBS/jobs/$n/indices" "$i"; then state=X
  else state=
  fi
}
