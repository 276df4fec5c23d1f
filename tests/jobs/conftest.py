"""A batch system of three shell scripts, and the profile that a site would write for it.

`toysub FILE` queues a job, `toystat` lists all jobs, `toyctl hold|release|kill ID` changes one. It
runs a job as soon as it is queued, unless the file `stopped` is there. `toyssh` stands in for ssh.
Nothing of it is in Python.
"""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.description import JobDescription
from osprofile.jobs.timing import Timing
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from osprofile.profile.model import Profile

TOYSUB = r"""#!/bin/sh
n=1
until mkdir "$TOY/jobs/$n" 2> /dev/null; do n=$((n + 1)); done
cp -- "$1" "$TOY/jobs/$n/script" || exit
pwd >> "$TOY/submissions"
echo WAIT > "$TOY/jobs/$n/state"
if [ -e "$TOY/stopped" ]; then echo "queued as $n"; exit; fi
d=$TOY/jobs/$n
TOYJOB=$n setsid sh -c '
echo GO > "$1/state"; echo $$ > "$1/pid"
sh "$1/script" > /dev/null 2>&1
rc=$?
[ -e "$1/killed" ] || echo "END $rc" > "$1/state.new" && mv "$1/state.new" "$1/state"
' sh "$d" < /dev/null > /dev/null 2>&1 &
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
TOYCTL = r"""#!/bin/sh
d=$TOY/jobs/$2
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
    <idb:Invocation name=""><idb:Body><![CDATA[gpe_d='<WORKING_DIRECTORY/'/'\\''>'
gpe_jobs="${{HOME:?}}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_ENTER>
[ -s .gpe_job_id ] || printf '%s\n' '<JOB_SCRIPT/'/'\\''>' > ".gpe_job.$$" || exit 1
set -- sh -c 'answer=$(toysub "$1") && printf "%s\n" "${{answer##* }}"' sh
gpe_find='[ ! -e "$TOY"/submissions ] || grep -nxF -- "$gpe_d" "$TOY"/submissions | {{ ! IFS=: read -r n _ || echo "$n"; }}'
<SH_SUBMIT>
]]></idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID_PATTERN" isSettable="false"><idb:Value>(?&lt;id>[0-9]+)\n*\z</idb:Value></idb:Field>
  </idb:Template>
  <idb:Template name="JOB_PROLOGUE">
    <idb:Invocation name=""><idb:Body><![CDATA[#!/bin/sh
gpe_d='<WORKING_DIRECTORY/'/'\\''>'
gpe_stdin='<STDIN/'/'\\''>' gpe_stdout='<STDOUT/'/'\\''>' gpe_stderr='<STDERR/'/'\\''>'
gpe_stdin=${{gpe_stdin:-/dev/null}} gpe_stdout=${{gpe_stdout:-stdout}} gpe_stderr=${{gpe_stderr:-stderr}}
GPE_JOB_NAME='<JOB_NAME/'/'\\''>' GPE_QUEUE='' GPE_PROJECT='' GPE_NODES='' GPE_PROCESSES=''
GPE_CPUS='' GPE_MEMORY='' GPE_WALLTIME='' GPE_CPUTIME='' gpe_cputime=''
gpe_id=$TOYJOB
<SH_JOB>
(
<SH_PAYLOAD>
]]></idb:Body></idb:Invocation>
  </idb:Template>
  <idb:Template name="GET_JOB_STATUS">
    <idb:Invocation name=""><idb:Body><![CDATA[id='<JOB_ID/'/'\\''>'
[ ! -e "$TOY/refused.$id" ] || {{ cat "$TOY/refused.$id" >&2; exit 9; }}
toystat | grep "^job $id is " || {{ echo "toy: no job $id" >&2; exit 1; }}
]]></idb:Body></idb:Invocation>
    <idb:Invocation name="ALL"><idb:Body><![CDATA[jobs=$(toystat) || exit
printf '%s\n' "$jobs" | grep '^job ' || :
]]></idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID" ext:pattern="[0-9]+"><idb:Description>The number.</idb:Description></idb:Field>
    <idb:Field name="STATUS_PATTERN" isSettable="false">
      <idb:Value>(?m)^job (?&lt;id>[0-9]+) is (?&lt;state>[A-Z]+)(?: (?&lt;exit>[0-9]+))?$</idb:Value>
    </idb:Field>
    <idb:Field name="STATE" isSettable="false">
      <idb:Tag name="WAIT">QUEUED</idb:Tag>
      <idb:Tag name="KEPT">HELD</idb:Tag>
      <idb:Tag name="GO">RUNNING</idb:Tag>
      <idb:Tag name="END">DONE</idb:Tag>
      <idb:Tag name="GONE">REMOVED</idb:Tag>
    </idb:Field>
  </idb:Template>
  <idb:Template name="HOLD">
    <idb:Invocation name=""><idb:Body>toyctl hold '&lt;JOB_ID/'/'\\''>'</idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID" ext:pattern="[0-9]+"><idb:Description>The number.</idb:Description></idb:Field>
  </idb:Template>
  <idb:Template name="RESUME">
    <idb:Invocation name=""><idb:Body>toyctl release '&lt;JOB_ID/'/'\\''>'</idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID" ext:pattern="[0-9]+"><idb:Description>The number.</idb:Description></idb:Field>
  </idb:Template>
  <idb:Template name="ABORT">
    <idb:Invocation name=""><idb:Body>toyctl kill '&lt;JOB_ID/'/'\\''>'</idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID" ext:pattern="[0-9]+"><idb:Description>The number.</idb:Description></idb:Field>
  </idb:Template>
  <idb:Template name="SHELL">
    <idb:Invocation name=""><idb:Body>env TOY={toy} HOME={home} PATH={toy}/bin:/usr/bin:/bin sh -s</idb:Body></idb:Invocation>
    <idb:Invocation name="SSH"><idb:Body>env TOY={toy} HOME={home} PATH={toy}/bin:/usr/bin:/bin toyssh</idb:Body></idb:Invocation>
  </idb:Template>
</osp:Profile>
"""
QUICK = Timing(
    min_poll_interval=0.05, max_poll_interval=0.2, max_retry_interval=0.4, grace_period=0.5, script_timeout=30
)


@dataclass(frozen=True)
class Toy:
    """The batch system's directory, and the profile for it."""

    path: Path
    profile: Profile

    def state(self, job_id: str, word: str | None) -> None:
        """Set the word that the batch system reports for a job; None: forget the job."""
        file = self.path / "jobs" / job_id / "state"
        if word is None:
            file.unlink()
        else:
            new = file.with_name("state.ours")
            new.write_text(word + "\n")
            new.rename(file)

    @property
    def submissions(self) -> list[str]:
        """The working directories that jobs were submitted from."""
        file = self.path / "submissions"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def asked(self) -> int:
        """The number of queries for jobs so far."""
        file = self.path / "asked"
        return len(file.read_text().splitlines()) if file.exists() else 0


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[Toy]:
    path, home = tmp_path / "toy", tmp_path / "home"
    for directory in (path / "bin", path / "jobs", home, tmp_path / "profiles/toy"):
        directory.mkdir(parents=True)
    for name, text in {"toysub": TOYSUB, "toystat": TOYSTAT, "toyctl": TOYCTL, "toyssh": TOYSSH}.items():
        (path / "bin" / name).write_text(text)
        (path / "bin" / name).chmod(0o755)
    file = tmp_path / "profiles/toy/profile.xml"
    file.write_text(PROFILE.format(toy=path, home=home, root=tmp_path / "work"))
    yield Toy(path, Repository([str(tmp_path / "profiles")]).load("toy"))
    for pid in path.glob("jobs/*/pid"):
        try:
            os.killpg(int(pid.read_text()), signal.SIGKILL)
        except (ProcessLookupError, ValueError):
            continue
    shutil.rmtree(tmp_path, ignore_errors=True)


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
