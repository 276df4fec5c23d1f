# METHOD PATH FILTER [BODY]: prints what the filter of jq makes of the answer. The file that curl
# reads has the user's token.
gpe_rest() {
  case $1 in GET) gpe_whole='*}' ;; *) gpe_whole='*' ;; esac
  gpe_ask "$gpe_whole" curl -sS -K "$HOME/.gpe/slurmrest" -X "$1" \
    -H 'Content-Type: application/json' ${4:+--data "$4"} \
    "${SLURMREST_URL:-http://localhost:6820/slurm/v0.0.38}$2" || return
  printf '%s\n' "$gpe_text" | jq -r --arg user "$(id -un)" --arg directory "$(pwd -P)" "
if (.errors | length) > 0 and (.job_id | not) then [.errors[].error] | join(\"; \") | error
else $3 end" || return 1
}
gpe_submit() { # SCRIPT KEY=TEXT|KEY:=NUMBER...
  gpe_first=$(gpe_print_starter "./$1")
  shift
  gpe_body=$(jq -n --arg script "$gpe_first" --arg home "$HOME" --arg directory "$(pwd -P)" '
{script: "#!/bin/sh\nexec \($script)\n", job: ({
  current_working_directory: $directory, standard_output: "/dev/null",
  environment: {HOME: $home, PATH: "/usr/local/bin:/usr/bin:/bin"}
} + ($ARGS.positional | map(capture("^(?<key>[a-z_]+)(?<number>:?)=(?<value>.*)"))
  | map(if .number == ":" then .value |= tonumber else . end) | from_entries)
  | if .dependency then .kill_on_invalid_dependency = true else . end)}' --args "$@") &&
    gpe_rest POST /job/submit .job_id "$gpe_body" 2>&1
}
gpe_list() {
  gpe_rest GET /jobs '.jobs[] | select(.user_name == $user) | (.exit_code % 128) as $signal
| (if .job_state == "PENDING" and .priority == 0 then "/held"
  elif .job_state == "FAILED" and $signal > 0 then " signal=\($signal)"
  elif .job_state == "FAILED" and .exit_code > 0 then "/exit exit=\(.exit_code / 256 | floor)"
  elif .job_state == "COMPLETED" then " exit=0"
  elif .job_state == "CANCELLED" and .state_reason == "DependencyNeverSatisfied" then "/dependency"
  else "" end) as $rest
| "\(.job_id) \(.job_state)\($rest)" + if .state_reason == "None" then ""
  elif .state_reason == "DependencyNeverSatisfied" then " reason=DEPENDENCY"
  else " reason=\(.state_reason)" end'
}
gpe_has_ended() { case $1 in COMPLETED | FAILED | CANCELLED) ;; *) gpe_is_limit "$1" ;; esac }
gpe_is_removal() { [ "$1" = CANCELLED ]; }
gpe_is_limit() {
  case $1 in TIMEOUT | DEADLINE | OUT_OF_MEMORY | *_FAIL | PREEMPTED) ;; *) return 1 ;; esac
}
gpe_find() { gpe_rest GET /jobs 'first(.jobs[]
| select(.user_name == $user and .current_working_directory == $directory) | .job_id)'; }
gpe_own_id() { printf '%s\n' "$SLURM_JOB_ID"; }
gpe_cancel() { gpe_rest DELETE "/job/$1" empty; }
gpe_hold() { # Slurm takes a hold of a job that runs, too
  gpe_require PENDING "$1" && gpe_rest POST "/job/$1" empty '{"hold": true}'
}
gpe_resume() { gpe_rest POST "/job/$1" empty '{"hold": false}'; }
