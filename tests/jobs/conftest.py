"""A batch system of three shell scripts, and the profile that a site would write for it.

`toysub FILE` queues a job, or the tasks N_INDEX of an array N if TOYARRAY has its indices; `toystat`
lists all jobs, `toyfind DIRECTORY` prints the id of the one that was submitted there, `toyctl
hold|release|kill ID` changes one. It runs a job as soon as it is queued, unless the file `stopped` is
there. `toyssh` stands in for ssh. Nothing of it is in Python.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.fields import JobDescription
from osprofile.jobs.shell.target import TargetShell
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.profile.repository import Repository, get_bundled_directory
from tests.waiting import PATIENCE, wait_for_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from osprofile.jobs.record.store import JobRecord, Store
    from osprofile.profile.model import Profile

TOYSUB = r"""#!/bin/sh
n=1
until [ ! -e "$TOY/jobs/$n" ] && mkdir "$TOY/jobs/$n" 2> /dev/null; do
  [ -d "$TOY/jobs" ] || exit # the test has ended
  n=$((n + 1))
done
cp -- "$1" "$TOY/jobs/$n/script" || exit
pwd > "$TOY/jobs/$n/directory"
pwd >> "$TOY/submissions"
printf '%s\n' "$TOYAFTER" > "$TOY/jobs/$n/after"
run() { # JOB INDEX
  d=$TOY/jobs/$1
  mkdir -p -- "$d"
  echo WAIT > "$d/state"
  [ ! -e "$TOY/stopped" ] || return 0
  TOYJOB=$1 TOYTASK=$2 setsid sh -c '
  echo GO > "$2/state"; echo $$ > "$2/pid"
  sh "$1/script" > /dev/null 2>&1
  rc=$?
  [ -e "$2/killed" ] || echo "END $rc" > "$2/state.new" && mv "$2/state.new" "$2/state"
  ' sh "$TOY/jobs/$n" "$d" < /dev/null > /dev/null 2>&1 3>&- &
}
ranges=${TOYARRAY%%%*}
[ -n "$ranges" ] || run "$n" ''
while [ -n "$ranges" ]; do
  range=${ranges%%,*}
  case $ranges in *,*) ranges=${ranges#*,} ;; *) ranges= ;; esac
  case $range in
  *:*) step=${range#*:} range=${range%:*} ;;
  *) step=1 ;;
  esac
  for i in $(seq "${range%-*}" "$step" "${range#*-}"); do run "${n}_$i" "$i"; done
done
echo "queued as $n"
"""
TOYSTAT = r"""#!/bin/sh
echo x >> "$TOY/asked"
if [ -e "$TOY/broken" ]; then cat "$TOY/broken" >&2; exit 3; fi
echo "NUMBER STATE"
for d in "$TOY"/jobs/*; do
  [ -e "$d/state" ] && read -r state < "$d/state" && echo "job ${d##*/} is $state"
done
exit 0
"""
TOYFIND = r"""#!/bin/sh
if [ -e "$TOY/broken" ]; then cat "$TOY/broken" >&2; exit 3; fi
for d in "$TOY"/jobs/*; do
  [ -e "$d/directory" ] && read -r directory < "$d/directory" && [ "$directory" = "$1" ] && echo "${d##*/}" && exit
done
exit 0
"""
TOYCTL = r"""#!/bin/sh
d=$TOY/jobs/$2
if [ -d "$d" ] && [ ! -e "$d/state" ]; then # an array
  for task in "$TOY/jobs/$2"_*; do "$0" "$1" "${task##*/}" 2> /dev/null || :; done
  exit
