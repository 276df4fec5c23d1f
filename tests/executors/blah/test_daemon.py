"""The daemon itself, over real pipes, running real jobs of the profile `linux`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from osprofile.errors import SettingError
from osprofile.executors.blah.settings import Settings, read_settings
from tests.executors.blah.client import command
from tests.executors.blah.conftest import home, write_profile
from tests.executors.blah.gridmanager import DAEMON, GridManager, ad, quoted
from tests.executors.blah.living import BANNER, Living
from tests.waiting import PATIENCE, wait_until, wait_until_async

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["home"]
QUICK = ("--config", "quick.toml")
pytestmark = pytest.mark.usefixtures("home")


def job(home: Path, text: str, **attributes: Any) -> str:  # noqa: ANN401
    """Give the ad of a job that runs a shell script's text."""
    payload = home / "payload.sh"
    if not payload.exists():  # a job may be reading it
        payload.write_text('#!/bin/sh\neval "$1"\n')
        payload.chmod(0o755)
    return ad(
        Cmd=str(home / "payload.sh"),
        Iwd=str(home),
        gridtype="linux",
        Arguments=quoted(text),
        Out="out",
        Err="err",
        In="/dev/null",
        **attributes,
    )


async def said(home: Path, words: str) -> None:
    """Wait until a job has printed something."""
    await wait_until_async(lambda: (home / "out").exists() and (home / "out").read_text() == words)


def talk(data: bytes = b"", *, words: tuple[str, ...] = ()) -> subprocess.CompletedProcess[bytes]:
    """Send data to a daemon, then the end of its standard input; give all that it said."""
    return subprocess.run([*DAEMON, *words], input=data, capture_output=True, check=False, timeout=PATIENCE)


# What needs no batch system, byte for byte


def test_a_short_session() -> None:
    """docs/protocols/blah.md, 2, and 6.1: without a proxy cache its commands are unknown."""
    done = talk(b"VERSION\r\nUSE_CACHED_PROXY 1\r\nVERSION extra\r\nResults\nASYNC_MODE_ON\nQUIT\nVERSION\n")
    assert done.returncode == 0
    assert done.stdout == (
        BANNER
        + b"S "
        + BANNER
        + b"E Unknown\\ command\r\nE expected\\ 0\\ parameters,\\ 1\\ found\r\n"
        + b"S 0\r\nS Async\\ mode\\ on\r\nS Server\\ exiting\r\n"
    )


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "QUIT"])
def test_a_signal_is_the_end(name: str) -> None:
    with Living() as daemon:
        daemon.process.send_signal(getattr(signal, f"SIG{name}"))
        daemon.wait()


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2])
async def test_a_signal_without_a_meaning(home: Path, number: signal.Signals) -> None:
    """It ended the daemon. A job starts with it as usual all the same: it ends the job."""
    async with GridManager(*QUICK) as client:
        job_id = await client.submit(job(home, f"kill -s {number.name[3:]} $$"))
        client.process.send_signal(number)
        assert (await client.ended(job_id))["ExitSignal"] == str(number.value)
        client.process.send_signal(number)
        assert await client.ask("BLAH_PING", "linux") == ["0", "No error"]


