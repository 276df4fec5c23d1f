"""What is wrong with the real daemon, and what HTCondor needs: each told of ours, over real pipes.

docs/protocols/blah.md, 7, by its sections (1 is 7.1):

 1  test_all_that_was_answered_s_is_submitted, test_eleven_ids_in_one_status; lines of nothing:
    test_protocol; long lines: test_hostile.test_lines_of_ten_megabytes
 2  test_a_site_script_that_prints_nothing, test_what_a_site_script_says_is_one_field
 3  test_hostile.test_a_value_wherever_it_can_stand, test_each_attribute_with_each_value
 4  tests/jobs/test_process.py: the end of a script is awaited by its descriptor, without a race
 5  test_hostile (as 3), test_daemon.test_files_are_brought_and_left
 6  test_hostile (as 3), test_ids_that_leave_their_place
 7  test_states_are_true, test_an_answer_after_a_cancel; on the real Slurm: tests/lab/test_blah.py
 8  test_job_status.test_a_bad_expression_selects_nothing, test_long_status_lines
 9  test_nothing_is_left_behind, test_a_submission_under_way_comes_to_its_end
10  test_daemon.test_a_map_and_profiles_of_the_sites; the example of docs/htcondor.md: test_docs

docs/protocols/blah.md, 6, by what it says:

 the wire's own lines        test_attributes.test_the_pages_submission, _arguments_and_environment
 undefined remaps, StageCmd, CERequirements    test_what_the_gridmanager_sends
 local staging               test_daemon.test_files_are_brought_and_left
 Out == Err                  test_what_the_gridmanager_sends
 statuses, 5 as 1            test_daemon.test_ends, test_a_held_job_told_as_idle; test_status
 20 s                        test_answers_do_not_wait_for_the_batch_system
 the same ad                 test_one_ad_submitted_twice_at_a_time, test_two_daemons_and_one_submission,
                             test_daemon.test_killed_while_it_submits
 F only while outstanding    test_protocol.test_never_f_while_nothing_is_outstanding
 CANCEL of what is gone      test_daemon.test_unknown_ids
 commands not to list        test_protocol.test_said, test_what_is_answered_at_once_keeps_the_order
 how it starts and ends      test_started_as_htcondor_does, test_daemon.test_a_signal_is_the_end
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.executors.blah.client import command
from tests.executors.blah.conftest import write_profile
from tests.executors.blah.gridmanager import DAEMON, GridManager, ad, quoted
from tests.executors.blah.living import BANNER, Living
from tests.jobs.test_event_log import EVENTS, SEG
from tests.waiting import wait_for_file, wait_until_async

if TYPE_CHECKING:
    from tests.jobs.conftest import Toy

STATUS = """<idb:Template name="GET_JOB_STATUS">
  <idb:Invocation name=""><idb:Body>{body}</idb:Body></idb:Invocation>
  <idb:Invocation name="ALL"><idb:Body>{body}</idb:Body></idb:Invocation>
  <idb:Field name="JOB_ID"><idb:Default></idb:Default></idb:Field>
  <idb:Field name="STATUS_PATTERN" isSettable="false"><idb:Value>{pattern}</idb:Value></idb:Field>
  <idb:Field name="STATE" isSettable="false"><idb:Tag name="KEPT">HELD</idb:Tag></idb:Field>
</idb:Template>
"""


MEASURED = r"""
<idb:Template name="GET_JOB_STATUS">
  <idb:Invocation name=""><idb:Body>toystat</idb:Body></idb:Invocation>
  <idb:Invocation name="ALL"><idb:Body>toystat</idb:Body></idb:Invocation>
  <idb:Field name="JOB_ID"><idb:Default></idb:Default></idb:Field>
  <idb:Field name="STATUS_PATTERN" isSettable="false">
    <idb:Value>(?m)^job (?&lt;id>[0-9]+) is (?&lt;state>[A-Z]+)(?: (?&lt;exit>[0-9]+))?(?: cpu=(?&lt;cpu>[0-9]+))?$</idb:Value>
  </idb:Field>
  <idb:Field name="STATE" isSettable="false"><idb:Tag name="END">DONE</idb:Tag><idb:Tag name="GO">RUNNING</idb:Tag></idb:Field>
