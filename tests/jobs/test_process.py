"""One process: its input, its output, its end, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import pwd
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from osprofile.errors import OutputError, ScriptError, ScriptTimeoutError
from osprofile.jobs.shell import process
from osprofile.jobs.shell.loop import run_cancellable
from osprofile.jobs.shell.process import run_process
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, T]], T]
SH = ("sh", "-s")
HANGS = b"echo $$ > pid; sleep 600 & echo $! >> pid; echo said >&2; wait\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(params=["in a loop", "without a loop", "without a loop, on an old Linux"])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Run[Any]:
    """Return what runs a coroutine to its end."""
    if request.param.endswith("old Linux"):
        monkeypatch.delattr(os, "pidfd_open")
    needs_loop = request.param == "in a loop"
    return lambda work: run_cancellable(work, [], needs_loop=needs_loop)


def has_ended(pid: int) -> bool:
    """Wait for the end of a process."""
    wait_until(lambda: find_state(pid) in {"", "Z", "X"})
    return True


def find_state(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def read_pids(here: Path) -> list[int]:
    return [int(word) for word in (here / "pid").read_text().split()]


async def wait_for_pids(here: Path) -> None:
    """Wait until the script has written both process ids."""
    while not (here / "pid").exists() or len(read_pids(here)) < 2:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("words", "data", "end"),
    [
        (("sh", "-c", "cat; echo err >&2; exit 3"), b"\xff\0", (3, 0, b"\xff\0", b"err\n")),
        (SH, b"kill -s TERM $$", (143, 15, b"", b"")),
        (("cat",), b"x" * 3_000_000, (0, 0, b"x" * 3_000_000, b"")),
        (("true",), b"never read", (0, 0, b"", b"")),
    ],
)
def test_ends(
    run: Run[Any], words: tuple[str, ...], data: bytes, end: tuple[int, int | None, bytes, bytes]
) -> None:
    done = run(run_process(words, data, 60))
    assert (done.exit_code, done.killing_signal or 0, done.stdout, done.stderr) == end


def test_what_is_left_behind_holds_nothing_up(run: Run[Any], here: Path) -> None:
    done = run(run_process(SH, b"sleep 600 & echo $! > pid; echo $$ >> pid; echo out\n", 60))
    left, shell = read_pids(here)
    try:
        assert (done.exit_code, done.stdout) == (0, b"out\n")
        assert has_ended(shell)
        os.kill(left, 0)
    finally:
        os.kill(left, 9)


def test_a_time_limit(run: Run[Any], here: Path) -> None:
    with pytest.raises(ScriptTimeoutError, match=r"within 0\.5 s and was ended") as caught:
        run(run_process(SH, HANGS, 0.5))
    assert caught.value.stderr == b"said\n"
    assert all(map(has_ended, read_pids(here)))


def test_a_time_limit_of_a_process_alone(run: Run[Any], here: Path) -> None:
    with pytest.raises(ScriptTimeoutError):
        run(run_process(SH, HANGS, 0.5, ends_group=False))
    shell, left = read_pids(here)
    try:
        assert has_ended(shell)
        os.kill(left, 0)
    finally:
        os.kill(left, 9)


def test_what_ignores_a_signal_is_killed(run: Run[Any], here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "KILL_GRACE", 0.2)
    with pytest.raises(ScriptTimeoutError):
        run(run_process(SH, b"trap '' TERM\n" + HANGS, 0.5))
    assert all(map(has_ended, read_pids(here)))


def test_too_much_output(run: Run[Any], here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_OUTPUT_SIZE", 1024 * 1024)
    with pytest.raises(OutputError, match="more than 1 MiB"):
        run(run_process(SH, b"echo $$ > pid; exec yes", 60))
    assert all(map(has_ended, read_pids(here)))


async def test_a_cancelled_task_ends_it(here: Path) -> None:
    task = asyncio.ensure_future(run_process(SH, HANGS, 60))
    await wait_for_pids(here)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert all(map(has_ended, read_pids(here)))


def test_the_end_of_the_event_loop_ends_it(here: Path) -> None:
    """All tasks are cancelled at once then, that one too which waits for the end."""

    async def main() -> None:
        task = asyncio.ensure_future(run_process(SH, HANGS, 60))
        await wait_for_pids(here)
        assert not task.done()

    asyncio.run(main())
    assert all(map(has_ended, read_pids(here)))


def test_a_second_cancellation_leaves_nothing_either(here: Path) -> None:
    """Nor does the end of the event loop, which cancels what ends the processes."""
    pids: list[int] = []

    async def main() -> None:
        task = asyncio.ensure_future(run_process(SH, b"trap '' TERM; " + HANGS, None))
        while len(pids) < 2:
            await asyncio.sleep(0.01)
            pids[:] = map(int, (here / "pid").read_text().split()) if (here / "pid").exists() else ()
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0.05)

    asyncio.run(main())
    assert all(map(has_ended, pids))


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(ScriptError, match="no-such-shell"):
        asyncio.run(run_process(("no-such-shell",), b"", 60))


def test_functions_that_take_the_place_of_commands_are_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sh is bash, a function that bash exports would run instead of cd, in START and in the job."""
    monkeypatch.setenv("BASH_FUNC_cd%%", "() { echo not here; }")
    monkeypatch.setenv("BASH_FUNC_printf%%", "() { echo not this; }")
    monkeypatch.setenv("BASH_FUNC_module%%", "() { echo module $*; }")
    result = asyncio.run(run_process(["bash", "-s"], b"cd / && printf %s $PWD && module load x", None))
    assert result.stdout == b"/module load x\n"


@pytest.mark.parametrize("home", [None, "", "relative"])
def test_scripts_have_the_home_of_the_user(monkeypatch: pytest.MonkeyPatch, home: str | None) -> None:
    monkeypatch.delenv("HOME") if home is None else monkeypatch.setenv("HOME", home)
    result = asyncio.run(run_process(SH, b"printf %s $HOME", None))
    assert result.stdout.decode() == pwd.getpwuid(os.getuid()).pw_dir
