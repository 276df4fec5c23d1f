"""How a script reaches its shell: words, wrapping, exit codes, in real shells."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import InvalidProfileError, OutputError, ScriptError, ValueRefusedError
from osprofile.jobs.shell import process, target
from osprofile.jobs.shell import scripts as shell
from osprofile.jobs.shell.target import TargetShell
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from osprofile.profile.model import Profile

BUNDLED = Repository([get_bundled_directory()], use_standard_path=False)
SHELLS = [["dash", "-s"], ["bash", "-s"], ["sh", "-s"]]

PROFILE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
 xmlns:idb="http://gpe.intel.com/idb" name="p">
<osp:UspaceRoot>/var/tmp</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
<idb:Template name="SHELL"><idb:Invocation><idb:Body>{}</idb:Body></idb:Invocation></idb:Template>
</osp:Profile>
"""


def test_the_words_of_the_local_shell_and_of_ssh() -> None:
    profile = BUNDLED.load("linux")
    assert shell.get_shell_command(profile, {}) == ["sh", "-s"]
    words = shell.get_shell_command(profile, {"SSH:HOST": "me@login.example.org", "SSH:PORT": "2222"})
    assert words[0] == "ssh"
    assert words[words.index("-p") + 1] == "2222"
    assert words[words.index("--") + 1 :] == ["me@login.example.org", "sh", "-s"]


@pytest.mark.parametrize("host", ["-oProxyCommand=touch pwned", "a b", "a;b", "$(id)", "a\nb"])
def test_a_host_that_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(ValueRefusedError, match="SSH:HOST"):
        shell.get_shell_command(BUNDLED.load("linux"), {"SSH:HOST": host})


@pytest.mark.parametrize(("text", "reason"), [("", "it is empty"), ("sh '", "no closing quotation")])
def test_a_text_that_gives_no_words_is_the_profiles_fault(text: str, reason: str) -> None:
    profile = Repository([], use_standard_path=False).load_bytes(PROFILE.format(text).encode())
    with pytest.raises(InvalidProfileError, match=reason):
        shell.get_shell_command(profile, {})


@pytest.mark.parametrize("words", SHELLS, ids=lambda w: w[0])
@pytest.mark.parametrize(
    ("script", "code", "out"),
    [
        ("echo one; echo two", 0, "one\ntwo\n"),
        ("exit 7", 7, ""),
        ("false", 1, ""),
        ("", 0, ""),
        ("# nothing", 0, ""),
        ("\n# nothing\n\n", 0, ""),
        ("cat; echo end", 0, "end\n"),  # no child eats the rest of the script
        ("read -r line || echo none", 0, "none\n"),
        ("cat <<'EOF'\na } b\nEOF", 0, "a } b\n"),
        ("echo hi # a comment at the end", 0, "hi\n"),
        ("echo 'é\u2028'", 0, "é\u2028\n"),
        ("kill -TERM $$", 128 + signal.SIGTERM, ""),
        ("kill -KILL $$", 128 + signal.SIGKILL, ""),
        ("trap 'echo bye' EXIT; exit 3", 3, "bye\n"),
        ("x='" + "y" * 300_000 + "'; echo ${#x}", 0, "300000\n"),
    ],
)
def test_scripts_run_in_real_shells(words: list[str], script: str, code: int, out: str) -> None:
    finished = shell.run_script(words, script, capture=True)
    assert (finished.exit_code, finished.stdout.decode(), finished.stderr) == (code, out, b"")


@pytest.mark.parametrize("words", SHELLS, ids=lambda w: w[0])
def test_nothing_runs_of_a_script_that_did_not_arrive_whole(words: list[str], tmp_path: Path) -> None:
    whole = shell.wrap_script(f"touch {tmp_path}/one\ntouch {tmp_path}/two\n")
    for length in range(0, len(whole) - len(" </dev/null\n") - 1, 7):
        subprocess.run(words, input=whole[:length], capture_output=True, check=False)
        assert os.listdir(tmp_path) == []
    subprocess.run(words, input=whole, check=True)
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]


@pytest.mark.parametrize("words", SHELLS, ids=lambda w: w[0])
def test_a_syntax_error_runs_nothing(words: list[str], tmp_path: Path) -> None:
    finished = shell.run_script(words, f"touch {tmp_path}/one\nif", capture=True)
    assert finished.exit_code != 0
    assert os.listdir(tmp_path) == []


def test_a_shell_that_is_not_there() -> None:
    with pytest.raises(ScriptError, match="cannot start 'no-such-shell'"):
        shell.run_script(["no-such-shell", "-s"], "true")


