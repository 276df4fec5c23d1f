"""The daemon itself, over real pipes, running real jobs of the profile `linux`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.executors.blah.client import command, fields
from tests.executors.blah.gridmanager import DAEMON, GridManager, ad

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

BANNER = rb"$GahpVersion: 1.8.0 Mar 31 2008 osprofile\ blahpd\ (poly,new_esc_format) $" + b"\r\n"
QUICK = ("--config", "quick.toml")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the daemon's directory, a home and a record of its own."""
    for name in ("HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick.toml").write_text("fastest = 0.1\nslowest = 0.3\nmax_age = 0.1\ngrace = 1\n")
    return tmp_path


def job(home: Path, text: str, **attributes: Any) -> str:  # noqa: ANN401
    """Give the ad of a job that runs a shell script's text."""
    payload = home / "payload.sh"
    if not payload.exists():  # a job may be reading it
        payload.write_text('#!/bin/sh\neval "$1"\n')
        payload.chmod(0o755)
    quoted = text.replace("'", "''")
    return ad(
        Cmd=str(home / "payload.sh"),
        Iwd=str(home),
        gridtype="linux",
        Arguments=f"'{quoted}'",
        Out="out",
        Err="err",
        In="/dev/null",
        **attributes,
    )


async def said(home: Path, words: str) -> None:
    """Wait until a job has printed something."""
    while not (home / "out").exists() or (home / "out").read_text() != words:  # noqa: ASYNC110
        await asyncio.sleep(0.05)


def run(work: Callable[[GridManager], Coroutine[Any, Any, None]], *words: str) -> None:
    """Run a conversation with a daemon."""

    async def main() -> None:
        async with GridManager(*(words or QUICK)) as client:
            await work(client)
            assert client.fault is None

    asyncio.run(asyncio.wait_for(main(), 120))


def talk(*data: bytes, words: tuple[str, ...] = ()) -> subprocess.CompletedProcess[bytes]:
    """Send data to a daemon, then the end of its standard input; give all that it said."""
    return subprocess.run(
        [*DAEMON, *words], input=b"".join(data), capture_output=True, check=False, timeout=60
    )


# What needs no batch system, byte for byte


def test_a_short_session() -> None:
    """docs/protocols/blah.md, 2."""
    done = talk(b"VERSION\r\nnosuch\r\nVERSION extra\r\nResults\nASYNC_MODE_ON\nQUIT\nVERSION\n")
    assert done.returncode == 0
    assert done.stdout == (
        BANNER
        + b"S "
        + BANNER
        + b"E Unknown\\ command\r\nE expected\\ 0\\ parameters,\\ 1\\ found\r\n"
        + b"S 0\r\nS Async\\ mode\\ on\r\nS Server\\ exiting\r\n"
    )


def test_the_end_of_stdin_is_the_end() -> None:
    done = talk()
    assert (done.returncode, done.stdout) == (0, BANNER)


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "QUIT"])
def test_a_signal_is_the_end(name: str) -> None:
    with subprocess.Popen(DAEMON, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == BANNER
        subprocess.run(["sh", "-c", f"kill -s {name} {process.pid}"], check=True)
        assert process.wait(60) == 0


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2])
def test_a_signal_without_a_meaning(home: Path, number: signal.Signals) -> None:
    """It ended the daemon. A job starts with it as usual all the same: it ends the job."""

    async def work(client: GridManager) -> None:
        job_id = await client.submit(job(home, f"kill -s {number.name[3:]} $$"))
        client.process.send_signal(number)
        assert (await client.ended(job_id))["ExitSignal"] == str(number.value)
        client.process.send_signal(number)
        assert await client.ask("BLAH_PING", "linux") == ["0", "No error"]

    run(work)