</idb:Template>
<idb:Template name="USAGE">
  <idb:Invocation name=""><idb:Body>echo "$$" >> "$TOY/usages"; echo 'job &lt;JOB_ID> is END cpu=1&lt;JOB_ID>'</idb:Body></idb:Invocation>
  <idb:Field name="JOB_ID"><idb:Default></idb:Default></idb:Field>
</idb:Template>
"""


@pytest.fixture(autouse=True)
def words(home: Path, toy: Toy) -> list[str]:  # noqa: ARG001
    """Give the options of a daemon that knows the batch system `toy`."""
    settings = "fastest = 0.1\nslowest = 0.3\nmax_age = 0.05\ngrace = 0.5\nlinger = 20\n"
    (home / "quick.toml").write_text(settings)
    return ["--config", "quick.toml", "--profiles", str(home / "profiles"), "--log", "log"]


def job(text: str = "exit 0", **attributes: Any) -> str:  # noqa: ANN401
    """Give the ad of a job that runs a shell's text."""
    given = {"In": "/dev/null", "Out": "/dev/null", "Err": "/dev/null", **attributes}
    return ad(Cmd="/bin/sh", StageCmd=False, gridtype="toy", Arguments=f"-c {quoted(text)}", **given)


def with_status(home: Path, body: str, pattern: str) -> list[str]:
    """Give the options for a `toy` that asks for jobs' states by other shell text."""
    content = STATUS.format(body=body, pattern=pattern)
    write_profile(home / "changed", "toy", content, extends="toy", root=home / "work")
    return ["--profiles", str(home / "changed")]


def replace_tool(toy: Toy, name: str, text: str) -> None:
    """Put another program in the place of one of the batch system's, at once."""
    new = toy.path / "bin" / f"{name}.new"
    new.write_text(f"#!/bin/sh\n{text}\n")
    new.chmod(0o755)
    new.rename(toy.path / "bin" / name)


# 1: what ended the daemon


def submit_first(words: list[str], toy: Toy, count: int) -> None:
    """Submit jobs before anything is read, not even the banner; the end of stdin waits for them."""
    sent = b"".join(
        command("BLAH_JOB_SUBMIT", str(n), job(JobDirectory=f"j{n}")) for n in range(1, count + 1)
    )
    done = subprocess.run([*DAEMON, *words], input=sent, capture_output=True, check=True)
    assert done.stdout == BANNER + b"S\r\n" * count
    assert len(set(toy.submissions)) == len(toy.submissions) == count


@pytest.mark.race
def test_all_that_was_answered_s_is_submitted(words: list[str], toy: Toy) -> None:
    """docs/protocols/blah.md, 7.1: two at the start were a crash. Here are more than are worked on at a time."""
    (toy.path / "stopped").touch()
    submit_first(words, toy, 70)


async def test_a_kept_removal_that_is_refused_is_tried_again(words: list[str], toy: Toy, home: Path) -> None:
    """The batch system is away, and then refuses: HTCondor would not ask again, and the job would run on."""
    replace_tool(
        toy, "toyctl",
        'echo x >> "$TOY/removals"\nset -- "$2" $(wc -l < "$TOY/removals")\n'
        '[ "$2" -gt 1 ] || { echo "toyctl: no answer" >&2; exit 2; }\n'
        '[ "$2" -gt 2 ] || { echo "toyctl: not now" >&2; exit 6; }\n'
        'kill -s KILL -- "-$(cat "$TOY/jobs/$1/pid")"; echo GONE > "$TOY/jobs/$1/state"',
    )  # fmt: skip
    async with GridManager(*words) as client:
        job_id = await client.submit(job("sleep 600"))
        pid = toy.path / "jobs" / job_id.split("/")[-1] / "pid"
        await wait_until_async(lambda: pid.exists() and pid.read_text().strip() != "")
        code, said, *_ = await client.ask("BLAH_JOB_CANCEL", job_id)
        assert (code, "not now" in said) == ("1", True)
        await wait_until_async(lambda: (pid.parent / "state").read_text() == "GONE\n")
    assert len((toy.path / "removals").read_text().split()) == 3
    log = (home / "log").read_text()
    assert (log.count("is tried until it has ended"), "not now" in log) == (1, True)