async def test_htcondors_restart_leaves_a_job_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It kills the processes that have a variable of its own in their environment."""
    name = "_CONDOR_ANCESTOR_4711"
    monkeypatch.setenv(name, "4712:1795000000:12345678")
    async with GridManager(*QUICK) as client:
        text = f"echo ${{{name}-none}}; until [ -e over ]; do sleep 0.05; done; exit 3"
        job_id = await client.submit(job(home, text))
        await said(home, "none\n")
    for path in (p / "environ" for p in Path("/proc").glob("[0-9]*")):  # noqa: ASYNC240
        with contextlib.suppress(OSError):
            if f"{name}=".encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                os.kill(int(path.parent.name), signal.SIGKILL)
    async with GridManager(*QUICK) as client:
        assert (await client.status(job_id))[0] == 2
        (home / "over").touch()
        assert (await client.ended(job_id))["ExitCode"] == "3"


BROKEN_ABORT = """<idb:Template name="ABORT"><idb:Invocation name=""><idb:Body><![CDATA[kill <NO_SUCH>]]></idb:Body>
  </idb:Invocation></idb:Template>"""
STRICT = """<idb:Template><idb:Field name="ARGUMENTS" ext:pattern="(?s)(?!.*gpe_stage).*">
  <idb:Default></idb:Default></idb:Field></idb:Template>"""
NO_JOBS = [
    (b"", "Error parsing classad"),
    (b"Cmd = 1", "Error parsing classad"),
    (b'[ Cmd = "/bin/true" ]', "attribute GridType is missing"),
    (b'[ Cmd = "/bin/true"; GridType = "../../tmp/evil" ]', "is not a name of a batch system"),
    (b'[ Cmd = "/bin/true"; GridType = "none" ]', "there is no profile 'none'"),
    (b'[ GridType = "linux" ]', "attribute Cmd is missing"),
    (b'[ Cmd = "-rf"; GridType = "linux"; StageCmd = false ]', "attribute Cmd: '-rf' begins"),
    (b'[ Cmd = "/bin/true"; GridType = "linux"; Queue = "a;id" ]', "QUEUE"),
    (b'[ Cmd = "/bin/true"; GridType = "linux"; BatchRuntime = 1/0 ]', "BatchRuntime"),
    (b'[ Cmd = "\\000"; GridType = "linux" ]', ""),
    (b'[ Cmd = "/bin/true"; GridType = "linux"; RequestMemory = 1E12 ]', "the Max of 999999999"),
    (b'[ Cmd = "/bin/true"; GridType = "broken" ]', "GridType: the profile broken has errors"),
    (b'[ Cmd = "/bin/true"; GridType = "linux"; Args = "' + b"x" * 140_000 + b'" ]',
     "attribute Args: field ARGUMENTS: argument 1 is too long for a program: 140000 bytes"),
    (b'[ Cmd = "/bin/true"; GridType = "strict"; Args = "x" ]',
     "attribute Args: the program's arguments and the names of its files are refused"),
    (b'[ Cmd = "/bin/true"; GridType = "linux"; BatchExtraSubmitArgs = "--qos=x" ]',
     "BatchExtraSubmitArgs: the option --qos is not accepted here (this site accepts none)"),
    (b'[ Cmd = "/bin/true"; GridType = "linux"; JobDirectory = "\xff" ]',
     "attribute JobDirectory: '\\xff' is not valid UTF-8"),
]  # fmt: skip


def test_what_is_no_job(home: Path) -> None:
    """HTCondor shows the text to the job's owner: it has no file of the site's, and no script of ours."""
    write_profile(home, "broken", "<x/>")
    write_profile(home, "strict", STRICT)
    with Living("--profiles", str(home)) as daemon:
        for number, (text, _) in enumerate(NO_JOBS, 1):
            sent = command("BLAH_JOB_SUBMIT", str(number), text.decode("utf-8", "surrogateescape") or " ")
            assert daemon.answers(sent) == [b"S\r\n"]
        results = {reqid: rest for reqid, *rest in daemon.results(len(NO_JOBS))}
    for number, (_, words) in enumerate(NO_JOBS, 1):
        code, message, job_id = results[str(number)]
        assert (code, job_id) == ("1", "N/A")
        assert words in message
        assert ".xml" not in message
        assert str(home) not in message
        assert "gpe_stage" not in message
    assert not (home / ".gpe/jobs").exists()


def test_the_log_says_why_an_ad_was_refused(home: Path) -> None:
    text = ad(Cmd="a", GridType="linux", Queue="a;id")
    done = talk(command("BLAH_JOB_SUBMIT", "7", text))
    (line,) = [line for line in done.stderr.decode().splitlines() if "attribute" in line]
    assert "INFO BLAH_JOB_SUBMIT 7: " in line
    assert not (home / ".gpe/jobs").exists()


def test_the_log_file_is_its_owners_alone(home: Path) -> None:
    log = home / "log"
    talk(command("BLAH_JOB_SUBMIT", "7", ad(GridType="linux")), words=("--log", str(log)))
    assert "INFO BLAH_JOB_SUBMIT 7: " in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, None])
def test_a_log_that_cannot_be_opened_goes_to_standard_error(
    home: Path, make: Callable[[Path], None] | None
) -> None:
    log = home / "logs"
    if make is not None:
        make(log)
    words = ("--log", str(log if make is not None else log / "log"))
    done = talk(command("BLAH_JOB_SUBMIT", "7", ad(GridType="linux")), words=words)
    assert done.returncode == 0
    assert done.stdout.startswith(BANNER)
    first, *others = done.stderr.decode().splitlines()
    assert f" ERROR log = '{words[1]}': " in first
    assert first.endswith("; the log goes to standard error")
    assert any("INFO BLAH_JOB_SUBMIT 7: " in line for line in others)


def test_a_log_and_a_store_for_each_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "somebody")  # of the user that started HTCondor
    (home / "each.toml").write_text('log = "log-{user}"\nstore = "{user}.db"\n')
    talk(b"BLAH_PING 1 linux\n", words=("--config", "each.toml"))
    user = pwd.getpwuid(os.geteuid()).pw_name
    assert (home / f"log-{user}").exists()
    assert (home / f"{user}.db").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--map", "pbs"), "--map: map: '' is not a name"),
        (("--map", "p/s=x"), "--map: map: 'p/s' is not a name"),
        (("--config", "none.toml"), "none.toml: No such file or directory"),
        (("--config", "wrong.toml"), "wrong.toml: there is no setting 'windows'"),
    ],
)
def test_wrong_options(words: tuple[str, ...], message: str) -> None:
    Path("wrong.toml").write_text("windows = 1")
    done = talk(words=words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"osprofile-blahpd: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("window = 0", "window = 0 is not an integer from 1 to"),
        ("window = true", "window = True is not an integer"),
        ("map = 3", "map = 3 is not a table"),
        ("map = {a = '../b'}", "map: '../b' is not a name"),
        ("held_as_idle = 1", "held_as_idle = 1"),
        ("profiles = 'a'", "profiles = 'a' is not a list"),
        ("extra_submit_args = {'--a' = 'b c'}", "extra_submit_args: '--a' = 'b c'"),
        ("extra_submit_args = {'a' = 'B'}", "extra_submit_args: 'a' = 'B'"),
        ("extra_submit_args = ['--a']", "extra_submit_args = ['--a'] is not a table"),
        ("max_age = -1", "max_age = -1 is not a number of seconds"),
        ("log_level = 'all'", "log_level = 'all'"),
        ("context = { USPACE_ROOT = '/scratch' }", "context: USPACE_ROOT is not for the context"),
        ("context = { WORKING_DIRECTORY = '/scratch' }", "context: WORKING_DIRECTORY is not for the context"),
        ("context = { PROFILE_NAME = 'slurm' }", "context: PROFILE_NAME is not for the context"),
        ("a b", "Expected '=' after a key"),
        ("window = " + "1" * 5000, "Exceeds the limit"),
        ("window = 0x" + "1" * 5000, "Exceeds the limit"),
        ("map = " + "[" * 5000, ""),
        ("x = '\\xff'", "there is no setting 'x'"),
    ],
)
def test_wrong_settings(home: Path, text: str, message: str) -> None:
    (home / "wrong.toml").write_text(text)
    with pytest.raises(SettingError) as caught:
        read_settings("wrong.toml", Settings())
    assert caught.value.message.startswith(f"wrong.toml: {message}")


# Jobs


ENDS = [
    ("exit 0", {"JobStatus": "4", "ExitCode": "0"}),
    ("exit 3", {"JobStatus": "4", "ExitCode": "3"}),
    ("no-such-command", {"JobStatus": "4", "ExitCode": "127"}),
    (
        "kill -s KILL $$",
        {"JobStatus": "4", "ExitBySignal": "true", "ExitSignal": "9", "ExitReason": '"signal 9 killed it"'},
    ),
    (
        "kill -s TERM $$",
        {"JobStatus": "4", "ExitBySignal": "true", "ExitSignal": "15", "ExitReason": '"signal 15 killed it"'},
    ),
]


async def test_ends(home: Path) -> None:
    async with GridManager(*QUICK) as client:
        assert await client.ask("BLAH_PING", "linux") == ["0", "No error"]
        ids = [
            await client.submit(job(home, text, JobDirectory=f"home_bl_{number}"))
            for number, (text, _) in enumerate(ENDS)
        ]
        for job_id, (text, expected) in zip(ids, ENDS, strict=True):
            assert job_id.split("/")[:2] == ["linux", time.strftime("%Y%m%d")]
            found = await client.ended(job_id)
            assert found["BatchJobId"] == f'"{job_id.split("/")[2]}"'
            shown = {k: v for k, v in found.items() if k.startswith(("Exit", "JobStatus"))}
            assert shown == expected, text
        again = await client.submit(job(home, "exit 3", JobDirectory="home_bl_1"))
        assert again not in ids  # the end of that one was told


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"In": "none"}, "STDIN HOME/none cannot be read"),
        ({"Cmd": "none"}, "program HOME/none cannot be copied"),
        ({"Cmd": "none", "StageCmd": False}, "program none is not found"),
        ({"Cmd": "no-such-command", "StageCmd": False}, "program no-such-command is not found"),
        ({"TransferInput": "none"}, "file HOME/none cannot be copied to ."),
        ({"Out": "none/out"}, "STDOUT HOME/none/out cannot be written"),
    ],
    ids=str,
)
async def test_a_program_that_was_not_run_has_no_exit_code(
    home: Path, attributes: dict[str, Any], reason: str
) -> None:
    """HTCondor would take it for the program's own; there is a reason."""
    async with GridManager(*QUICK) as client:
        values = {"Cmd": "/bin/true", "Iwd": str(home), "GridType": "linux", **attributes}
        found = await client.ended(await client.submit(ad(**values)))
    assert {name: value for name, value in found.items() if name.startswith("Exit")} == {
        "ExitBySignal": "true",
        "ExitSignal": "9",
        "ExitReason": f'"{reason.replace("HOME", str(home))}"',
    }