fi
read -r state < "$d/state" || { echo "toyctl: no job $2" >&2; exit 4; }
case $1:$state in
*:END* | *:GONE) echo "toyctl: job $2 is over" >&2; exit 5 ;;
hold:WAIT) echo KEPT > "$d/state" ;;
release:KEPT) echo WAIT > "$d/state" ;;
kill:*) : > "$d/killed"; [ ! -e "$d/pid" ] || kill -s KILL -- "-$(cat "$d/pid")"; echo GONE > "$d/state" ;;
*) echo "toyctl: cannot $1 job $2: it is $state" >&2; exit 6 ;;
esac
"""
TOYSSH = r"""#!/bin/sh
if [ -e "$TOY/unreachable" ]; then echo "ssh: connect to host toy port 22: No route to host" >&2; exit 255; fi
sh -s
rc=$?
if [ -e "$TOY/reset" ]; then echo "Connection reset by peer" >&2; exit 255; fi
exit "$rc"
"""
PROFILE = r"""<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
    xmlns:idb="http://gpe.intel.com/idb" xmlns:ext="urn:osprofile:extension"
    name="toy" extends="linux">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="START">
    <idb:Invocation name=""><idb:Body><![CDATA[d='<WORKING_DIRECTORY/'/'\\''>' links="${{HOME:?}}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
export TOYARRAY='<ARRAY/'/'\\''>' TOYAFTER='<DEPENDENCY/'/'\\''>'
umask 077
mkdir -p -- "$d/.gpe" "$links" && cd -- "$d" || exit 73
[ -s .gpe/script ] || {{ printf '%s\n' '<JOB_SCRIPT/'/'\\''>' > ".gpe/script.$$" && mv ".gpe/script.$$" .gpe/script; }} || exit 1
flock .gpe/lock setsid sh -c '
[ ! -s .gpe/id ] || exit 0
{look}
: > .gpe/submitting && rm -f .gpe/refused || exit 1
answer=$(toysub .gpe/script) || {{ rc=$?; printf "%s\n" "$answer" > .gpe/refused; exit "$((rc == 75 ? 1 : rc))"; }}
id=${{answer##* }}
case $id in
"" | *[!0-9]*) printf "%s\n" "${{answer:-nothing}}" | tee .gpe/submitting >&2; exit 75 ;;
esac
printf "%s\n" "$id" > .gpe/id.told && mv .gpe/id.told .gpe/id && rm .gpe/submitting
' sh "$d" < /dev/null 3>&-
rc=$?
[ "$rc" -eq 0 ] || {{ [ -e .gpe/refused ] && cat .gpe/refused >&2; }} || rc=75 # or it was cut off
[ "$rc" -ne 75 ] || echo "START: whether the job was submitted is not known" >&2
[ "$rc" -eq 0 ] || exit "$rc"
read -r id < .gpe/id && ln -sfn -- "$d" "$links/$id" && printf '%s\n' "$id"
]]></idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID_PATTERN" isSettable="false"><idb:Value>(?&lt;id>[0-9]+)\n*\z</idb:Value></idb:Field>
  </idb:Template>
{find_template}
  <idb:Template name="TASK_ID">
    <idb:Invocation name=""><idb:Body>&lt;JOB_ID>_&lt;ARRAY_INDEX></idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID" isSettable="false"><idb:Description>The array's number.</idb:Description></idb:Field>
    <idb:Field name="ARRAY_INDEX" isSettable="false"><idb:Description>The task's index.</idb:Description></idb:Field>
  </idb:Template>
  <idb:Template name="JOB_PROLOGUE">
    <idb:Invocation name=""><idb:Body><![CDATA[#!/bin/sh
{functions}
cd -- '<WORKING_DIRECTORY/'/'\\''>' || kill -s KILL "$$"
stdin='<STDIN/'/'\\''>' stdout='<STDOUT/'/'\\''>' stderr='<STDERR/'/'\\''>'
export GPE_JOB_ID="$TOYJOB" GPE_JOB_NAME='<JOB_NAME/'/'\\''>' GPE_ARRAY_INDEX="$TOYTASK"
export GPE_MEMORY='<MEMORY>' GPE_CPUS='<CPUS>' GPE_QUEUE='<QUEUE/'/'\\''>'
stdout=${{stdout:-stdout}}${{TOYTASK:+.$TOYTASK}} stderr=${{stderr:-stderr}}${{TOYTASK:+.$TOYTASK}}
(
exec < "${{stdin:-/dev/null}}" > "$stdout" || exit 125
if [ "$stdout" = "$stderr" ]; then exec 2>&1; else exec 2> "$stderr"; fi || exit 125
]]></idb:Body></idb:Invocation>
  </idb:Template>
  <idb:Template name="JOB_EPILOGUE">
    <idb:Invocation name=""><idb:Body>)</idb:Body></idb:Invocation>
  </idb:Template>
  <idb:Template name="GET_JOB_STATUS">
    <idb:Invocation name=""><idb:Body><![CDATA[id='<JOB_ID/'/'\\''>'
[ ! -e "$TOY/refused.$id" ] || {{ cat "$TOY/refused.$id" >&2; exit 9; }}
echo "$id" >> "$TOY/single"
case $id in *_*) tasks= ;; *) tasks='\(_[0-9]*\)\{{0,1\}}' ;; esac
toystat | grep "^job $id$tasks is " || {{ echo "toy: no job $id" >&2; exit 1; }}
]]></idb:Body></idb:Invocation>
    <idb:Invocation name="ALL"><idb:Body><![CDATA[jobs=$(toystat) || exit
printf '%s\n' "$jobs" | grep '^job ' || :
]]></idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID" ext:pattern="[0-9]+(?:_[0-9]+)?"><idb:Description>The number.</idb:Description></idb:Field>
    <idb:Field name="STATUS_PATTERN" isSettable="false">
      <idb:Value>(?m)^job (?&lt;id>[0-9]+(?:_[0-9]+)?) is (?&lt;state>[A-Z]+)(?: (?&lt;exit>[0-9]+))?$</idb:Value>
    </idb:Field>
    <idb:Field name="STATE" isSettable="false">
      <idb:Tag name="WAIT">QUEUED</idb:Tag>
      <idb:Tag name="KEPT">HELD</idb:Tag>
      <idb:Tag name="GO">RUNNING</idb:Tag>
      <idb:Tag name="END">DONE</idb:Tag>
      <idb:Tag name="GONE">REMOVED</idb:Tag>
      <idb:Tag name="OOM">FAILED/MEMORY</idb:Tag>
      <idb:Tag name="LATE">FAILED/TIME</idb:Tag>
      <idb:Tag name="DEAD">FAILED/NODE</idb:Tag>
    </idb:Field>
  </idb:Template>
  <idb:Template name="HOLD">
    <idb:Invocation name=""><idb:Body>toyctl hold '&lt;JOB_ID/'/'\\''>'</idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID" ext:pattern="[0-9]+(?:_[0-9]+)?"><idb:Description>The number.</idb:Description></idb:Field>
  </idb:Template>
  <idb:Template name="RESUME">
    <idb:Invocation name=""><idb:Body>toyctl release '&lt;JOB_ID/'/'\\''>'</idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID" ext:pattern="[0-9]+(?:_[0-9]+)?"><idb:Description>The number.</idb:Description></idb:Field>
  </idb:Template>
  <idb:Template name="ABORT">
    <idb:Invocation name=""><idb:Body>toyctl kill '&lt;JOB_ID/'/'\\''>'</idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID" ext:pattern="[0-9]+(?:_[0-9]+)?"><idb:Description>The number.</idb:Description></idb:Field>
  </idb:Template>
  <idb:Template name="SHELL">
    <idb:Invocation name=""><idb:Body>env TOY={toy} HOME={home} PATH={toy}/bin:/usr/bin:/bin sh -s</idb:Body></idb:Invocation>
    <idb:Invocation name="SSH"><idb:Body>env TOY={toy} HOME={home} PATH={toy}/bin:/usr/bin:/bin toyssh</idb:Body></idb:Invocation>
  </idb:Template>
