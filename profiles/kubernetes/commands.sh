# The user's own configuration of kubectl has the cluster, the namespace and the credentials.
gpe_label=app.kubernetes.io/managed-by=osprofile
gpe_submit() { # SCRIPT KEY=TEXT|KEY:=NUMBER...
  gpe_first=$(gpe_print_starter "./$1")
  shift
  jq -n --arg starter "$gpe_first" \
    --arg directory "$(pwd -P)" --arg user "$(id -un)" --arg managed "${gpe_label%=*}" \
    --argjson uid "$(id -u)" --argjson gid "$(id -g)" '
($ARGS.positional | map(capture("^(?<key>[a-z]+)(?<number>:?)=(?<value>.*)"))
  | map(if .number == ":" then .value |= tonumber else . end) | from_entries) as $o
| (if $o.cpus or $o.processes then ($o.cpus // 1) * ($o.processes // 1) else null end) as $cpus
| ({cpu: $cpus, memory: ($o.memory | if . then "\(.)Mi" else . end), "nvidia.com/gpu": $o.gpus}
  | with_entries(select(.value != null))) as $limits
| {($managed): "osprofile"} as $labels
| {apiVersion: "batch/v1", kind: "Job", metadata: {
  generateName: "gpe-", annotations: {directory: $directory, user: $user, name: ($o.name // "")},
  labels: ($labels + if $o.queue then {"kueue.x-k8s.io/queue-name": $o.queue} else {} end)
}, spec: {backoffLimit: 0, ttlSecondsAfterFinished: 86400, suspend: ($o.queue != null), template: {
  metadata: {labels: $labels}, spec: {
    restartPolicy: "Never", activeDeadlineSeconds: $o.seconds,
    securityContext: {runAsUser: $uid, runAsGroup: $gid},
    volumes: [{name: "jobs"} + if $o.claim then {persistentVolumeClaim: {claimName: $o.claim}}
      else {hostPath: {path: $directory}} end],
    containers: [{name: "job", image: $o.image, workingDir: $directory,
      command: ["sh", "-c", $starter], resources: {limits: $limits},
      volumeMounts: [{name: "jobs", mountPath: ($o.path // $directory)}],
      env: [{name: "HOME", value: $directory}, {name: "GPE_KUBERNETES_JOB",
        valueFrom: {fieldRef: {fieldPath: "metadata.labels['\''job-name'\'']"}}}]}]}}}}' \
    --args "$@" | kubectl create -f - -o 'jsonpath={.metadata.name}' 2>&1
}
gpe_jobs() { # FILTER: prints what the filter of jq makes of each job of the user
  gpe_ask '*}' kubectl get jobs,pods -l "$gpe_label" -o json || return
  printf '%s\n' "$gpe_text" | jq -r --arg user "$(id -un)" --arg directory "$(pwd -P)" '
(reduce (.items[] | select(.kind == "Pod")) as $pod ({};
  .[$pod.metadata.labels["job-name"] // ""] //= $pod)) as $pods
| .items[] | select(.kind == "Job" and .metadata.annotations.user == $user)
| .metadata.name as $id
| ($pods[$id] // {}) as $pod
| ($pod.status.containerStatuses[0].state // {}) as $container | '"$1"
}
gpe_ends='DeadlineExceeded|OOMKilled|Evicted|NodeLost|NodeShutdown|Preempting'
gpe_list() {
  gpe_jobs '[.status.conditions[]? | select(.status == "True") | .type] as $ends
| (if $ends | index("Complete") then "Complete exit=0"
  elif $ends | index("Failed") then $container.terminated as $t
    | ($pod.status.reason // (if $t.reason == "OOMKilled" then $t.reason else "" end)) as $r
    | if $r | test("^('"$gpe_ends"')$") then $r # else a reason that is new, or none
      else "Failed" + (if $r != "" then "/\($r)" else "" end)
        + if $t then " exit=\($t.exitCode)" else "" end end
  elif .spec.suspend then "Suspended"
  elif $container.running or $container.terminated then "Running" else "Pending" end) as $state
| ($container.waiting.reason // first($pod.status.conditions[]? | .reason // empty) // "") as $why
| "\($id) \($state)" + if $pod.spec.nodeName then " host=\($pod.spec.nodeName)" else "" end
  + if $state == "Pending" and $why != "" then " reason=\($why)" else "" end'
}
gpe_has_ended() { case $1 in Complete | Failed) ;; *) gpe_is_limit "$1" ;; esac }
gpe_is_limit() { case "|$gpe_ends|" in *"|$1|"*) ;; *) return 1 ;; esac }
gpe_find() { gpe_jobs 'select(.metadata.annotations.directory == $directory) | $id'; }
gpe_own_id() { printf '%s\n' "$GPE_KUBERNETES_JOB"; }
gpe_cancel() { # the job is there until its pod has ended, which may take its time
  kubectl delete job "$1" --cascade=foreground --wait=false > /dev/null
}
gpe_hold() { # a job that runs would lose its pod, and begin anew
  gpe_require Pending "$1" && kubectl patch job "$1" -p '{"spec": {"suspend": true}}' > /dev/null
}
gpe_resume() { kubectl patch job "$1" -p '{"spec": {"suspend": false}}' > /dev/null; }