@pytest.mark.parametrize("attributes", [{}, {"TransferInput": "in"}], ids=str)
async def test_any_exit_code_is_the_programs(home: Path, attributes: dict[str, str]) -> None:
    """A job script that cannot use a file ends its program's shell with 125, and says so in a file of the job."""
    (home / "in").write_text("")
    async with GridManager(*QUICK) as client:
        found = await client.ended(await client.submit(job(home, "exit 125", **attributes)))
    assert {name: value for name, value in found.items() if name.startswith("Exit")} == {"ExitCode": "125"}


async def test_the_whole_life_of_a_job(home: Path) -> None:
    async with GridManager(*QUICK) as client:
        job_id = await client.submit(job(home, "echo ready; exec sleep 600"))
        await said(home, "ready\n")
        assert (await client.status(job_id))[0] == 2
        assert await client.ask("BLAH_JOB_RESUME", job_id) == ["1", f"Job Running jobId {job_id}"]
        assert await client.ask("BLAH_JOB_HOLD", job_id) == ["0", "No error"]
        number, found = await client.status(job_id)
        assert (number, found["HoldReason"]) == (5, '"held in the batch system"')
        assert await client.ask("BLAH_JOB_HOLD", job_id) == ["0", f"Job Held jobId {job_id}"]
        assert await client.ask("BLAH_JOB_SIGNAL", job_id, "10") == ["1", f"Job Held jobId {job_id}", "0"]
        assert await client.ask("BLAH_JOB_RESUME", job_id) == ["0", "No error"]
        assert (await client.status(job_id))[0] == 2
        assert await client.ask("BLAH_JOB_CANCEL", job_id) == ["0", "No error"]
        assert (await client.ended(job_id))["JobStatus"] == "3"
        assert await client.ask("BLAH_JOB_CANCEL", job_id) == ["0", "No error"]
        for name, *more in (("HOLD",), ("RESUME",), ("REFRESH_PROXY", "/dev/null")):
            removed = ["1", f"Job Removed jobId {job_id}"]
            assert await client.ask(f"BLAH_JOB_{name}", job_id, *more) == removed