def test_htcondors_restart_leaves_a_job_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It kills the processes that have a variable of its own in their environment."""
    name = "_CONDOR_ANCESTOR_4711"
    monkeypatch.setenv(name, "4712:1795000000:12345678")
    ids = list[str]()

    async def submit(client: GridManager) -> None:
        text = f"echo ${{{name}-none}}; until [ -e over ]; do sleep 0.05; done; exit 3"
        ids.append(await client.submit(job(home, text)))
        while not (home / "out").exists() or not (home / "out").read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        assert (home / "out").read_text() == "none\n"

    async def ask(client: GridManager) -> None:
        assert (await client.status(ids[0]))[0] == 2
        (home / "over").touch()
        assert (await client.ended(ids[0]))["ExitCode"] == "3"

    run(submit)
    for path in (p / "environ" for p in Path("/proc").glob("[0-9]*")):
        with contextlib.suppress(OSError):
            if f"{name}=".encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                os.kill(int(path.parent.name), signal.SIGKILL)
    run(ask)


def test_a_client_that_has_gone_is_the_end() -> None:
    reading, writing = os.pipe()
    with subprocess.Popen(DAEMON, stdin=subprocess.PIPE, stdout=writing) as process:
        os.close(writing)
        assert os.read(reading, 1000) == BANNER
        os.close(reading)
        assert process.stdin is not None
        process.stdin.write(b"VERSION\r\n")
        process.stdin.flush()
        assert process.wait(60) == 0


def test_ten_thousand_commands_and_a_line_of_ten_megabytes() -> None:
    done = talk(b"VERSION\r\n" * 10_000, b"x" * 10_000_000, b"\n", b"NOSUCH " * 1000, b"\r\nQUIT\n")
    lines = done.stdout.split(b"\r\n")
    assert lines.count(b"S " + BANNER[:-2]) == 10_000
    assert lines[-4:] == [b"E Unknown\\ command", b"E Unknown\\ command", b"S Server\\ exiting", b""]
    assert done.returncode == 0


SITE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
  xmlns:idb="http://gpe.intel.com/idb" xmlns:ext="urn:osprofile:extension" name="{name}" extends="linux">
  <osp:UspaceRoot>/tmp</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
  {template}
</osp:Profile>
"""
STRICT = """<idb:Template><idb:Field name="ARGUMENTS" ext:pattern="(?s)(?!.*die).*">
  <idb:Default></idb:Default></idb:Field></idb:Template>"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
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
        (
            b'[ Cmd = "/bin/true"; GridType = "linux"; Args = "' + b"x" * 140_000 + b'" ]',
            "attribute Args: field ARGUMENTS: argument 1 is too long for a program: 140000 bytes",
        ),
        (
            b'[ Cmd = "/bin/true"; GridType = "strict"; Args = "x" ]',
            "attribute Args: the program's arguments and the names of its files are refused",
        ),
        (
            b'[ Cmd = "/bin/true"; GridType = "linux"; BatchExtraSubmitArgs = "--qos=x" ]',
            "BatchExtraSubmitArgs: the option --qos is not accepted here (this site accepts none)",
        ),
        (
            b'[ Cmd = "/bin/true"; GridType = "linux"; JobDirectory = "\xff" ]',
            "attribute JobDirectory: '\\xff' is not valid UTF-8",
        ),
    ],
)
def test_what_is_no_job(home: Path, text: bytes, words: str) -> None:
    """HTCondor shows the text to the job's owner: it has no file of the site's, and no script of ours."""
    for name, template in {"broken": "<x/>", "strict": STRICT}.items():
        (home / name).mkdir()
        (home / name / "profile.xml").write_text(SITE.format(name=name, template=template))
    escaped = b"".join(b"\\" + bytes([c]) if c in b" \\\r\n" else bytes([c]) for c in text)
    sent = b"BLAH_JOB_SUBMIT 7 " + (escaped or b"\\ ") + b"\nASYNC_MODE_ON\n"
    with subprocess.Popen(
        [*DAEMON, "--profiles", str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(sent)
        process.stdin.flush()
        said = [process.stdout.readline() for _ in range(3)]
        assert said == [BANNER, b"S\r\n", b"S Async\\ mode\\ on\r\n"]
        for _ in range(600):
            process.stdin.write(b"RESULTS\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if line == b"R\r\n":
                line = process.stdout.readline()
            if line != b"S 0\r\n":
                break
            time.sleep(0.05)
        assert line == b"S 1\r\n"
        reqid, code, message, job_id = fields(process.stdout.readline().removesuffix(b"\r\n"))
    assert (reqid, code, job_id) == ("7", "1", "N/A")
    assert words in message
    assert ".xml" not in message
    assert str(home) not in message
    assert "die()" not in message
    assert not (home / ".gpe").exists()


@pytest.mark.parametrize(
    "text", [r'GridType\ =\ "linux"', r'Cmd\ =\ "a";\ GridType\ =\ "linux";\ Queue\ =\ "a;id"']
)
def test_the_log_says_why_an_ad_was_refused(home: Path, text: str) -> None:
    done = talk(f"BLAH_JOB_SUBMIT 7 [\\ {text}\\ ]\n".encode())
    (line,) = [line for line in done.stderr.decode().splitlines() if "attribute" in line]
    assert "INFO BLAH_JOB_SUBMIT 7: " in line
    assert not (home / ".gpe").exists()


def test_the_log_file_is_its_owners_alone(home: Path) -> None:
    log = home / "log"
    ad = rb'[\ GridType\ =\ "linux"\ ]'
    talk(b"BLAH_JOB_SUBMIT 7 " + ad + b"\n", words=("--log", str(log)))
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
    done = talk(rb'BLAH_JOB_SUBMIT 7 [\ GridType\ =\ "linux"\ ]' + b"\n", words=words)
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
    ],
)
def test_wrong_options(words: tuple[str, ...], message: str) -> None:
    done = talk(words=words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"osprofile-blahpd: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("windows = 1", "there is no setting 'windows'"),
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
        ("x = '\\xff'", "there is no setting 'x'"),
    ],
)
def test_wrong_settings(home: Path, text: str, message: str) -> None:
    (home / "wrong.toml").write_text(text)
    done = talk(words=("--config", "wrong.toml"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"osprofile-blahpd: wrong.toml: {message}")


# Jobs


ENDS = [
    ("exit 0", {"JobStatus": "4", "ExitCode": "0"}),
    ("exit 3", {"JobStatus": "4", "ExitCode": "3"}),
    ("no-such-command", {"JobStatus": "4", "ExitCode": "127"}),
    ("kill -s KILL $$", {"JobStatus": "4", "ExitBySignal": "true", "ExitSignal": "9"}),
    ("kill -s TERM $$", {"JobStatus": "4", "ExitBySignal": "true", "ExitSignal": "15"}),
]


def test_ends(home: Path) -> None:
    async def work(client: GridManager) -> None:
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

    run(work)


def test_the_whole_life_of_a_job(home: Path) -> None:
    async def work(client: GridManager) -> None:
        job_id = await client.submit(job(home, "echo ready; exec sleep 600"))
        await said(home, "ready\n")
        assert (await client.status(job_id))[0] == 2
        assert await client.ask("BLAH_JOB_RESUME", job_id) == ["1", f"Job Running jobId {job_id}"]
        assert await client.ask("BLAH_JOB_HOLD", job_id) == ["0", "No error"]
        number, found = await client.status(job_id)
        assert (number, "HoldReason" in found) == (
            2,
            False,
        )  # it is suspended: HTCondor would cancel a held job
        assert await client.ask("BLAH_JOB_HOLD", job_id) == ["0", f"Job Held jobId {job_id}"]
        assert await client.ask("BLAH_JOB_SIGNAL", job_id, "10") == [
            "1", f"Job Held jobId {job_id}", "0",
        ]  # fmt: skip
        assert await client.ask("BLAH_JOB_RESUME", job_id) == ["0", "No error"]
        assert (await client.status(job_id))[0] == 2
        assert await client.ask("BLAH_JOB_CANCEL", job_id) == ["0", "No error"]
        assert (await client.ended(job_id))["JobStatus"] == "3"
        assert await client.ask("BLAH_JOB_CANCEL", job_id) == ["0", "No error"]
        for name in ("HOLD", "RESUME"):
            assert await client.ask(f"BLAH_JOB_{name}", job_id) == [
                "1", f"Job Removed jobId {job_id}",
            ]  # fmt: skip
        assert await client.ask("BLAH_JOB_REFRESH_PROXY", job_id, "/dev/null") == [
            "1", f"Job Removed jobId {job_id}",
        ]  # fmt: skip

    run(work)


def test_a_signal_for_a_job(home: Path) -> None:
    async def work(client: GridManager) -> None:
        text = "trap 'exit 5' USR1; echo ready; while :; do sleep 0.05; done"
        job_id = await client.submit(job(home, text))
        await said(home, "ready\n")
        assert (await client.status(job_id))[0] == 2
        assert await client.ask("BLAH_JOB_SIGNAL", job_id, "10") == ["0", "No error", "2"]
        assert (await client.ended(job_id))["ExitCode"] == "5"

    run(work)


def test_unknown_and_malformed_ids() -> None:
    unknown = "linux/20261121/1-1-00000000"

    async def work(client: GridManager) -> None:
        code, words, number, text = await client.ask("BLAH_JOB_STATUS", unknown)
        assert (code, number, text) == ("1", "0", "N/A")
        assert unknown in words
        assert (await client.ask("BLAH_JOB_CANCEL", unknown)) == ["0", "No error"]
        for name in ("HOLD", "RESUME", "REFRESH_PROXY"):
            more = ("/dev/null",) if name == "REFRESH_PROXY" else ()
            assert (await client.ask(f"BLAH_JOB_{name}", unknown, *more))[0] == "1"
        for wrong in ("x", "linux/1/2", "../../x/20261121/1", "linux/20261121/$(id)", "a/b/c/d"):
            found = await client.ask("BLAH_JOB_STATUS", wrong)
            assert (found[0], found[2:]) == ("255", ["0", "N/A"])
            assert (await client.ask("BLAH_JOB_CANCEL", wrong))[0] == "255"
        assert (await client.ask("BLAH_PING", "none"))[0] == "1"
        assert (await client.ask("BLAH_PING", "../linux"))[0] == "1"

    run(work)


def test_another_daemon_without_the_record(home: Path) -> None:
    """docs/protocols/blah.md, 2.3: an id is not bound to a daemon, nor to the record."""
    ids = dict[str, str]()

    async def first(client: GridManager) -> None:
        for name, text in (("runs", "exec sleep 600"), ("over", "exit 7")):
            ids[name] = await client.submit(job(home, text))

    async def second(client: GridManager) -> None:
        assert (await client.ended(ids["over"]))["ExitCode"] == "7"
        assert (await client.status(ids["runs"]))[0] == 2
        assert await client.ask("BLAH_JOB_HOLD", ids["runs"]) == ["0", "No error"]
        assert (await client.status(ids["runs"]))[0] == 2  # suspended
        assert await client.ask("BLAH_JOB_CANCEL", ids["runs"]) == ["0", "No error"]
        assert (await client.ended(ids["runs"]))["JobStatus"] == "3"

    run(first)
    for path in (home / "osprofile").iterdir():
        path.unlink()
    run(second)


def test_all_and_some(home: Path) -> None:
    async def work(client: GridManager) -> None:
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
        number, text = 0, ""
        for number, text in enumerate(ads.strip("[]").split(";")):  # noqa: B007
            pass
        assert number
        for job_id in (one, other):
            assert (await client.ask("BLAH_JOB_CANCEL", job_id))[0] == "0"

    run(work)


def test_a_held_job_told_as_idle(home: Path) -> None:
    (home / "idle.toml").write_text("held_as_idle = true\nmax_age = 0\n")

    async def work(client: GridManager) -> None:
        job_id = await client.submit(job(home, "exec sleep 600"))
        assert await client.ask("BLAH_JOB_HOLD", job_id) == ["0", "No error"]
        number, found = await client.status(job_id)
        assert (number, "HoldReason" in found) == (2, False)  # it has begun
        assert await client.ask("BLAH_JOB_RESUME", job_id) == ["0", "No error"]
        assert await client.ask("BLAH_JOB_CANCEL", job_id) == ["0", "No error"]

    run(work, "--config", "idle.toml")


def test_a_job_submitted_again_after_its_removal(home: Path) -> None:
    """docs/protocols/blah.md, 6.1: condor_hold is CANCEL, and a release is a new SUBMIT."""

    async def work(client: GridManager) -> None:
        text = job(home, "exec sleep 600", JobDirectory="home_bl_x")
        first = await client.submit(text)
        assert await client.submit(text) == first
        assert await client.ask("BLAH_JOB_CANCEL", first) == ["0", "No error"]
        second = await client.submit(text)
        assert second != first
        assert await client.submit(text) == second
        assert await client.ask("BLAH_JOB_CANCEL", second) == ["0", "No error"]

    run(work)


def test_a_map_and_profiles_of_the_sites(home: Path) -> None:
    (home / "site.xml").write_text(
        '<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"'
        ' xmlns:idb="http://gpe.intel.com/idb" name="site" extends="linux">'
        "<osp:UspaceRoot>/tmp</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>"
        '<idb:Template><idb:Field name="BANDWIDTH"><idb:Default></idb:Default></idb:Field>'
        '</idb:Template><idb:Template name="EXECUTABLE"><idb:Invocation name=""><idb:Body>'
        "<![CDATA[export BANDWIDTH='<BANDWIDTH/'/'\\\\''>'\nexec '<EXECUTABLE/'/'\\\\''>' <ARGUMENTS>\n]]>"
        "</idb:Body></idb:Invocation></idb:Template></osp:Profile>"
    )
    (home / "profiles" / "site").mkdir(parents=True)
    (home / "site.xml").rename(home / "profiles" / "site" / "profile.xml")

    async def work(client: GridManager) -> None:
        text = job(home, "echo $BANDWIDTH", Bandwidth="it's 10 $(id)")
        job_id = await client.submit(text.replace('gridtype = "linux"', 'gridtype = "pbs"'))
        assert job_id.startswith("pbs/")
        await client.ended(job_id)
        assert (home / "out").read_text() == "it's 10 $(id)\n"

    run(work, *QUICK, "--profiles", str(home / "profiles"), "--map", "pbs=site")


def test_a_dry_run(home: Path) -> None:
    sent = command("BLAH_JOB_SUBMIT", "3", job(home, "touch ran"))
    with subprocess.Popen(
        [*DAEMON, "--dry-run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"ASYNC_MODE_ON\n" + sent)
        process.stdin.flush()
        said = [process.stdout.readline() for _ in range(4)]
        assert said[-1] == b"R\r\n"
        process.stdin.write(b"RESULTS\n")
        process.stdin.close()
        lines = process.stdout.read().split(b"\r\n")
        script = process.stderr.read().decode()
    assert fields(lines[1])[:2] == ["3", "1"]
    assert "payload.sh" in script
    assert not (home / ".gpe").exists()


# Files and proxies


def test_files_are_brought_and_left(home: Path) -> None:
    """docs/protocols/blah.md, 4.4: the daemon stages TransferInput and TransferOutput, with the remaps."""
    for name in ("in put", "-n", "it's", "$(id)"):
        (home / name).write_text(name)
    (home / "tree" / "below").mkdir(parents=True)
    (home / "tree" / "below" / "leaf").write_text("leaf")
    text = (
        'cat "in put" ./-n "it\'s" "\\$(id)" tree/below/leaf below/leaf > "o u;t"; mkdir d; echo x > d/x; pwd'
    )

    async def work(client: GridManager) -> None:
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

    run(work)
    assert (home / "result").read_text() == "in put-nit's$(id)leafleaf"
    assert (home / "d" / "x").read_text() == "x\n"
    assert (home / "out").read_text().strip() != str(home)
    assert (home / "err").read_text() == "there is no output file missing\n"


def test_a_file_that_cannot_be_brought(home: Path) -> None:
    async def work(client: GridManager) -> None:
        job_id = await client.submit(job(home, "touch ran", TransferInput="none"))
        assert (await client.ended(job_id))["ExitBySignal"] == "true"

    run(work)
    assert "the job cannot go on: " in (home / "err").read_text()
    assert not list(home.rglob("ran"))


def test_proxies(home: Path) -> None:
    (home / "proxy").write_text("first")
    (home / "newer").write_text("second")
    text = (
        'cat "$X509_USER_PROXY"; until [ "$(cat "$X509_USER_PROXY")" = second ]; do sleep 0.05; done;'
        ' ls -l "$X509_USER_PROXY" | cut -c1-10'
    )

    async def work(client: GridManager) -> None:
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

    run(work)


def test_the_proxy_cache(home: Path) -> None:
    (home / "cache.toml").write_text("proxy_cache = true\nproxy_required = true\nmax_age = 0\n")
    (home / "proxy").write_text("cached")

    async def work(client: GridManager) -> None:
        text = job(home, 'cat "$X509_USER_PROXY"')
        code, words, _ = await client.ask("BLAH_JOB_SUBMIT", text)
        assert (code, "x509UserProxy is missing" in words) == ("1", True)
        await client.say("CACHE_PROXY_FROM_FILE", "1", str(home / "proxy"))
        await client.say("USE_CACHED_PROXY", "1")
        await client.ended(await client.submit(text))
        assert (home / "out").read_text() == "cached"
        await client.say("UNCACHE_PROXY", "1")
        assert (await client.ask("BLAH_JOB_SUBMIT", text))[0] == "1"

    run(work, "--config", "cache.toml")


# A daemon that dies


def test_killed_while_it_submits(home: Path) -> None:
    """Whatever was under way is known to the next daemon, and is submitted once."""
    texts = [job(home, f"echo x >> {home}/marks.{n}", JobDirectory=f"home_bl_{n}") for n in range(30)]

    async def main() -> None:
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

    asyncio.run(asyncio.wait_for(main(), 120))
    assert [(home / f"marks.{n}").read_text() for n in range(30)] == ["x\n"] * 30
