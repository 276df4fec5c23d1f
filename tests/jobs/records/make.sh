#!/bin/sh
# make.sh COMMIT: writes the record that this version wrote itself to COMMIT.sql, and the programs that the scripts in it
# need to COMMIT/. Run it from a clone; it works below a directory of its own. Slurm is the stand-in of tests/profiles.
# A schema that has been released is never made again: its file stays as it is.
set -eu
commit=$1
here=$(cd "$(dirname "$0")" && pwd)
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT

mkdir "$top/source" "$top/home" "$top/bin" "$top/cut" "$top/jobs"
git -C "$here/../../.." archive "$commit" | tar -x -C "$top/source"
python3 -m venv "$top/venv"
"$top/venv/bin/pip" -q install "$top/source"

for name in sbatch squeue scancel scontrol sacct sstat; do
  cp "$here/../../profiles/stand_ins/slurm.sh" "$top/bin/$name"
  chmod +x "$top/bin/$name"
done
: > "$top/bin/jobs"
# what starts a shell is killed, after it has recorded the submission and before a program has run
printf '#!/bin/sh\nkill -s KILL "$PPID"\n' > "$top/cut/sh"
chmod +x "$top/cut/sh"
export HOME="$top/home" PATH="$top/venv/bin:$top/bin:$PATH"
unset XDG_STATE_HOME XDG_CONFIG_HOME OSPROFILE_STORE OSPROFILE_PROFILE OSPROFILE_PATH
cd "$HOME"
for base in linux slurm; do # with another place for the jobs' directories
  mkdir -p .config/osprofile/profiles/$base
  cat > .config/osprofile/profiles/$base/profile.xml << END
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" name="$base" extends="$base">
  <osp:UspaceRoot>$top/jobs</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
</osp:Profile>
END
done

submit() { # PROFILE KEY [WORD...]
  profile=$1 key=$2
  shift 2
  incarnate job submit --profile "$profile" --key "$key" "$@" > /dev/null
}
submit_cut() {
  rc=0
  PATH=$top/cut:$PATH submit "$@" 2> /dev/null || rc=$?
  [ "$rc" -eq 137 ] || exit 1
}
cancel() { # the command was called abort before
  incarnate job cancel "$1" 2> /dev/null || incarnate job abort "$1"
}
set_slurm() { # ID STATE CODE REASON
  sed "s/^$1|\([^|]*\)|[^|]*|[^|]*|[^|]*|/$1|\1|$2|$3|$4|/" "$top/bin/jobs" > "$top/bin/new"
  mv "$top/bin/new" "$top/bin/jobs"
}

# jobs of this machine
submit linux "done" --name greeting --walltime 10m sh -c 'echo "one two"; exit 3'
submit linux killed sh -c 'kill -s KILL "$$"'
submit linux cancelled sleep 1000
submit linux array --array 1-3 sh -c 'exit "$GPE_ARRAY_INDEX"'
cancel cancelled
for key in "done" killed array; do incarnate job wait "$key" > "$top/said" 2>&1 || :; done
submit linux running sleep 1000
submit_cut linux cut sh -c 'echo begun; while [ ! -e go ]; do sleep 0.05; done; exit 4'
submit_cut linux cut-array --array 1-2 sh -c 'echo "task $GPE_ARRAY_INDEX"; while [ ! -e go ]; do sleep 0.05; done'
submit_cut linux cut-waiting --set START_TIME=2037-01-31T08:00 true

# jobs of Slurm
submit slurm slurm-done true
set_slurm 11 COMPLETED 0 None
submit slurm slurm-limit --walltime 60 true
set_slurm 12 TIMEOUT 0 TimeLimit
submit slurm slurm-queued true
submit slurm slurm-running true
set_slurm 14 RUNNING 0 None
submit slurm slurm-array --array 1-2 true
incarnate job list > /dev/null
incarnate job wait slurm-done slurm-limit > "$top/said" 2>&1 || :
submit_cut slurm slurm-cut sh -c 'echo begun; exit 5'
submit_cut slurm slurm-cut-array --array 1-2 sh -c 'exit "$GPE_ARRAY_INDEX"'

python3 - "$here/$commit.sql" "$top" << 'END'
import os, pathlib, re, shutil, sqlite3, sys
path, top = pathlib.Path(sys.argv[1]), sys.argv[2]
db = sqlite3.connect(os.path.expanduser("~/.local/state/osprofile/jobs.db"))
text = "\n".join([*db.iterdump(), f"PRAGMA user_version = {db.execute('PRAGMA user_version').fetchone()[0]};", ""])
boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
for word, name in (
    (f"{top}/jobs", "@JOBS@"), (f"{top}/home", "@HOME@"), (boot, "@BOOT@"), (boot[:8], "@BOOT8@"),
):
    text = text.replace(word, name)
text = re.sub(rf"\b{re.escape(os.uname().nodename)}\b", "@HOST@", text)
path.write_text(text)
programs = set(re.findall(r"/\.gpe/bin/([\w.-]+)", text))
shutil.rmtree(path.with_suffix(""), ignore_errors=True)
for name in programs:
    path.with_suffix("").mkdir(exist_ok=True)
    shutil.copy(os.path.expanduser(f"~/.gpe/bin/{name}"), path.with_suffix(""))
END
cancel running
