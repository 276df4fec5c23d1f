"""Static scripts of a target system: they are deployed when one is missing, and only then."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from osprofile import load
from osprofile.errors import OutputError, ScriptFailedError
from osprofile.incarnation.incarnate import incarnate
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.shell.scripts import build_self_contained_script
from osprofile.jobs.state import JobState
from osprofile.jobs.submit.starts import StartScripts
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.watch.queries import JobQueries
from osprofile.profile.repository import Repository
from tests.jobs.conftest import QUICK, Toy, make_shell

if TYPE_CHECKING:
    from pathlib import Path

    from osprofile.profile.model import Profile

PROFILE = r"""<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
    xmlns:idb="http://gpe.intel.com/idb" xmlns:ext="urn:osprofile:extension" name="programs" extends="toy">
  <osp:UspaceRoot>ROOT/work</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="SUBMIT">
    <idb:Invocation><idb:StaticScript fileName="submit.sh" arguments=""><![CDATA[
mkdir -p -- "$1/.gpe" && cd -- "$1" || exit 73
if [ ! -s .gpe/id ]; then
  cat > .gpe/script
  answer=$(toysub .gpe/script) || exit 1
  printf '%s\n' "${answer##* }" > .gpe/id
fi
cat .gpe/id
]]></idb:StaticScript></idb:Invocation>
  </idb:Template>
  <idb:Template name="START">
    <idb:Invocation><idb:Body><![CDATA[sh <BIN:submit.sh> '<WORKING_DIRECTORY/'/'\''>' <<'<JOB_SCRIPT:END>'
<JOB_SCRIPT>
<JOB_SCRIPT:END>
]]></idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID_PATTERN" isSettable="false"><idb:Value>(?&lt;id>[0-9]+)\n*\z</idb:Value></idb:Field>
  </idb:Template>
  <idb:Template name="GET_JOB_STATUS">
    <idb:Invocation name="">
      <idb:StaticScript fileName="status.sh" arguments="'&lt;JOB_ID/'/'\''>'">toystat | grep "^job $1 is "</idb:StaticScript>
    </idb:Invocation>
    <idb:Invocation name="ALL">
      <idb:StaticScript fileName="status-all.sh" arguments="">toystat | grep '^job ' || :</idb:StaticScript>
    </idb:Invocation>
    <idb:Field name="JOB_ID" ext:pattern="[0-9]+"><idb:Description>The number.</idb:Description></idb:Field>
    <idb:Field name="STATUS_PATTERN" isSettable="false">
      <idb:Value>(?m)^job (?&lt;id>[0-9]+) is (?&lt;state>[A-Z]+)(?: (?&lt;exit>[0-9]+))?$</idb:Value>
    </idb:Field>
    <idb:Field name="STATE" isSettable="false">
      <idb:Tag name="WAIT">QUEUED</idb:Tag><idb:Tag name="GO">RUNNING</idb:Tag><idb:Tag name="END">DONE</idb:Tag>
    </idb:Field>
  </idb:Template>
  <idb:Template name="SHELL">
    <idb:Invocation name=""><idb:Body>ENV sh -c 'tee -a ROOT/sent | sh -s'</idb:Body></idb:Invocation>
    <idb:Invocation name="SSH"><idb:Body>ENV toyssh</idb:Body></idb:Invocation>
  </idb:Template>
