#!/bin/sh
# A profile, the script that a request becomes, a real job on this machine, and a request that is refused.
set -eu
cd -- "$(dirname -- "$0")/../.."
OSPROFILE_PROFILE=docs/demo/mysite OSPROFILE_STORE=$(mktemp -d "${TMPDIR:-/tmp}/osprofile-demo.XXXXXX")/jobs.db
export OSPROFILE_PROFILE OSPROFILE_STORE
trap 'rm -rf -- "${OSPROFILE_STORE%/*}"' EXIT
bold='' dim='' plain='' gap=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$(printf '\033[1;36m') dim=$(printf '\033[2m') plain=$(printf '\033[0m'); fi
title() {
  printf '%s%s\n' "$gap" "$bold$*$plain"
  gap='
'
}
show() { printf '%s\n' "$dim\$$plain $*"; }

title 'A site writes what differs from a profile that comes with osprofile: docs/demo/mysite/profile.xml'
sed -n '/<idb:Field/,/<\/idb:Field/p' docs/demo/mysite/profile.xml

title 'A request becomes a script, here one for Slurm'
show incarnate START --profile slurm --set EXECUTABLE=/bin/date --set PROCESSES=4 --set WALLTIME=600
incarnate START --profile slurm --set EXECUTABLE=/bin/date --set PROCESSES=4 --set WALLTIME=600 |
  awk '/^#SBATCH/ { print; n++ } END { print "... (" NR - n " more lines)" }'

title 'A real job on this machine'
set -- --name steps --walltime 1m sh -c 'for i in 1 2 3; do echo "step $i"; sleep 1; done'
show "incarnate job submit --name steps --walltime 1m sh -c 'for i in 1 2 3; do echo \"step \$i\"; sleep 1; done'"
id=$(incarnate job submit "$@")
printf '%s\n' "$id"
show "incarnate job wait $id"
incarnate job wait "$id"
show incarnate job list
incarnate job list
show "incarnate job output $id"
incarnate job output "$id"

title 'A request that the profile does not allow'
show incarnate job submit --walltime 2h date
! incarnate job submit --walltime 2h date 2>&1 || exit 1

title 'Try next'
printf '%s\n' '  id=$(.venv/bin/incarnate job submit --profile linux --wait hostname) && .venv/bin/incarnate job output $id' \
  '  .venv/bin/incarnate fields --profile linux START   # what a request may set'
