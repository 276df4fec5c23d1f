#!/bin/sh
# A workflow of Cylc, with the job runner osprofile.plugins.cylc: sh cylc.sh PROFILE
#
# A task succeeds, one is tried again, one is killed by `cylc kill`, and one ends so that only a poll tells it.
# Cylc has an environment of its own, as it needs older versions of what other peers have. python3 on PATH makes it.
set -eu
profile=${1:?usage: cylc.sh PROFILE}
root=$(cd -- "$(dirname -- "$0")/../../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/osprofile-cylc.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd -- "$work"
python3 -m venv venv
venv/bin/pip install -q --no-compile --disable-pip-version-check 'cylc-flow==8.5.*' -e "$root" > pip.log 2>&1 || { cat pip.log; exit 1; }
export HOME="$work/home" PATH="$work/venv/bin:$PATH" OSPROFILE_STORE="$work/jobs.db"
mkdir -p home/.cylc/flow home/cylc-run/flow profiles/site
cat > profiles/site/profile.xml << EOF
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" name="site" extends="$profile">
  <osp:UspaceRoot>$work/jobs</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
</osp:Profile>
EOF
export OSPROFILE_PATH="$work/profiles"
# the platform of the manual's page
sed -n '/^\[platforms\]/,/^```/{/^```/!p;}' "$root/docs/plugins/cylc.md" > home/.cylc/flow/global.cylc
cat >> home/.cylc/flow/global.cylc << EOF
        install target = localhost
        global init-script = export PATH="$PATH" HOME="$HOME"
EOF
cat > home/cylc-run/flow/flow.cylc << 'EOF'
[scheduling]
    [[graph]]
        R1 = """
            good => again & killed? & silent?
            again & killed:fail? & silent:fail? => end
        """
[runtime]
    [[root]]
        platform = mycluster
        execution time limit = PT5M
        [[[directives]]]
            profile = site
    [[good]]
        script = echo "it's $CYLC_TASK_NAME"
        [[[directives]]]
            cpus = 1
            env = X=a 'b' $(touch pwned)
    [[again]]
        script = test "$CYLC_TASK_TRY_NUMBER" -gt 1
        execution retry delays = PT1S
    [[killed]]
        script = cylc message -- begun; sleep 300
        [[[outputs]]]
            begun = begun
    [[silent]]
        script = trap '' ERR EXIT; kill -s KILL $$
        execution polling intervals = PT2S
    [[end]]
        script = true
EOF
cylc play --no-detach --no-timestamp flow > play.log 2>&1 &
player=$!
left=240
until grep -q '1/killed/01.*begun' play.log || [ "$left" = 0 ]; do left=$((left - 1)); sleep 0.5; done
cylc kill flow//1/killed > kill.log 2>&1 || cat kill.log
wait "$player" || { tail -n 60 play.log; exit 1; }
grep -E 'succeeded$|failed/|\(polled\)failed' play.log
incarnate job list --all
told=$(incarnate job list --all --json | python3 -c '
import json, sys
print(*sorted((j["name"].split(".")[0], j["state"], j["exit_code"]) for j in json.load(sys.stdin) if j["name"][0] in "agke"), sep="\n")')
echo "$told"
[ "$told" = "('again', 'DONE', 0)
('again', 'DONE', 1)
('end', 'DONE', 0)
('good', 'DONE', 0)
('killed', 'REMOVED', None)" ]
grep -qx "it's good" home/cylc-run/flow/log/job/1/good/NN/job.out
[ ! -e pwned ]
echo "cylc $(cylc version): passed on $profile"