</osp:Profile>
"""
FIND_TEMPLATE = r"""  <idb:Template name="FIND_JOB">
    <idb:Invocation name=""><idb:Body><![CDATA[d='<WORKING_DIRECTORY/'/'\\''>' links="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
umask 077
[ -d "$d" ] || exit 0
cd -- "$d" && exec 3> .gpe/lock && flock 3 || exit 1
if [ ! -s .gpe/id ] && [ -e .gpe/submitting ]; then
  id=$(toyfind "$d") || exit
  if [ -n "$id" ]; then
    printf '%s\n' "$id" > .gpe/id.found && mv .gpe/id.found .gpe/id || exit 1
  elif [ -s .gpe/submitting ]; then
    printf 'FIND_JOB: toysub has answered: %s\n' "$(cat .gpe/submitting)" >&2
    exit 1
  fi
  rm -f .gpe/submitting .gpe/refused
fi
[ ! -s .gpe/id ] || { read -r id < .gpe/id && ln -sfn -- "$d" "$links/$id"; printf '%s\n' "$id"; }
]]></idb:Body></idb:Invocation>
  </idb:Template>"""
LOOK = {
    True: "[ ! -e .gpe/submitting ] || exit 75",
    False: """\
if [ -e .gpe/submitting ]; then
  id=$(toyfind "$1") || exit 75
  if [ -n "$id" ]; then printf "%s\\n" "$id" > .gpe/id; rm .gpe/submitting; exit; fi
