#!/bin/sh
# Answers as the reference of Kubernetes 1.29 says (kubectl; Job v1, Pod v1). The file jobs beside it has a job on each line:
# ID|STATE|EXIT|DIRECTORY, with what a pod or its container tells as STATE.
here=$(cd "$(dirname "$0")" && pwd)
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
  state=$(printf '%s\n' "$body" | jq -r 'if .spec.suspend then "Suspended" else "Pending" end')
  printf '%s|%s|0|%s\n' "$id" "$state" "$(printf '%s\n' "$body" | jq -r .metadata.annotations.directory)" >> "$here/jobs"
  printf '%s\n' "$body" | jq -r '.spec.template.spec.containers[0].command[2]' > "$here/script.$id"
  printf %s "$id" ;;
'get jobs,pods')
  for id in $(sed -n 's/|Deleting|.*//p' "$here/jobs"); do
    kill -0 "$(cat "$here/session.$id")" 2> /dev/null || sed -i "/^$id|/d" "$here/jobs"
  done
  jq -R -s --arg user "$(id -un)" '
def terminated($reason; $code): {phase: "Failed", containerStatuses: [{state: {terminated: {reason: $reason, exitCode: $code}}}]};
def failed: {conditions: [{type: "Failed", status: "True", reason: "BackoffLimitExceeded"}]};
{items: [split("\n")[] | select(. != "") | split("|") as [$id, $state, $code, $directory] | ($code | tonumber) as $code
  | {kind: "Job", metadata: {name: $id, annotations: {user: $user, directory: $directory}}, spec: {suspend: ($state == "Suspended")},
     status: (if $state == "Complete" then {conditions: [{type: "Complete", status: "True"}]}
       elif $state == "Suspended" then {conditions: [{type: "Suspended", status: "True", reason: "JobSuspended"}]}
       elif $state == "Pending" or $state == "Running" or $state == "Deleting" or $state == "Unschedulable" then {active: 1} else failed end)},
    (select($state != "Suspended" and $state != "Gone") | {kind: "Pod", metadata: {name: ($id + "-x"), labels: {"job-name": $id}},
     spec: (if $state == "Unschedulable" then {} else {nodeName: "n1"} end),
     status: (if $state == "Pending" then {phase: "Pending", containerStatuses: [{state: {waiting: {reason: "ContainerCreating"}}}]}
       elif $state == "Unschedulable" then {phase: "Pending", conditions: [{type: "PodScheduled", status: "False", reason: "Unschedulable"}]}
       elif $state == "Running" or $state == "Deleting" then {phase: "Running", containerStatuses: [{state: {running: {startedAt: "2026-01-01T00:00:00Z"}}}]}
       elif $state == "Complete" then {phase: "Succeeded", containerStatuses: [{state: {terminated: {reason: "Completed", exitCode: 0}}}]}
       elif $state == "DeadlineExceeded" then terminated("Error"; 137) + {reason: "DeadlineExceeded"}
       elif $state == "OOMKilled" then terminated("OOMKilled"; 137)
       else terminated("Error"; $code) end)})]}' "$here/jobs" ;;
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
