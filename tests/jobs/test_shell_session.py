"""Shells that stay open, in real shells: here without ssh (tests/lab/test_ssh.py has it)."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from osprofile.errors import OutputError, ScriptError, ScriptTimeoutError
from osprofile.jobs.shell import process
from osprofile.jobs.shell import session as shell_session
from osprofile.jobs.shell.process import ProcessResult
from osprofile.jobs.shell.scripts import wrap_script
from osprofile.jobs.shell.session import ShellSession, ShellSessionPool, build_request, find_shell
from tests.hunting import rounds
from tests.waiting import cancel_after_turns, wait_until, wait_until_async

SHELLS = [shell for shell in ("dash", "bash", "busybox", "ksh93", "mksh", "yash") if shutil.which(shell)]


def words_of(shell: str) -> list[str]:
    return [shell, "sh", "-s"] if shell == "busybox" else [shell, "-s"]


async def run_one(pool: ShellSessionPool, script: str, limit: float | None = 60) -> ProcessResult:
    return await pool.run(wrap_script(script), limit)


def pid_of(path: Path) -> int:
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


@pytest.mark.parametrize(
    ("command", "shell"),
    [
        ("ssh -T -o BatchMode=yes -- host sh -s", "sh"),
        ("ssh host PATH=/x:/bin bash --login -s", "bash"),
        ("docker exec -i box /bin/ash -s", "/bin/ash"),
        ("ssh -T -- host", None),
        ("ssh -- host -s", None),
        ("ssh host sh -c", None),
        ("ssh host python3 -s", None),
        ("ssh host $SHELL -s", None),
        ("ssh host a;sh -s", None),
    ],
)
def test_the_shell_of_a_command(command: str, shell: str | None) -> None:
    assert find_shell(command.split()) == shell


@pytest.mark.parametrize("shell", SHELLS)
async def test_scripts_one_after_another_in_one_shell(shell: str, tmp_path: Path) -> None:
    """Each with its own exit status and output, whatever it prints and however it ends."""
    begun = tmp_path / "begun"
    command = ["sh", "-c", f'echo x >> "{begun}"; exec "$@"', "sh", *words_of(shell)]
    pool = ShellSessionPool(lambda: command)
    for script, code, out, err in [
        ("echo a; echo b >&2; exit 3", 3, b"a\n", b"b\n"),
        ("", 0, b"", b""),
        ("printf x; printf '\\n\\n' >&2", 0, b"x", b"\n\n"),
        ("cat; read -r line || echo none", 0, b"none\n", b""),
        ("x=1; cd /; exec > /dev/null 2>&1; kill -s KILL $$", 137, b"", b""),
        ("echo ${x-unset}; trap 'echo bye' EXIT; exit 255", 255, b"unset\nbye\n", b""),
        ("printf 'a\\000b\\377\\r\\n'", 0, b"a\0b\xff\r\n", b""),
        ("x='" + "y" * 300_000 + "'; echo ${#x}", 0, b"300000\n", b""),
        (
            "echo 'osprofile-0123456789abcdef0123456789abcdef 0'; exit 9",
            9,
            b"osprofile-0123456789abcdef0123456789abcdef 0\n",
            b"",
        ),
    ]:
        result = await run_one(pool, script)
        # 256 or 384 and the signal, in ksh93 and yash
        assert result.exit_code in ({137, 265, 393} if code == 137 else {code})
        assert result.stdout == out
        assert result.stderr == err or (code == 137 and b"Killed" in result.stderr)
    result = await run_one(pool, f"touch {tmp_path}/one\nif")  # a syntax error
    assert (result.exit_code > 0, (tmp_path / "one").exists()) == (True, False)
    assert (await run_one(pool, "echo good")).stdout == b"good\n"
    await pool.close()
    assert begun.read_text() == "x\n"


async def test_much_output_on_both_streams() -> None:
    pool = ShellSessionPool(lambda: ["sh", "-s"])
    script = "head -c 5000000 /dev/zero; head -c 3000000 /dev/zero >&2; head -c 2000000 /dev/zero"
    for _ in range(3):
        result = await run_one(pool, script)
        assert (len(result.stdout), len(result.stderr)) == (7_000_000, 3_000_000)
        assert not result.stdout.strip(b"\0")
    await pool.close()


async def test_side_by_side() -> None:
    """As many shells as scripts at once, and no more; each keeps its output to itself."""
    opened = 0

    def build_command() -> list[str]:
        nonlocal opened
        opened += 1
        return ["sh", "-s"]

    pool = ShellSessionPool(build_command)
    for _ in range(5):
        scripts = [f"echo {n}; sleep 0.1; echo {n} >&2; exit {n}" for n in range(8)]
        results = await asyncio.gather(*(run_one(pool, script) for script in scripts))
        assert results == [ProcessResult(n, f"{n}\n".encode(), f"{n}\n".encode()) for n in range(8)]
    assert pool.count_open() == 8
    await pool.close()
    assert pool.count_open() == 0
    assert 1 < opened <= 8


@pytest.mark.parametrize("shell", SHELLS)
def test_nothing_runs_of_a_request_that_did_not_arrive_whole(shell: str, tmp_path: Path) -> None:
    script = wrap_script(f"touch {tmp_path}/one\ntouch {tmp_path}/two\n")
    request = build_request("sh" if shell == "busybox" else shell, script, "osprofile-x", 60)
    last = request.index(b" </dev/null")
    for length in range(0, last, rounds(1, 7)):
        subprocess.run(words_of(shell), input=request[:length], capture_output=True, check=False)
        assert os.listdir(tmp_path) == [], length
    done = subprocess.run(words_of(shell), input=request, capture_output=True, check=True)
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]
    assert done.stdout == b"osprofile-x\n\nosprofile-x 0\nosprofile-x free\n"


async def test_a_script_over_its_time_limit_is_ended(tmp_path: Path) -> None:
    """On its own machine, too; the scripts beside it go on."""
    pool = ShellSessionPool(lambda: ["sh", "-s"])
    beside = asyncio.ensure_future(run_one(pool, "sleep 1; echo good"))
    with pytest.raises(ScriptTimeoutError, match=r"within 2 s and was ended") as caught:
        await run_one(pool, f"echo why >&2; echo out; echo $$ > {tmp_path}/pid; sleep 600", 2)
    assert (caught.value.stdout, caught.value.stderr) == (b"out\n", b"why\n")
    assert (await run_one(pool, "echo next")).stdout == b"next\n"
    assert (await beside).stdout == b"good\n"
    await pool.close()
    process_directory = Path(f"/proc/{pid_of(tmp_path / 'pid')}")
    await wait_until_async(lambda: not process_directory.exists())


async def test_a_script_that_is_cancelled(tmp_path: Path) -> None:
    pool = ShellSessionPool(lambda: ["sh", "-s"])
    task = asyncio.ensure_future(run_one(pool, f"echo $$ > {tmp_path}/pid; exec sleep 600", 5))
    await wait_until_async((tmp_path / "pid").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await run_one(pool, "echo next")).stdout == b"next\n"
    await pool.close()
    os.kill(pid_of(tmp_path / "pid"), signal.SIGKILL)


@pytest.mark.parametrize("stream", ["", " >&2"])
async def test_output_is_bounded(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_OUTPUT_SIZE", 100_000)
    pool = ShellSessionPool(lambda: ["sh", "-s"])
    with pytest.raises(OutputError, match="printed more than"):
        await run_one(pool, f"yes{stream}", 10)
    assert (await run_one(pool, "echo next")).stdout == b"next\n"
    await pool.close()


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("echo no such host >&2; exit 255", ProcessResult(255, b"", b"no such host\n")),
        ("echo sh: not found >&2; exit 127", ProcessResult(127, b"", b"sh: not found\n")),
        ("exit 0", ProcessResult(255)),
        ("kill -s TERM $$", ProcessResult(143, b"", b"", 15)),
    ],
)
async def test_a_shell_that_cannot_be_reached(program: str, expected: ProcessResult) -> None:
    pool = ShellSessionPool(lambda: ["sh", "-c", program, "sh", "-s"])
    for _ in range(2):
        assert await run_one(pool, "echo no") == expected
    await pool.close()


async def test_a_program_that_is_not_there() -> None:
    with pytest.raises(ScriptError, match="cannot start 'no-such-ssh'"):
        await run_one(ShellSessionPool(lambda: ["no-such-ssh", "sh", "-s"]), "true")


@pytest.mark.parametrize("in_session", [False, True])
async def test_a_script_that_ends_while_this_process_is_stopped(tmp_path: Path, in_session: bool) -> None:
    """It has ended in time, though its end is seen late."""
    limit, go, ended = 2.0, tmp_path / "go", tmp_path / "ended"
    script = wrap_script(
        f"cd {tmp_path}; touch begun; until [ -e go ]; do sleep 0.02; done; echo out; touch ended"
    )
    pool = ShellSessionPool(lambda: ["sh", "-s"])
    running = asyncio.ensure_future(
        pool.run(script, limit) if in_session else process.run_process(["sh", "-s"], script, limit)
    )
    await wait_until_async((tmp_path / "begun").exists)
    go.touch()
    wait_until(ended.exists)  # the loop stands still, as in a process that is stopped
    time.sleep(limit)  # noqa: ASYNC251
    assert await running == ProcessResult(0, b"out\n")
    await pool.close()


@pytest.mark.parametrize("victim", ["$PPID", "$(cut -d' ' -f4 /proc/$PPID/stat)"], ids=["timeout", "shell"])
async def test_a_shell_that_is_killed_during_a_script(victim: str) -> None:
    """It is as a connection that fails; the next script has a new shell."""
    pool = ShellSessionPool(lambda: ["sh", "-s"])
    assert (await run_one(pool, "echo first")).stdout == b"first\n"
    cut = await run_one(pool, f"echo out; kill -s KILL {victim}; sleep 0.5")
    assert cut.exit_code in {137, 255}
    assert cut.stdout == b"out\n"
    assert (await run_one(pool, "echo next")).stdout == b"next\n"
    await pool.close()


async def test_an_idle_connection_ends_as_the_next_script_comes(tmp_path: Path) -> None:
    """What it said before, while nothing ran, is why."""
    connection = f"""cd {tmp_path}
        {{
          until [ -e down ]; do sleep 0.02; done
          kill -s STOP $$
          echo "No route to host" >&2
          touch said
          until [ -e go ]; do sleep 0.02; done
          kill -s KILL $$
        }} &
        exec sh -s"""
    pool = ShellSessionPool(lambda: ["sh", "-c", connection])
    assert (await run_one(pool, "echo a")).stdout == b"a\n"
    (tmp_path / "down").touch()
    await wait_until_async((tmp_path / "said").exists)
    await asyncio.sleep(0.1)  # it is read
    following = asyncio.create_task(run_one(pool, "touch ran"))
    await asyncio.sleep(0)
    (tmp_path / "go").touch()
    assert await following == ProcessResult(255, b"", b"No route to host\n")
    assert not (tmp_path / "ran").exists()
    await pool.close()


async def test_an_idle_shell_is_closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shell_session, "IDLE_TIME", 0.3)
    log = tmp_path / "log"
    command = ["sh", "-c", f'echo begin >> {log}; "$@"; echo end >> {log}', "sh", "sh", "-s"]
    pool = ShellSessionPool(lambda: command)
    for _ in range(2):
        await asyncio.gather(run_one(pool, "true"), run_one(pool, "true"))
        while log.read_text().count("end") < log.read_text().count("begin"):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await pool.close()
    assert sorted(log.read_text().split()) == ["begin"] * 4 + ["end"] * 4


@pytest.mark.parametrize("shell", SHELLS)
async def test_words_of_the_login_and_of_processes_that_were_left(shell: str, tmp_path: Path) -> None:
    """They are in no answer: a shell whose output a process still holds runs no other script."""
    login = f'echo x >> {tmp_path}/begun; echo "Welcome!"; printf "no line" >&2; exec "$@"'
    noise = "( while :; do echo late; echo late >&2; sleep 0.01; done ) &"
    pool = ShellSessionPool(lambda: ["sh", "-c", login, "sh", *words_of(shell)])
    left = await run_one(pool, f"{noise} echo out $!")
    pid = int(left.stdout.split()[left.stdout.split().index(b"out") + 1])
    for _ in range(3):
        assert await run_one(pool, "sleep 0.05; echo next") == ProcessResult(0, b"next\n")
    os.kill(pid, signal.SIGTERM)
    # what holds nothing of the shell's holds nobody up
    quiet_command = "setsid -f sh -c 'echo $$; exec sleep 600 > /dev/null 2>&1 3>&-'"
    quiet = await run_one(pool, f"echo $({quiet_command})")
    assert await run_one(pool, "echo next") == ProcessResult(0, b"next\n")
    os.kill(int(quiet.stdout), signal.SIGTERM)
    await pool.close()
    assert (tmp_path / "begun").read_text() == "x\n" * 2


@pytest.mark.parametrize("turns", range(1, 8))
async def test_a_start_that_is_cancelled_leaves_nothing_open(tmp_path: Path, turns: int) -> None:
    """Though only the first process is killed, and its child has the pipes."""
    opened = os.listdir("/proc/self/fd")
    pool = ShellSessionPool(lambda: ["sh", "-c", f"(: > {tmp_path}/begun); sh -s; :"])
    task = asyncio.ensure_future(run_one(pool, "sleep 600"))
    await cancel_after_turns(task, turns, tmp_path / "begun")
    await pool.close()
    await wait_until_async(lambda: os.listdir("/proc/self/fd") == opened)


async def test_a_session_is_closed_while_a_process_holds_its_output(tmp_path: Path) -> None:
    session = await ShellSession.open(["sh", "-s"], "sh")
    result = await session.run(wrap_script("sleep 600 & echo $!"), 60)
    (tmp_path / "pid").write_bytes(result.stdout)
    await session.close()
    assert not session.is_open
    os.kill(pid_of(tmp_path / "pid"), signal.SIGKILL)


async def test_a_shell_of_another_user_cannot_be_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pipes are closed; the time limit that the script itself has ends it."""

    def refuse(_group: int, _number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(shell_session.os, "killpg", refuse)
    monkeypatch.setattr(shell_session, "_CLOSE_TIME", 0.1)
    session = await ShellSession.open(["sh", "-s"], "sh")
    with pytest.raises(ScriptTimeoutError):
        await session.run(wrap_script(f"until [ -e {tmp_path}/end ]; do sleep 0.05; done"), 0.1)
    await session.close()
    assert session.is_open
    (tmp_path / "end").touch()
    await wait_until_async(lambda: not session.is_open)