async def test_a_running_job_is_held_only_if_the_client_has_held_it(home: Path) -> None:
    """HTCondor would cancel a job that the batch system has suspended. A later daemon knows whose hold it is."""
    async with GridManager(*QUICK) as client:
        job_id = await client.submit(job(home, "echo ready; exec sleep 600"))
        await said(home, "ready\n")
        assert await client.ask("BLAH_JOB_HOLD", job_id) == ["0", "No error"]
    async with GridManager(*QUICK) as client:
        assert (await client.status(job_id))[0] == 5
        _, _, ads = await client.ask("BLAH_JOB_STATUS_ALL")
        assert "JobStatus = 5" in ads
        assert await client.ask("BLAH_JOB_RESUME", job_id) == ["0", "No error"]
        assert (await client.status(job_id))[0] == 2
        words = [sys.executable, "-m", "osprofile", "job", "hold", job_id.split("/")[2]]
        subprocess.run(words, check=True, capture_output=True)  # noqa: ASYNC221
        for _ in range(5):
            number, found = await client.status(job_id)
            assert (number, "HoldReason" in found) == (2, False)
            await asyncio.sleep(0.1)
        assert await client.ask("BLAH_JOB_HOLD", job_id) == ["0", f"Job Held jobId {job_id}"]
        assert await client.ask("BLAH_JOB_RESUME", job_id) == ["0", "No error"]
        assert await client.ask("BLAH_JOB_CANCEL", job_id) == ["0", "No error"]