async def test_what_jobs_took_is_one_query(words: list[str], toy: Toy, home: Path) -> None:
    """One query is for all that ended together, also if the client asks for one after the other."""
    write_profile(home / "changed", "toy", MEASURED, extends="toy", root=home / "work")
    async with GridManager("--profiles", str(home / "changed"), *words) as client:
        ids = [await client.submit(job()) for _ in range(8)]
        states = [toy.path / "jobs" / job_id.split("/")[-1] / "state" for job_id in ids]
        await wait_until_async(lambda: all(s.read_text().startswith("END") for s in states))
        for job_id in ids:
            assert (await client.ended(job_id))["RemoteUserCpu"] == f"1{job_id.split('/')[-1]}"
    asked = (toy.path / "usages").read_text().split()
    assert (len(asked), len(set(asked))) == (8, 1)


async def test_eleven_ids_in_one_status(words: list[str]) -> None:
    """docs/protocols/blah.md, 7.1: more than 10 were a SIGSEGV."""
    async with GridManager(*words) as client:
        ids = await asyncio.gather(*(client.submit(job(f"exit {n}")) for n in range(11)))
        for job_id in ids:
            await client.ended(job_id)
    with Living(*words) as daemon:
        sent = command("BLAH_JOB_STATUS", "7", " ".join([*ids, "toy/20261121/999", "x"]))
        assert daemon.answers(sent) == [b"S\r\n"]
        found = {reqid: rest for reqid, *rest in daemon.results(13)}
    for number in range(11):
        code, _, status, text = found[f"7.{number}"]
        assert (code, status) == ("0", "4")
        assert f"ExitCode = {number};" in text
    assert (found["7.11"][0], found["7.11"][2:]) == ("1", ["0", "N/A"])
    assert (found["7.12"][0], found["7.12"][2:]) == ("255", ["0", "N/A"])


# 2: results that never come, or have too many fields


@pytest.mark.parametrize("text", ["exit 0", "exit 1", "kill -s KILL $$", "echo", "echo x; exit 0"])
async def test_a_site_script_that_prints_nothing(words: list[str], toy: Toy, text: str) -> None:
    """docs/protocols/blah.md, 7.2: the request never got a result."""
    async with GridManager(*words) as client:
        replace_tool(toy, "toysub", text)
        code, _, job_id = await client.ask("BLAH_JOB_SUBMIT", job())
        assert (code, job_id) == ("1", "N/A")
        replace_tool(toy, "toystat", text)
        found = await client.ask("BLAH_JOB_STATUS", "toy/20261121/1")
        assert (found[0], found[2:]) == ("1", ["0", "N/A"])
        replace_tool(toy, "toyctl", text)
        for name in ("HOLD", "RESUME", "CANCEL"):
            assert len(await client.ask(f"BLAH_JOB_{name}", "toy/20261121/1")) == 2