fi""",
}
"""What START does about an earlier submission: with FIND_JOB nothing, without it looks for the job itself."""
COMMANDS = {
    "toysub": TOYSUB,
    "toystat": TOYSTAT,
    "toyfind": TOYFIND,
    "toyctl": TOYCTL,
    "toyssh": TOYSSH,
}
QUICK = Timing(
    min_poll_interval=0.05,
    max_poll_interval=0.2,
    max_retry_interval=0.4,
    grace_period=0.5,
    script_timeout=PATIENCE,
)


@dataclass(frozen=True)
class Toy:
    """The batch system's directory, and the profile for it."""

    path: Path
    profile: Profile

    def state(self, job_id: str, word: str | None) -> None:
        """Set the word that the batch system reports for a job; None: forget the job."""
        file = self.path / "jobs" / job_id / "state"
        if not (self.path / "stopped").exists():
            wait_for_file(file.with_name("pid"))  # a job that begins writes its state itself
        if word is None:
            file.unlink()
        else:
            new = file.with_name("state.ours")
            new.write_text(word + "\n")
            new.rename(file)

    @property
    def submissions(self) -> list[str]:
        """The working directories that jobs were submitted from."""
        return self._read_lines("submissions")

    @property
    def queried_ids(self) -> list[str]:
        """The ids of the jobs that were queried one by one."""
        return self._read_lines("single")

    @property
    def asked(self) -> int:
        """The number of queries for jobs so far."""
        return len(self._read_lines("asked"))

    def _read_lines(self, name: str) -> list[str]:
        file = self.path / name
        return file.read_text().splitlines() if file.exists() else []


@contextlib.contextmanager
def make_toy(tmp_path: Path, *, has_find_template: bool) -> Iterator[Toy]:
    """Make the batch system, and a profile with or without FIND_JOB."""
    path, home = tmp_path / "toy", tmp_path / "home"
    for directory in (path / "bin", path / "jobs", home, tmp_path / "profiles/toy"):
        directory.mkdir(parents=True)
    for name, text in COMMANDS.items():
        (path / "bin" / name).write_text(text)
        (path / "bin" / name).chmod(0o755)
    file = tmp_path / "profiles/toy/profile.xml"
    file.write_text(
        PROFILE.format(
            toy=path,
            home=home,
            root=tmp_path / "work",
            look=LOOK[has_find_template],
            functions=(Path(get_bundled_directory()) / "linux/job.sh").read_text(),
            find_template=FIND_TEMPLATE
            if has_find_template
            else '<idb:Template name="FIND_JOB" ext:absent="true"/>',
        )
    )
    yield Toy(path, Repository([str(tmp_path / "profiles")]).load("toy"))
    for pid in path.glob("jobs/*/pid"):
        try:
            os.killpg(int(pid.read_text()), signal.SIGKILL)
        except (ProcessLookupError, ValueError):
            continue
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[Toy]:
    with make_toy(tmp_path, has_find_template=True) as made:
        yield made


@pytest.fixture
def target(toy: Toy) -> TargetSystem:
    """Return a target system for the batch system; an `async` test closes it at its end."""
    return TargetSystem(toy.profile, timing=QUICK)


def make_shell(profile: Profile) -> TargetShell:
    """Return the shell of a target system for this machine."""
    return TargetShell(profile, {"USER_NAME": getuser()}, time_limit=PATIENCE, max_parallel_scripts=8)


@pytest.fixture
def toy_without_find(tmp_path: Path) -> Iterator[Toy]:
    """Return a batch system whose profile has no FIND_JOB, as those for earlier versions of osprofile."""
    with make_toy(tmp_path, has_find_template=False) as made:
        yield made


def get_record(store: Store, target: str, job_id: str) -> JobRecord:
    """Return the record of a job that is recorded."""
    record = store.find_job(target, job_id)
    assert record is not None
    return record


@pytest.fixture(scope="session")
def jobs_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def _another_home(monkeypatch: pytest.MonkeyPatch, jobs_home: Path) -> None:
    """No job leaves a link or a program in the home of the user who runs the tests."""
    monkeypatch.setenv("HOME", str(jobs_home))


def shell(text: str, **attributes: object) -> JobDescription:
    """Describe a job that runs shell text."""
    return JobDescription(executable="/bin/sh", arguments=("-c", text), **attributes)  # type: ignore[arg-type]


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], Profile]:
    """Return a function that makes a profile that extends `linux` by some content."""

    def make(content: str) -> Profile:
        file = tmp_path / "profile.xml"
        file.write_text(
            f"""<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
    xmlns:idb="http://gpe.intel.com/idb" xmlns:ext="urn:osprofile:extension"
    name="made" extends="linux">
  <osp:UspaceRoot>{tmp_path}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
{content}
</osp:Profile>"""
        )
        return Repository().load_file(str(file))

    return make