async def test_a_job_that_cannot_begin_says_why(home: Path) -> None:
    """Where the user looks: on its own standard error, unless that is there already."""
    value = '<idb:Field name="SITE_SETUP" isSettable="false"><idb:Value>exit 4</idb:Value></idb:Field>'
    write_profile(home / "profiles", "site", f"<idb:Template>{value}</idb:Template>", root=home / "jobs")
    async with GridManager(*QUICK, "--profiles", str(home / "profiles"), "--map", "linux=site") as client:
        for known in (None, "known\n"):
            if known is not None:
                (home / "err").write_text(known)
            found = await client.ended(await client.submit(job(home, "exit 0")))
            assert (found["ExitSignal"], "SITE_SETUP" in found["ExitReason"]) == ("9", True)
            why = found["ExitReason"].strip('"')
            assert (home / "err").read_text() == (known or f"the job could not begin: {why}\n")


async def test_a_signal_for_a_job(home: Path) -> None:
    async with GridManager(*QUICK) as client:
        text = "trap 'exit 5' USR1; echo ready; while :; do sleep 0.05; done"
        job_id = await client.submit(job(home, text))
        await said(home, "ready\n")
        assert (await client.status(job_id))[0] == 2
        assert await client.ask("BLAH_JOB_SIGNAL", job_id, "10") == ["0", "No error", "2"]
        assert (await client.ended(job_id))["ExitCode"] == "5"


async def test_unknown_ids() -> None:
    unknown = "linux/20261121/1-1-00000000"
    async with GridManager(*QUICK) as client:
        code, words, number, text = await client.ask("BLAH_JOB_STATUS", unknown)
        assert (code, number, text) == ("1", "0", "N/A")
        assert unknown in words
        assert (await client.ask("BLAH_JOB_CANCEL", unknown)) == ["0", "No error"]
        for name, *more in (("HOLD",), ("RESUME",), ("REFRESH_PROXY", "/dev/null")):
            assert (await client.ask(f"BLAH_JOB_{name}", unknown, *more))[0] == "1"
        assert (await client.ask("BLAH_PING", "none"))[0] == "1"


async def test_another_daemon_without_the_record(home: Path) -> None:
    """docs/protocols/blah.md, 2.3: an id is not bound to a daemon, nor to the record."""
    async with GridManager(*QUICK) as client:
        running, over = [await client.submit(job(home, text)) for text in ("exec sleep 600", "exit 7")]
    shutil.rmtree(home / "osprofile")
    async with GridManager(*QUICK) as client:
        assert (await client.ended(over))["ExitCode"] == "7"
        assert (await client.status(running))[0] == 2
        assert await client.ask("BLAH_JOB_HOLD", running) == ["0", "No error"]
        assert (await client.status(running))[0] == 5
        assert await client.ask("BLAH_JOB_CANCEL", running) == ["0", "No error"]
        assert (await client.ended(running))["JobStatus"] == "3"