async def test_what_a_site_script_says_is_one_field(words: list[str], toy: Toy) -> None:
    r"""docs/protocols/blah.md, 7.2: errors of HOLD and RESUME were not escaped; 9 fields, and an abort."""
    noise = "printf 'it is  \\\\ so: \\t \"quoted\"\\r\\n\\n two lines \\033[31m\\n' >&2; exit 3"
    async with GridManager(*words) as client:
        (toy.path / "stopped").touch()
        job_id = await client.submit(job())
        replace_tool(toy, "toyctl", noise)
        for name in ("HOLD", "CANCEL"):
            code, said = await client.ask(f"BLAH_JOB_{name}", job_id)
            assert code == "1"
            assert 'it is \\ so: "quoted"; two lines \ufffd[31m' in said
        toy.state(job_id.split("/")[2], "KEPT")
        await asyncio.sleep(0.1)
        code, said = await client.ask("BLAH_JOB_RESUME", job_id)
        assert (code, "two lines" in said) == ("1", True)
        replace_tool(toy, "toysub", noise)
        code, said, _ = await client.ask("BLAH_JOB_SUBMIT", job())
        assert (code, "two lines" in said) == ("1", True)


async def test_a_query_that_failed_is_no_unknown_job(home: Path, words: list[str], toy: Toy) -> None:
    """Its words were lost, and a removal that had failed, too, was told as done."""
    body = "[ -z '&lt;JOB_ID>' ] || { echo 'the accounting is away' >&amp;2; exit 3; }"
    changed = with_status(home, body, "(?m)^(?&lt;id>[0-9]+) (?&lt;state>[A-Z]+)$")
    async with GridManager(*changed, *words) as client:
        code, said, *rest = await client.ask("BLAH_JOB_STATUS", "toy/20261121/1")
        assert (code, rest) == ("1", ["0", "N/A"])
        assert "the accounting is away" in said
        assert "is not known" not in said
        replace_tool(toy, "toyctl", "echo 'timed out' >&2; exit 7")
        code, said = await client.ask("BLAH_JOB_CANCEL", "toy/20261121/1")
        assert (code, "timed out" in said) == ("1", True)
        for name in ("HOLD", "RESUME"):
            code, said = await client.ask(f"BLAH_JOB_{name}", "toy/20261121/1")
            assert (code, "the accounting is away" in said) == ("1", True)


# 7: states


async def test_states_are_true(words: list[str], toy: Toy) -> None:
    """docs/protocols/blah.md, 7.4: an unknown job was 4 with ExitCode 0, and a held one never 5."""
    async with GridManager(*words) as client:
        (toy.path / "stopped").touch()
        held, vanishing, odd = [await client.submit(job()) for _ in range(3)]
        native = {job_id: job_id.split("/")[2] for job_id in (held, vanishing, odd)}
        for job_id in native:
            assert (await client.status(job_id))[0] == 1
        toy.state(native[held], "KEPT")  # from outside
        while (number := (await client.status(held))[0]) == 1:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        assert number == 5
        assert await client.ask("BLAH_JOB_RESUME", held) == ["0", "No error"]
        assert (await client.status(held))[0] == 1
        toy.state(native[odd], "PURPLE")
        await asyncio.sleep(0.5)
        assert (await client.status(odd))[0] == 1  # it is there, whatever that means
        toy.state(native[vanishing], None)
        while (found := await client.ask("BLAH_JOB_STATUS", vanishing))[0] == "0":
            assert found[2] == "1"  # within the grace period: what was known last
            await asyncio.sleep(0.05)
        assert (found[0], found[2:]) == ("1", ["0", "N/A"])
        assert "vanished without a trace" in found[1]
        for job_id in (held, odd):
            await client.ask("BLAH_JOB_CANCEL", job_id)


async def test_states_come_from_a_log(words: list[str], toy: Toy) -> None:
    """Manual, "Jobs' states from a log": what the log tells is known though no query is answered."""
    log, site = toy.path / "log", toy.path.parent / "site/toy"
    log.touch()
    (toy.path / "stopped").touch()
    site.mkdir(parents=True)
    root, seg = toy.path.parent / "work", f"{SEG} --log-path {log}"
    (site / "profile.xml").write_text(EVENTS.format(root=root, command=seg, fields=""))
    async with GridManager("--profiles", str(site.parent), *words) as client:
        job_id = await client.submit(job())
        native = job_id.rpartition("/")[2]
        assert (await client.status(job_id))[0] == 1
        (toy.path / "broken").touch()
        with log.open("a") as file:
            file.write(f"001;{int(time.time())};{native};2;0\n")
        while (await client.status(job_id))[0] != 2:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        toy.state(native, "END 3")
        (toy.path / "broken").unlink()
        assert (await client.ended(job_id))["ExitCode"] == "3"


