#!/bin/sh
# Answers as Flux 0.88 did. The file jobs beside it has a job on each line: ID STATUS URGENCY CODE
cd "${0%/*}" || exit
[ ! -e away ] || { echo "flux-$1: ERROR: Unable to connect to Flux" >&2; exit 1; }
set_words() { # ID STATUS URGENCY CODE
  awk -v id="$1" '$1 == id { found = 1 } END { exit !found }' jobs || { echo "flux-job: unknown job id" >&2; exit 1; }
  awk -v id="$1" -v new="$*" '{ print $1 == id ? new : $0 }' jobs > jobs.new && mv jobs.new jobs
}
case "$1 $2" in
"batch "*)
  [ ! -e refuse ] || { cat refuse >&2; exit 1; }
  id=f11234$(echo "$(($(wc -l < jobs) + 1))" | tr 0 A) # an id has no 0
  echo "$id SCHED 16" >> jobs
  while [ "$#" -gt 2 ]; do echo "$2" >> options; shift; done
  cp "$2" "script.$id"
  [ -n "$FLUX_F58_FORCE_ASCII" ] || id=$(printf '\306\222%s' "${id#f}")
  echo "$id" ;;
"jobs -"*)
  format='{id.f58} {status}/{urgency} {returncode}'
  [ -n "$FLUX_F58_FORCE_ASCII" ] || exit 3
  case "$*" in
  "jobs -a -n -c 10000 -o $format") set -- $(awk -v most="$(cat most 2> /dev/null || echo 10000)" 'NR <= most { print $1 }' jobs) ;;
  "jobs -n -o $format "*) shift 4 ;;
  *) exit 2 ;;
  esac
  awk -v ids="$*" '
{ job[$1] = $1 " " $2 "/" $3 " " $4 }
END {
  n = split(ids, asked, " ")
  for (i = 1; i <= n; i++) if (asked[i] in job) print job[asked[i]]; else print "JobID " asked[i] " unknown" > "/dev/stderr"
}' jobs ;;
"job urgency")
  case $4 in hold) urgency=0 ;; default) urgency=16 ;; *) exit 2 ;; esac
  awk -v id="$3" '$1 == id && $2 != "SCHED" { exit 1 }' jobs ||
    { echo "flux-job: $3: urgency cannot be changed in RUN state" >&2; exit 1; }
  set_words "$3" SCHED "$urgency" ;;
"job id") [ "$3 $4" = "--to=f58 $FLUX_STANDIN_JOB" ] && echo "$4" ;;
"getattr jobid") echo "$FLUX_STANDIN_JOB" ;;
"cancel "*)
  [ ! -e late ] || { sh ./late; echo "flux-job: $2: job is inactive" >&2; exit 1; }
  set_words "$2" CANCELED 16 -128 ;;
*) exit 2 ;;
esac