async def test_all_and_some(home: Path) -> None:
    async with GridManager(*QUICK) as client:
        assert await client.ask("BLAH_JOB_STATUS_ALL") == ["0", "No error", "[]"]
        one = await client.submit(job(home, "exit 1"))
        other = await client.submit(job(home, "exec sleep 600"))
        await client.ended(one)
        code, _, ads = await client.ask("BLAH_JOB_STATUS_ALL")
        assert (code, ads.count("JobStatus = ")) == ("0", 2)
        _, _, ads = await client.ask("BLAH_JOB_STATUS_SELECT", "ExitCode == 1")
        assert ads.count("JobStatus = 4") == ads.count("JobStatus = ") == 1
        found = await client.ask("BLAH_JOB_STATUS_SELECT", "ExitCode ==")
        assert (found[0], found[2]) == ("1", "N/A")
        for job_id in (one, other):
            assert (await client.ask("BLAH_JOB_CANCEL", job_id))[0] == "0"


async def test_a_held_job_told_as_idle(home: Path) -> None:
    (home / "idle.toml").write_text("held_as_idle = true\nmax_age = 0\n")
    async with GridManager("--config", "idle.toml") as client:
        job_id = await client.submit(job(home, "exec sleep 600"))
        assert await client.ask("BLAH_JOB_HOLD", job_id) == ["0", "No error"]
        assert (await client.status(job_id))[0] == 5  # it is not the batch system that holds it
        assert await client.ask("BLAH_JOB_RESUME", job_id) == ["0", "No error"]
        assert await client.ask("BLAH_JOB_CANCEL", job_id) == ["0", "No error"]


async def test_a_map_and_profiles_of_the_sites(home: Path) -> None:
    write_profile(
        home / "profiles",
        "site",
        '<idb:Template><idb:Field name="BANDWIDTH"><idb:Default></idb:Default></idb:Field>'
        '</idb:Template><idb:Template name="EXECUTABLE"><idb:Invocation name=""><idb:Body>'
        "<![CDATA[export BANDWIDTH='<BANDWIDTH/'/'\\\\''>'\nexec '<EXECUTABLE/'/'\\\\''>' <ARGUMENTS>\n]]>"
        "</idb:Body></idb:Invocation></idb:Template>",
    )
    async with GridManager(*QUICK, "--profiles", str(home / "profiles"), "--map", "pbs=site") as client:
        text = job(home, "echo $BANDWIDTH", Bandwidth="it's 10 $(id)")
        job_id = await client.submit(text.replace('gridtype = "linux"', 'gridtype = "pbs"'))
        assert job_id.startswith("pbs/")
        await client.ended(job_id)
        assert (home / "out").read_text() == "it's 10 $(id)\n"


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("<", "GridType: the profile site has errors"),
        (None, "GridType: there is no profile 'site'"),
        (BROKEN_ABORT, "GridType: the profile site has errors"),
    ],
)
async def test_jobs_of_a_profile_that_is_broken_later(home: Path, broken: str | None, words: str) -> None:
    """The daemon follows and cancels them, and takes new ones when the profile is corrected."""
    write_profile(home / "profiles", "site")
    path = home / "profiles/site/profile.xml"
    text = path.read_text()
    daemon = GridManager(*QUICK, "--profiles", str(home / "profiles"))
    ad = job(home, "exec sleep 600").replace('gridtype = "linux"', 'gridtype = "site"')
    async with daemon as client:
        job_id = await client.submit(ad)
        other = await client.submit(job(home, "exec sleep 600"))
    if broken is None:
        path.unlink()
    else:
        path.write_text(
            broken if broken == "<" else text.replace("</osp:Profile>", f"{broken}</osp:Profile>")
        )
    async with daemon as client:
        _, _, ads = await client.ask("BLAH_JOB_STATUS_ALL")
        assert ads.count("JobStatus = 2") == 2
        code, message, *_ = await client.ask("BLAH_JOB_SUBMIT", ad)
        assert (code, words in message) == ("1", True)
        assert (await client.status(job_id))[0] == 2
        path.write_text(text)
        later = await client.submit(ad)
        for known in (job_id, later, other):
            assert (await client.status(known))[0] == 2
            assert await client.ask("BLAH_JOB_CANCEL", known) == ["0", "No error"]