async def test_an_answer_after_a_cancel(words: list[str], toy: Toy) -> None:
    """docs/protocols/blah.md, 7.4: a cache of 60 s showed a cancelled job as running, then as 4 with 255."""
    (toy.path.parent / "old.toml").write_text("max_age = 60\nfastest = 60\n")
    async with GridManager(*words, "--config", "old.toml") as client:
        job_id = await client.submit(job("exec sleep 600"))
        assert (await client.status(job_id))[0] == 2
        assert await client.ask("BLAH_JOB_CANCEL", job_id) == ["0", "No error"]
        number, found = await client.status(job_id)
        assert (number, "ExitCode" in found) == (3, False)


# 8: answers


async def test_long_status_lines(home: Path, words: list[str]) -> None:
    """docs/protocols/blah.md, 7.2: what was over 1023 bytes was cut."""
    reason = "because " * 600 + "it is so"
    pattern = "(?m)^(?&lt;id>[0-9]+) (?&lt;state>[A-Z]+) (?&lt;reason>.*)$"
    changed = with_status(home, f"echo '1 KEPT {reason}'; :", pattern)
    async with GridManager(*changed, *words) as client:
        number, found = await client.status("toy/20261121/1")
        assert (number, found["HoldReason"]) == (5, f'"{reason}"')
        code, _, ads = await client.ask("BLAH_JOB_STATUS_ALL")
        assert (code, reason in ads) == ("0", True)


# 9: what is left behind


def processes_of(toy: Toy) -> list[int]:
    """Give the processes that the batch system's scripts run in."""
    mark = f"TOY={toy.path}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            found += [int(entry.name)] if mark in variables else []
    return found


@pytest.mark.parametrize("how", ["the end of stdin", "QUIT", "SIGTERM", "a client that is gone"])
def test_nothing_is_left_behind(words: list[str], toy: Toy, how: str) -> None:
    """docs/protocols/blah.md, 7.2: orphans for ever. Here each question takes for ever."""
    replace_tool(toy, "toystat", 'trap : TERM; echo >> "$TOY"/began; sleep 600; sleep 600')
    with Living(*words) as daemon:
        for number in range(1, 4):
            daemon.write(command("BLAH_JOB_STATUS", str(number), f"toy/20261121/{number}"))
        wait_for_file(toy.path / "began")
        assert processes_of(toy)
        daemon.end(how)
        daemon.wait()
    assert processes_of(toy) == []


async def test_a_submission_under_way_comes_to_its_end(words: list[str], toy: Toy) -> None:
    """docs/protocols/blah.md, 7.2: it is neither an orphan nor lost: the next daemon knows its job."""
    text = (toy.path / "bin" / "toysub").read_text().replace("#!/bin/sh", "sleep 1")
    replace_tool(toy, "toysub", text)
    submit_first(words, toy, 1)
    async with GridManager(*words) as client:
        job_id = await client.submit(job(JobDirectory="j1"))
        assert job_id.endswith("/1")
        assert (await client.ended(job_id))["ExitCode"] == "0"
    assert len(toy.submissions) == 1


@pytest.mark.race
async def test_two_daemons_and_one_submission(words: list[str], toy: Toy) -> None:
    """docs/protocols/blah.md, 6.1: the next job starts a new daemon; that of the job before may not have ended yet."""
    text = (toy.path / "bin" / "toysub").read_text().replace("#!/bin/sh", 'echo >> "$TOY/began"; sleep 1')
    replace_tool(toy, "toysub", text)
    with Living(*words) as first:
        first.write(command("BLAH_JOB_SUBMIT", "1", job(JobDirectory="home_bl_1")))
        first.end("the end of stdin")
        wait_for_file(toy.path / "began")
        async with GridManager(*words) as client:
            assert (await client.submit(job(JobDirectory="home_bl_1"))).endswith("/1")
    assert len(toy.submissions) == 1