@pytest.mark.parametrize("stream", ["", " >&2"])
def test_captured_output_is_bounded(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_OUTPUT_SIZE", 100_000)
    with pytest.raises(OutputError, match="printed more than"):
        shell.run_script(["sh", "-s"], f"yes{stream}", capture=True)


def test_what_a_script_leaves_running_holds_nothing_up(tmp_path: Path) -> None:
    """Though it keeps the output open."""
    done = shell.run_script(["sh", "-s"], f"sleep 600 & echo $! > {tmp_path}/pid; echo out", capture=True)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert (done.exit_code, done.stdout) == (0, b"out\n")


def test_a_shell_that_does_not_read_its_script() -> None:
    assert shell.run_script(["false"], "x" * 1_000_000, capture=True).exit_code == 1


ALL_SHELLS = [
    name
    for name in ("dash", "bash", "busybox", "ksh", "mksh", "zsh", "yash")
    if shutil.which(name) is not None
]


@pytest.mark.parametrize("name", ALL_SHELLS)
def test_each_of_several_scripts_has_its_own_end(name: str) -> None:
    """Whether it exits, is killed, or prints what could be the line of an end."""
    scripts = [
        "exit 255",
        "printf '\\nM 0\\n\\nN 0\\n'",
        "sh -c 'kill -s KILL $PPID'; :",
        ": ${unset:?}",
        "exec >&2; trap : PIPE; set -e; cd /; false",
        "echo last; exit 7 # and no line end",
    ]
    mark, status_mark = shell.generate_mark(), shell.generate_mark()
    joined = shell.join_scripts((shell.mark_exit_status(s, status_mark) for s in scripts), mark)
    command = [name, "sh", "-s"] if name == "busybox" else [name, "-s"]
    ran = shell.run_script(command, joined, capture=True)
    results = shell.split_results(ran.stdout, ran.stderr, mark)
    told = [shell.extract_exit_status(result, status_mark) for result in results]
    assert [status for _, status in told if status is not None][:2] == [255, 0]
    assert told[1][0].stdout == b"\nM 0\n\nN 0\n"
    assert told[2][1] is None
    assert told[2][0].exit_code & 0x7F == 9
    assert told[3][0].exit_code not in {0, 9}
    assert told[4][0].exit_code == 1
    assert (told[5][0].stdout, told[5][0].exit_code, told[5][1]) == (b"last\n", 7, 7)


@pytest.mark.parametrize("name", ALL_SHELLS)
def test_what_nobody_reads_any_more_does_not_go_on(name: str, tmp_path: Path) -> None:
    """Whether SIGPIPE ends a shell or not."""
    joined = shell.join_scripts([f"echo >> {tmp_path}/ran"] * 3, "M")
    # ksh writes later what it printed, and does not tell that this failed.
    for prepare in ("", *(["trap '' PIPE; "] if name != "ksh" else [])):
        command = shlex.join([name, "sh", "-s"] if name == "busybox" else [name, "-s"])
        pipe = f"({prepare}sleep 0.1; exec {command} 2>&1) | :"
        subprocess.run(["sh", "-c", pipe], input=shell.wrap_script(joined), check=False)
        assert (tmp_path / "ran").read_text() == "\n"
        (tmp_path / "ran").unlink()


def test_scripts_one_by_one_that_tell_their_end() -> None:
    """As over ssh: what each printed is taken apart behind the end of all."""
    script = shell.mark_exit_status(shell.join_scripts(["echo a", "echo b >&2; exit 3"], "M"), "N")
    ran = shell.run_script(["sh", "-s"], script, capture=True)
    done, status = shell.extract_exit_status(ran, "N")
    assert status == 0
    assert [
        (p.exit_code, p.stdout, p.stderr) for p in shell.split_results(done.stdout, done.stderr, "M")
    ] == [
        (0, b"a\n", b""),
        (3, b"", b"b\n"),
    ]


async def test_a_query_does_not_wait_for_the_submissions_that_wait(tmp_path: Path) -> None:
    target = TargetShell(
        BUNDLED.load("linux"), {"USER_NAME": "me"}, time_limit=PATIENCE, max_parallel_scripts=1
    )
    templates = [*["START"] * 5, "GET_JOB_STATUS", "ABORT"]
    log = tmp_path / "log"
    await asyncio.gather(*(target.run_script(name, f"echo {name} >> '{log}'") for name in templates))
    assert log.read_text().split() == ["START", "GET_JOB_STATUS", "ABORT", *["START"] * 4]


async def test_the_shell_of_this_machine_is_incarnated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Mapping[str, str]] = []

    def count(profile: Profile, context: Mapping[str, str]) -> list[str]:
        calls.append({**context})
        return shell.get_shell_command(profile, context)

    monkeypatch.setattr(target, "get_shell_command", count)
    own = TargetShell(BUNDLED.load("linux"), {"USER_NAME": "me"}, time_limit=PATIENCE, max_parallel_scripts=1)
    for _ in range(3):
        await own.run_script("SHELL", "echo $0")
    assert len(calls) == 1
    own.context["USER_HOME"] = "/home/me"  # found later; a profile may ask for it
    await own.run_script("SHELL", "echo $0")
    await own.run_script("SHELL", "echo $0")
    assert [list(call) for call in calls] == [["USER_NAME"], ["USER_NAME", "USER_HOME"]]


async def test_the_shell_of_another_user_is_incarnated_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of ssh depends on whether there is a connection of `incarnate login`."""
    commands = iter([["env", "sh", "-s"], ["env", "A=1", "sh", "-s"], ["env", "A=2", "sh", "-s"]])
    monkeypatch.setattr(target, "get_shell_command", lambda *_: next(commands))
    own = TargetShell(BUNDLED.load("linux"), {"USER_NAME": "me"}, time_limit=PATIENCE, max_parallel_scripts=1)
    assert [await own.run_script("SHELL", "echo $A") for _ in range(2)] == ["1\n", "2\n"]