def test_a_dry_run(home: Path) -> None:
    done = talk(command("BLAH_JOB_SUBMIT", "3", job(home, "touch ran")), words=("--dry-run", *QUICK))
    assert b"payload.sh" in done.stderr
    assert not (home / ".gpe/jobs").exists()


# Files and proxies


async def test_files_are_brought_and_left(home: Path) -> None:
    """docs/protocols/blah.md, 4.4: the daemon stages TransferInput and TransferOutput, with the remaps."""
    for name in ("in put", "-n", "it's", "$(id)"):
        (home / name).write_text(name)
    (home / "tree" / "below").mkdir(parents=True)
    (home / "tree" / "below" / "leaf").write_text("leaf")
    text = (
        'cat "in put" ./-n "it\'s" "\\$(id)" tree/below/leaf below/leaf > "o u;t"; mkdir d; echo x > d/x; pwd'
    )
    async with GridManager(*QUICK) as client:
        job_id = await client.submit(
            job(
                home,
                text,
                TransferInput="in put,-n,it's,$(id),tree,tree/",
                TransferOutput="o u;t,d,missing",
                TransferOutputRemaps="o u\\;t=result",
            )
        )
        found = await client.ended(job_id)
        assert found.get("ExitCode") == "0", (home / "err").read_text()
    assert (home / "result").read_text() == "in put-nit's$(id)leafleaf"
    assert (home / "d" / "x").read_text() == "x\n"
    assert (home / "out").read_text().strip() != str(home)
    assert (home / "err").read_text() == "there is no output file missing\n"


async def test_proxies(home: Path) -> None:
    (home / "proxy").write_text("first")
    (home / "newer").write_text("second")
    text = (
        'cat "$X509_USER_PROXY"; until [ "$(cat "$X509_USER_PROXY")" = second ]; do sleep 0.05; done;'
        ' ls -l "$X509_USER_PROXY" | cut -c1-10'
    )
    async with GridManager(*QUICK) as client:
        job_id = await client.submit(job(home, text, x509UserProxy=str(home / "proxy")))
        await said(home, "first")
        wrong = await client.ask("BLAH_JOB_REFRESH_PROXY", job_id, str(home / "none"))
        assert wrong[0] == "1"
        assert "No such file or directory" in wrong[1]
        found = await client.ask("BLAH_JOB_REFRESH_PROXY", job_id, str(home / "newer"))
        assert found == ["0", "Proxy renewed"]
        assert (await client.ended(job_id))["ExitCode"] == "0"
        assert (home / "out").read_text() == "first-rw-------\n"
        code, words, _ = await client.ask("BLAH_JOB_SUBMIT", job(home, "true", x509UserProxy="/none/proxy"))
        assert code == "1"
        assert "No such file or directory" in words


async def test_the_proxy_cache(home: Path) -> None:
    (home / "cache.toml").write_text("proxy_cache = true\nproxy_required = true\nmax_age = 0\n")
    (home / "proxy").write_text("cached")
    async with GridManager("--config", "cache.toml") as client:
        text = job(home, 'cat "$X509_USER_PROXY"')
        code, words, _ = await client.ask("BLAH_JOB_SUBMIT", text)
        assert (code, "x509UserProxy is missing" in words) == ("1", True)
        await client.say("CACHE_PROXY_FROM_FILE", "1", str(home / "proxy"))
        await client.say("USE_CACHED_PROXY", "1")
        await client.ended(await client.submit(text))
        assert (home / "out").read_text() == "cached"
        await client.say("UNCACHE_PROXY", "1")
        assert (await client.ask("BLAH_JOB_SUBMIT", text))[0] == "1"