# HTCondor's gridmanager


def test_answers_do_not_wait_for_the_batch_system(words: list[str], toy: Toy) -> None:
    """A reply later than 20 s makes HTCondor crash and submit again: here all scripts hang."""
    (toy.path.parent / "short.toml").write_text("linger = 0")
    replace_tool(toy, "toystat", "sleep 600")

    with Living(*words, "--config", "short.toml") as daemon:
        for number in range(1, 200):
            assert daemon.answers(
                command("BLAH_JOB_STATUS", str(number), f"toy/20261121/{number}") + b"VERSION\r\n"
            ) == [b"S\r\n", b"S " + BANNER]
        assert daemon.answers(b"RESULTS\r\n") == [b"S 0\r\n"]
    assert processes_of(toy) == []


@pytest.mark.race
async def test_one_ad_submitted_twice_at_a_time(words: list[str], toy: Toy) -> None:
    """HTCondor submits again after a crash: the same JobDirectory is the same job."""
    async with GridManager(*words) as client:
        text = job(JobDirectory="home_bl_1")
        ids = await asyncio.gather(*(client.ask("BLAH_JOB_SUBMIT", text) for _ in range(5)))
        done = {job_id for code, _, job_id in ids if code == "0"}
        assert len(done) == 1
        assert await client.submit(text) in done
        for code, said, _ in ids:
            assert code == "0", said
    assert len(toy.submissions) == 1


async def test_what_the_gridmanager_sends(home: Path, words: list[str]) -> None:
    """docs/protocols/blah.md, 4: undefined remaps, an expression as CERequirements, StageCmd; Out is Err."""
    (home / "input").write_text("in")
    text = job(
        "cat; echo err >&2; echo out",
        Iwd=str(home), In="input", Out="both", Err="both", GridResource="batch toy",
        JobDirectory="home_bl_1", TransferOutput="",
    )  # fmt: skip
    more = '; TransferOutputRemaps = undefined; CERequirements = Foo == "bar baz" && Priority == 540 ]'
    text = text.removesuffix(" ]") + more
    async with GridManager(*words) as client:
        assert (await client.ended(await client.submit(text)))["ExitCode"] == "0"
    assert (home / "both").read_text() == "inerr\nout\n"
    log = (home / "log").read_text()
    assert "CERequirements: the profile has no settable FOO; it is left out" in log
    assert "CERequirements: the profile has no settable PRIORITY; it is left out" in log


async def test_started_as_htcondor_does(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/protocols/blah.md, 6.1: no arguments, a bare environment, the log's directory; settings from the user's file."""
    (home / ".config" / "osprofile").mkdir(parents=True)
    (home / "logs").mkdir()
    config = home / ".config" / "osprofile" / "blahpd.toml"
    config.write_text(f'profiles = ["{home}/profiles"]\nmap = {{ pbs = "toy" }}\nmax_age = 0\n')
    monkeypatch.chdir(home / "logs")
    for name in set(os.environ) - {"PATH"}:
        monkeypatch.delenv(name)
    for name, value in {"HOME": home, "BLAHPD_LOCATION": "/usr", "GAHP_TEMP": home / "logs"}.items():
        monkeypatch.setenv(name, str(value))
    text = job("exit 3").replace('gridtype = "toy"', 'gridtype = "pbs"')
    async with GridManager() as client:
        assert await client.ask("BLAH_PING", "pbs") == ["0", "No error"]
        job_id = await client.submit(text)
        assert job_id.startswith("pbs/")
    async with GridManager() as client:
        assert (await client.ended(job_id))["ExitCode"] == "3"
    assert not list((home / "logs").iterdir())
