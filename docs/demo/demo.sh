#!/bin/sh
# demo.sh [PROFILE]: submit a job, watch it, see why it failed, and make a request that the site refuses.
# mysite (the default) runs it on this machine, mycluster under Slurm: the picture in README is a recording of that.
set -eu
cd -- "$(dirname -- "$0")"
site=${1:-mysite}
OSPROFILE_PATH=. OSPROFILE_STORE=$(mktemp -d "${TMPDIR:-/tmp}/osprofile-demo.XXXXXX")/jobs.db
export OSPROFILE_PATH OSPROFILE_STORE
trap 'rm -rf -- "${OSPROFILE_STORE%/*}"' EXIT
bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$(printf '\033[1;36m') plain=$(printf '\033[0m'); fi
show() { printf '%s\n' "$bold\$ $*$plain"; }

show "incarnate job submit -p $site -t 10m ./fit"
id=$(incarnate job submit -p "$site" -t 10m ./fit)
printf '%s\n' "$id"
show "incarnate job list --watch $id"
incarnate job list --watch "$id"
show "incarnate job show $id | tail -1"
incarnate job show "$id" | tail -n 1
show "incarnate job submit -p $site -t 3h ./fit |& head -1"
incarnate job submit -p "$site" -t 3h ./fit 2>&1 | head -n 1

[ "$site" = mysite ] || exit 0
printf '%s\n' '' 'Try next:' \
  '  id=$(.venv/bin/incarnate job submit --profile linux --wait hostname) && .venv/bin/incarnate job output $id' \
  '  .venv/bin/incarnate show --fields --profile linux START   # what a request may set'
