#!/bin/sh
# watch.sh: three jobs under Slurm in the live view; the second one depends on the first.
set -eu
cd -- "$(dirname -- "$0")"
OSPROFILE_PATH=. OSPROFILE_PROFILE=mycluster OSPROFILE_STORE=$(mktemp -d "${TMPDIR:-/tmp}/osprofile-demo.XXXXXX")/jobs.db
export OSPROFILE_PATH OSPROFILE_PROFILE OSPROFILE_STORE
trap 'rm -rf -- "${OSPROFILE_STORE%/*}"' EXIT
incarnate job submit --key mesh --name mesh sleep 3 > /dev/null
incarnate job submit --after mesh --name flow ./fit > /dev/null
incarnate job submit --name sweep --array 1-6%2 sleep 1 > /dev/null
printf '%s\n' '$ incarnate job list --watch'
incarnate job list --watch
