#!/bin/sh
# Answers as OAR 2.5.9 did. The file jobs beside it has a job on each line: ID ARRAY INDEX STATE CODE EVENT REQUEST, with
# "," for a blank in REQUEST's options, and "|" before its command; "-" is nothing.
cd "${0%/*}" || exit
[ ! -e away ] || { echo "DBI connect('database=oar') failed" >&2; exit 1; }
show() { # CONDITION of awk
  awk "$1"' {
  id = $1; array = $2; n = $3; state = $4; code = $5; event = $6
  command = $0; sub(/[^|]*\|/, "", command); request = $7; sub(/\|.*/, "", request); gsub(/,/, " ", request)
  printf "Job_Id: %s\n    job_array_id = %s\n    job_array_index = %s\n    name = \n    owner = alice\n", id, array, n
  printf "    state = %s\n    dependencies = \n    assigned_hostnames = %s\n    command = %s\n", state, state == "Waiting" ? "" : "node1+node2", command
  if (code != "-") printf "    exit_code = %s\n", code ~ /^s/ ? substr(code, 2) " (0," substr(code, 2) ",0)" : code * 256 " (" code ",0,0)"
  printf "    initial_request = oarsub %s%s\n    message = R=1,W=2:0:0,J=B (Karma=0.000,quota_ok)\n    events = \n", request, command
  if (event != "-") printf "2026-11-27 07:35:07> %s:[x] Job [%s]\n", event, id
  print ""
}' jobs
}
change() { # NEW-STATE WORD EVENT FROM... : of --array ID, or ID
  new=$1 word=$2 event=$3 states=$4 key='$1'
  shift 4
  if [ "$1" = --array ]; then key='$2'; shift; fi
  awk -v "id=$1" "$key"' == id { found = 1 } END { exit !found }' jobs || { echo "Cannot frag $1 ; You are not the right user."; exit 1; }
  awk -v "id=$1" -v "states=$states" "$key"' == id { print ($4 ~ states) ? "y" : "n" }' jobs > asked
  grep -q y asked && echo "$word"
  ! grep -q n asked || echo "/!\\ Cannot do that to $1 : the job is not in the right state (try '-r' option)."
  awk -v "id=$1" -v "states=$states" -v "new=$new" -v "event=$event" "$key"' == id && $4 ~ states { $4 = new; $6 = event } { print }' jobs > new && mv new jobs
  ! grep -q n asked
}
case ${0##*/} in
oarsub)
  printf '%s\n' "$*" >> requests
  [ ! -e refuse ] || { cat refuse >&2; echo OAR_JOB_ID=-5; exit 8; }
  n=1 options=''
  [ "$1" != --array ] || { n=$2; echo 'Simple array job submission is used' >&2; }
  while [ "$#" -gt 1 ]; do options="$options$1," && shift; done
  first=$(($(wc -l < jobs) + 1)) i=0
  echo '[ADMISSION RULE] Set default walltime to 7200.'
  while [ "$i" -lt "$n" ]; do
    echo "$((first + i)) $first $((i + 1)) Waiting - - $options|$1" >> jobs
    echo "OAR_JOB_ID=$((first + i))"
    i=$((i + 1))
  done
  [ "$n" = 1 ] || echo "OAR_ARRAY_ID=$first" ;;
oarstat)
  echo 'Use of uninitialized value $str in substitution (s///) at /usr/share/perl5/OAR/Tools.pm line 283.' >&2
  case "$1 $2 ${3%%[0-9(]*}" in
  '-f -u ') show '$4 !~ /^(Terminated|Error)$/' ;;
  '-f --array ') show "\$2 == $3" ;;
  '-f --sql array_id = ') show "\$2 == ${3##* }" ;;
  '-f --sql array_id IN ') ids=${3#*\(} && echo "${ids%\)}" > asked.sql && show "\",${ids%\)},\" ~ \",\" \$2 \",\"" ;;
  *) exit 2 ;;
  esac ;;
oardel) change Error REGISTERED FRAG_JOB_REQUEST 'Waiting|Hold|Running' "$@" ;;
oarhold) change Hold 'Hold request was sent to the OAR server.' - Waiting "$@" ;;
oarresume) change Waiting 'Resume request was sent to the OAR server.' - Hold "$@" ;;
esac
