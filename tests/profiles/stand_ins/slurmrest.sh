#!/bin/sh
# Answers as slurmrestd 22.05 did, API v0.0.38. The file jobs beside it has a job on each line: ID|STATE|PRIORITY|EXIT|REASON|DIRECTORY
# jq, which takes as long as twenty programs, reads a submission only.
here=${0%/*}
[ ! -e "$here/away" ] || { echo 'curl: (7) Failed to connect to localhost port 6820: Connection refused' >&2; exit 7; }
method='' body='' url='' line='
'
while [ "$#" -gt 0 ]; do
  case $1 in
  -X) method=$2; shift ;;
  --data) body=$2; shift ;;
  -K | -H) shift ;;
  http*) url=${1#*/v0.0.38} ;;
  esac
  shift
done
answer() { printf '{"meta": {}, "errors": [%s]%s}\n' "$1" "$2"; }
error() { answer "{\"error_number\": $1, \"error\": \"$2\"}"; exit; }
change() { # ID STATES NEW
  grep -q "^$1|" "$here/jobs" || error 2017 'Invalid job id specified'
  sed -E "s/^$1[|]($2)[|][0-9]*[|][0-9]*[|][A-Za-z]*[|]/$1|$3|/" "$here/jobs" > "$here/new" && mv "$here/new" "$here/jobs"
  answer
}
case "$method $url" in
'POST /job/submit')
  id=$(($(wc -l < "$here/jobs") + 101))
  printf '%s\n' "$body" >> "$here/requests"
  text=$(printf '%s\n' "$body" | jq -r '.job.current_working_directory, .script')
  printf '%s\n' "${text#*"$line"}" > "$here/script.$id"
  printf '%s\n' "$id|PENDING|1|0|None|${text%%"$line"*}" >> "$here/jobs"
  answer '' ", \"job_id\": $id, \"step_id\": \"BATCH\"" ;;
'GET /jobs')
  awk -F'|' -v user="$(id -un)" '
BEGIN { printf "{\"meta\": {}, \"errors\": [], \"jobs\": [" }
{ gsub(/["\\]/, "\\\\&", $6)
  printf "%s{\"job_id\": %s, \"job_state\": \"%s\", \"priority\": %s, \"exit_code\": %s, \"state_reason\": \"%s\", \"user_name\": \"%s\", ", (NR > 1 ? ", " : ""), $1, $2, $3, $4, $5, user
  printf "\"current_working_directory\": \"%s\"}", $6 }
END { print "]}" }' "$here/jobs" ;;
'DELETE /job/'*) change "${url##*/}" 'PENDING|RUNNING' 'CANCELLED|1|0|None' ;;
'POST /job/'*)
  case $body in
  *true*) change "${url##*/}" PENDING 'PENDING|0|0|JobHeldUser' ;;
  *) change "${url##*/}" PENDING 'PENDING|1|0|None' ;;
  esac ;;
*) exit 2 ;;
esac
