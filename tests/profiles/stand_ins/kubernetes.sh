#!/bin/sh
# Answers as the reference of Kubernetes 1.29 says (kubectl; Job v1, Pod v1). The file jobs beside it has a job on each line:
# ID|STATE|EXIT|DIRECTORY, with what a pod or its container tells as STATE.
# jq, which takes as long as twenty programs, reads a submission only.
here=${0%/*} line='
'
[ ! -e "$here/away" ] || { echo 'The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?' >&2; exit 1; }
change() { # ID STATES NEW
  grep -q "^$1|" "$here/jobs" || { echo "Error from server (NotFound): jobs.batch \"$1\" not found" >&2; exit 1; }
  sed -E "s/^$1[|]($2)[|]/$1|$3|/" "$here/jobs" > "$here/new" && mv "$here/new" "$here/jobs"
  echo "job.batch/$1 patched"
}
case "$1 $2" in
'create -f')
  body=$(cat)
  [ -n "$body" ] || { echo 'error: no objects passed to create' >&2; exit 1; }
  id=gpe-$(printf 'k%04d' "$(($(wc -l < "$here/jobs") + 1))")
  printf '%s\n' "$body" >> "$here/requests"
  text=$(printf '%s\n' "$body" | jq -r '(if .spec.suspend then "Suspended" else "Pending" end) + "|0|" + .metadata.annotations.directory,
    .spec.template.spec.containers[0].command[2]')
  printf '%s\n' "$id|${text%%"$line"*}" >> "$here/jobs"
  printf '%s\n' "${text#*"$line"}" > "$here/script.$id"
  printf %s "$id" ;;
'get jobs,pods')
  for id in $(sed -n 's/|Deleting|.*//p' "$here/jobs"); do
    kill -0 "$(cat "$here/session.$id")" 2> /dev/null || sed -i "/^$id|/d" "$here/jobs"
  done
  awk -F'|' -v user="$(id -un)" '
function condition(type, reason) { return "\"conditions\": [{\"type\": \"" type "\", \"status\": \"True\", \"reason\": \"" reason "\"}]" }
function container(phase, state) { return "\"phase\": \"" phase "\", \"containerStatuses\": [{\"state\": {" state "}}]" }
function ended(phase, reason, code) { return container(phase, "\"terminated\": {\"reason\": \"" reason "\", \"exitCode\": " code "}") }
BEGIN {
  printf "{\"items\": ["
  job["Complete"] = condition("Complete", ""); job["Suspended"] = condition("Suspended", "JobSuspended")
  job["Pending"] = job["Running"] = job["Deleting"] = job["Unschedulable"] = "\"active\": 1"
  pod["Pending"] = container("Pending", "\"waiting\": {\"reason\": \"ContainerCreating\"}")
  pod["Unschedulable"] = "\"phase\": \"Pending\", \"conditions\": [{\"type\": \"PodScheduled\", \"status\": \"False\", \"reason\": \"Unschedulable\"}]"
  pod["Running"] = pod["Deleting"] = container("Running", "\"running\": {\"startedAt\": \"2026-01-01T00:00:00Z\"}")
  pod["Complete"] = ended("Succeeded", "Completed", 0)
  pod["DeadlineExceeded"] = ended("Failed", "Error", 137) ", \"reason\": \"DeadlineExceeded\""
  pod["OOMKilled"] = ended("Failed", "OOMKilled", 137)
}
{ gsub(/["\\]/, "\\\\&", $4)
  printf "%s{\"kind\": \"Job\", \"metadata\": {\"name\": \"%s\", \"annotations\": {\"user\": \"%s\", \"directory\": \"%s\"}}, ", (NR > 1 ? ", " : ""), $1, user, $4
  printf "\"spec\": {\"suspend\": %s}, \"status\": {%s}}", $2 == "Suspended" ? "true" : "false", ($2 in job) ? job[$2] : condition("Failed", "BackoffLimitExceeded")
  if ($2 == "Suspended" || $2 == "Gone") next
  printf ", {\"kind\": \"Pod\", \"metadata\": {\"name\": \"%s-x\", \"labels\": {\"job-name\": \"%s\"}}, ", $1, $1
  printf "\"spec\": {%s}, \"status\": {%s}}", $2 == "Unschedulable" ? "" : "\"nodeName\": \"n1\"", ($2 in pod) ? pod[$2] : ended("Failed", "Error", $3) }
END { print "]}" }' "$here/jobs" ;;
'delete job')
  case $* in *--cascade=foreground*)
    # the job is there until its pod has ended
    change "$3" Running Deleting > /dev/null
    ! kill -0 "$(cat "$here/session.$3" 2> /dev/null)" 2> /dev/null || { echo "job.batch \"$3\" deleted"; exit; }
    ;;
  esac
  change "$3" '[A-Za-z]*' Deleted > /dev/null
  sed -i "/^$3|Deleted/d" "$here/jobs"
  echo "job.batch \"$3\" deleted" ;;
'patch job')
  case $5 in
  *true*) change "$3" '[A-Za-z]*' Suspended ;;
  *) change "$3" Suspended Pending ;;
  esac ;;
*) exit 2 ;;
esac