def test_a_submission_has_the_proxy_that_was_selected_when_it_was_accepted(home: Path) -> None:
    """The daemon reads all of these commands before it begins with the first submission."""
    (home / "cache.toml").write_text("proxy_cache = true\nproxy_required = true\nmax_age = 0\n")
    sent = b""
    for name in ("1", "2"):
        (home / f"proxy{name}").write_text(name)
        sent += command("CACHE_PROXY_FROM_FILE", name, str(home / f"proxy{name}"))
    for number, name in enumerate(["1", "2", "1", "", "2"], 1):
        select = ("USE_CACHED_PROXY", name) if name else ("UNCACHE_PROXY", "1")
        text = job(home, f'cat "$X509_USER_PROXY" > proxy.{number}')
        sent += command(*select) + command("BLAH_JOB_SUBMIT", str(number), text)
    sent += command("UNCACHE_PROXY", "2")
    with Living("--config", "cache.toml") as daemon:
        assert set(daemon.answers(sent)) == {b"S\r\n", b"S No\\ error\r\n"}
        results = {int(reqid): rest for reqid, *rest in daemon.results(5)}
        assert [results[number][0] for number in range(1, 6)] == ["0", "0", "0", "1", "0"]
        assert "x509UserProxy is missing" in results[4][1]
        for number, expected in ((1, "1"), (2, "2"), (3, "1"), (5, "2")):
            file = home / f"proxy.{number}"
            wait_until(lambda file=file: file.exists() and file.read_text())  # type: ignore[misc]
            assert file.read_text() == expected, number


async def test_a_job_without_a_proxy_gets_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the daemon's own, which has no effect on jobs, and none by a renewal."""
    monkeypatch.setenv("X509_USER_PROXY", str(home / "proxy"))
    (home / "proxy").write_text("secret")
    text = "echo ${X509_USER_PROXY-none}; until [ -e over ]; do sleep 0.05; done"
    async with GridManager(*QUICK) as client:
        job_id = await client.submit(job(home, text))
        await wait_until_async(lambda: (home / "out").exists() and (home / "out").read_text())
        for name, *more in (("REFRESH_PROXY",), ("SEND_PROXY_TO_WORKER_NODE", "localhost")):
            found = await client.ask(f"BLAH_JOB_{name}", job_id, str(home / "proxy"), *more)
            assert found == ["1", f"Job {job_id} was submitted without a proxy"]
        assert list(home.rglob(".gpe/proxy")) == []  # noqa: ASYNC240
        (home / "over").touch()
        assert (await client.ended(job_id))["ExitCode"] == "0"
        assert (home / "out").read_text() == "none\n"


def test_a_proxy_that_is_not_cached(home: Path) -> None:
    (home / "cache.toml").write_text("proxy_cache = true")
    sent = command("USE_CACHED_PROXY", "1") + command("CACHE_PROXY_FROM_FILE", "1", "/none/proxy")
    _, *replies = talk(sent, words=("--config", "cache.toml")).stdout.splitlines()
    assert [reply[:2] for reply in replies] == [b"F ", b"F "]


# A daemon that dies


@pytest.mark.race
async def test_killed_while_it_submits(home: Path) -> None:
    """Whatever was under way is known to the next daemon, and is submitted once."""
    texts = [job(home, f"echo x >> {home}/marks.{n}", JobDirectory=f"home_bl_{n}") for n in range(30)]
    client = GridManager(*QUICK)
    await client.start()
    going = [asyncio.ensure_future(client.submit(text)) for text in texts]
    done, _ = await asyncio.wait(going, return_when=asyncio.FIRST_COMPLETED)
    known = {going.index(task): task.result() for task in done}
    await client.kill()
    await asyncio.gather(*going, return_exceptions=True)
    async with GridManager(*QUICK) as again:
        ids = [await again.submit(text) for text in texts]
        assert {n: ids[n] for n in known} == known
        assert len(set(ids)) == len(ids)
        for job_id in ids:
            assert (await again.ended(job_id))["ExitCode"] == "0"
    assert [(home / f"marks.{n}").read_text() for n in range(30)] == ["x\n"] * 30