</osp:Profile>
"""


@pytest.fixture
def programs(toy: Toy, tmp_path: Path) -> Profile:
    file = tmp_path / "profiles/programs/profile.xml"
    file.parent.mkdir()
    environment = "env TOY=ROOT/toy HOME=ROOT/home PATH=ROOT/toy/bin:/usr/bin:/bin"
    file.write_text(PROFILE.replace("ENV", environment).replace("ROOT", str(tmp_path)))
    return Repository([str(toy.path.parent / "profiles")]).load("programs")


def count_deployments(tmp_path: Path) -> int:
    return (tmp_path / "sent").read_text().count("install() {")


async def test_they_are_deployed_when_one_is_missing(programs: Profile, tmp_path: Path) -> None:
    async with TargetSystem(programs, timing=QUICK) as target:
        first = await target.submit(JobDescription(executable="true"))
        assert (await target.wait(first)).state is JobState.DONE
        assert count_deployments(tmp_path) == 1
        sent = (tmp_path / "sent").stat().st_size
        await target.wait(await target.submit(JobDescription(executable="true")))
        assert count_deployments(tmp_path) == 1
        assert (tmp_path / "sent").stat().st_size > sent
        (submit,) = (tmp_path / "home/.gpe/bin").glob("*/submit.sh")
        submit.write_text("")
        await target.submit(JobDescription(executable="true"))
        assert count_deployments(tmp_path) == 2
        shutil.rmtree(submit.parent)
        statuses = await target.statuses([first])
        assert statuses[first].state is JobState.DONE


@pytest.mark.parametrize("context", [{}, {"SSH:HOST": "far"}])
async def test_many_first_submissions_at_the_same_time(
    programs: Profile, toy: Toy, context: dict[str, str]
) -> None:
    async with TargetSystem(programs, context, timing=QUICK) as target:
        one_by_one = asyncio.gather(*(target.submit(JobDescription(executable="true")) for _ in range(10)))
        together = target.submit_many([JobDescription(executable="true") for _ in range(10)])
        job_ids = [*await one_by_one, *await together]
    assert len({*job_ids}) == len(toy.submissions) == 20


async def test_where_they_cannot_be_deployed_nothing_is_done(
    programs: Profile, toy: Toy, tmp_path: Path
) -> None:
    (tmp_path / "home/.gpe").mkdir()
    (tmp_path / "home/.gpe/bin").write_text("in the way")
    async with TargetSystem(programs, timing=QUICK) as target:
        with pytest.raises(
            ScriptFailedError, match=r"deploying the static scripts failed .*bin.*exists"
        ) as error:
            await target.submit(JobDescription(executable="true"))
        assert "\n" not in error.value.message
        assert not toy.submissions
        assert target.store.list_all_jobs() == []
        (tmp_path / "home/.gpe/bin").unlink()
        job_id = await target.submit(JobDescription(executable="true"))
        await target.wait(job_id)
        shutil.rmtree(tmp_path / "home/.gpe/bin")
        (tmp_path / "home/.gpe/bin").write_text("in the way")
    async with TargetSystem(programs, timing=QUICK) as target:
        with pytest.raises(ScriptFailedError, match="deploying the static scripts failed"):
            await target.status(job_id)  # it is no unknown job
    assert len(toy.submissions) == 1


async def test_a_status_program_that_is_cut_is_installed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It prints nothing and ends with 0, as if there were no jobs: the list lacks its end."""
    monkeypatch.setenv("HOME", str(tmp_path))
    async with TargetSystem(load("linux"), timing=QUICK) as target:
        job_id = await target.submit(JobDescription(executable="sleep", arguments=["60"]))
        (program,) = (tmp_path / ".gpe/bin").glob("*/get-job-status.sh")
        program.write_text(program.read_text().partition("\n")[0] + "\n")
        statuses = await JobQueries(make_shell(target.profile)).query_all_jobs()
        assert statuses[job_id].state is JobState.RUNNING
        await target.abort(job_id)


@pytest.mark.usefixtures("programs")
async def test_a_list_without_its_end_is_no_answer(tmp_path: Path) -> None:
    file = tmp_path / "profiles/programs/profile.xml"
    end = '<idb:Field name="STATUS_END" isSettable="false"><idb:Value>all told</idb:Value></idb:Field>'
    before = '    <idb:Field name="STATE"'
    for printed, is_whole in (("all told", True), ("fine all told", False), ("all told; echo x", False)):
        text = file.read_text().replace(before, end + before)
        file.write_text(text.replace("|| :</idb", f"|| :; echo {printed}</idb"))
        queries = JobQueries(make_shell(Repository([str(file.parents[1])]).load("programs")))
        if is_whole:
            assert await queries.query_all_jobs() == {}
        else:
            with pytest.raises(OutputError, match="STATUS_END"):
                await queries.query_all_jobs()
        file.write_text(text.replace(end, ""))


def test_a_self_contained_script_does_nothing_where_it_cannot_be_deployed(programs: Profile) -> None:
    context = {"USER_NAME": "me", "WORKING_DIRECTORY": "/nowhere"}
    script = build_self_contained_script(incarnate(programs, "START", context=context))
    home = {**os.environ, "HOME": "/dev/null"}
    done = subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, env=home, check=False)
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.count("\n") == 1
    assert "/dev/null" in done.stderr


async def test_a_script_that_is_not_of_the_profile(programs: Profile, toy: Toy) -> None:
    """START's script of another version, which the record has, names a file that this version does not have."""
    starts = StartScripts(make_shell(programs))
    script = starts.prepare_submission(JobDescription(executable="true")).script
    with pytest.raises(ScriptFailedError, match=r"0000/submit\.sh is not deployed"):
        await starts.run_start_script(script.replace(script.split("/submit.sh")[0][-16:], "0000"))
    assert not toy.submissions
