#!/bin/sh
# A real job on this machine, from the profile `linux`: the script, the job's id, its state, its output.
set -eu
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
set -- --set EXECUTABLE=/bin/echo --set ARGUMENTS="'hello from' 'a job'"

say '$ incarnate START --profile linux' "$@"
incarnate START --profile linux "$@"

say '$ the same with --run: the job starts, and its id is printed'
id=$(incarnate START --profile linux "$@" --run | tail -n 1)
printf '%s\n' "$id"

say "\$ incarnate GET_JOB_STATUS --profile linux --set JOB_ID=$id --run"
tries=0
while
  status=$(incarnate GET_JOB_STATUS --profile linux --set JOB_ID="$id" --run)
  printf '%s\n' "$status"
  [ "$tries" -lt 100 ] && [ "${status#* running}" != "$status" ]
do
  tries=$((tries + 1))
  sleep 0.1
done

say "\$ cat ~/.gpe/jobs/linux/$id/stdout"
cat "$HOME/.gpe/jobs/linux/$id/stdout"
