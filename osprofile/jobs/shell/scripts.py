"""Run a script through the profile's template SHELL, on this host or another one.

SHELL's text is split into words and executed without a shell around it. It reads the script on its
standard input as one `{ ...; }` group. So nothing runs unless the whole script has arrived, and the
standard input of its commands is empty, not the rest of the script.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from typing import TYPE_CHECKING, Final

from osprofile.errors import InvalidProfileError, Problem
from osprofile.files import compute_digest
from osprofile.incarnation.context import add_target_fields
from osprofile.incarnation.incarnate import incarnate
from osprofile.incarnation.static_scripts import deployment_script
from osprofile.jobs.shell.loop import run_cancellable
from osprofile.jobs.shell.process import ProcessResult, result_from_returncode, run_process

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from osprofile.incarnation.incarnate import Incarnation
    from osprofile.incarnation.static_scripts import StaticScriptFile
    from osprofile.profile.model import Profile

SHELL_TEMPLATE: Final = "SHELL"
SSH_VARIATION: Final = "SSH"
SUDO_VARIATION: Final = "SUDO"
LOGIN_VARIATION: Final = "LOGIN"
CONTROL_PATH_FIELD: Final = "SSH:CONTROL_PATH"
SOURCE_PROGRAM: Final = "gpe_source"
"""The command by which the shell of `wrap_locked_script` runs a program itself, in place of `sh`."""
_DEPLOYMENT_FAILED_STATUS: Final = 125  # as of env and timeout: the program has not begun
_NOT_DEPLOYED: Final = "is not deployed"
_NOT_DEPLOYED_STATUS: Final = 72
"""A script's exit status (EX_OSFILE) if a static script is not there, and nothing was done."""


def find_shell_variation(context: Mapping[str, str]) -> str:
    """Return the variation of SHELL, and of EVENTS: SSH for another host, SUDO for another user of this one.

    Where it is empty, scripts run on this machine as the user of this process: only then are a job's files its own.
    """
    if context.get("SSH:HOST"):
        return SSH_VARIATION
    return SUDO_VARIATION if context.get("SUDO:USER") else ""


def get_shell_command(profile: Profile, context: Mapping[str, str]) -> list[str]:
    """Return the words of the command that reads a script on its standard input.

    It is the variation of `find_shell_variation`. Raises what `incarnate` raises, and `InvalidProfileError` if the text
    cannot be split into words.
    """
    return get_template_command(profile, SHELL_TEMPLATE, context)


def get_template_command(profile: Profile, template: str, context: Mapping[str, str]) -> list[str]:
    """Return the words of a template whose text is a command; see `get_shell_command`."""
    context = add_target_fields(profile, context)
    variation = find_shell_variation(context)
    if variation == SSH_VARIATION and os.path.exists(control_path := get_control_path(context)):
        context = {**context, CONTROL_PATH_FIELD: control_path}
    return _split_command(profile, template, variation, context)


def get_login_command(profile: Profile, context: Mapping[str, str]) -> list[str]:
    """Return the words of the command that opens a connection to SSH:HOST in the background, for `incarnate login`.

    It is SHELL's variation LOGIN. Raises what `get_shell_command` raises.
    """
    context = {**context, CONTROL_PATH_FIELD: get_control_path(context)}
    return _split_command(profile, SHELL_TEMPLATE, LOGIN_VARIATION, context)


def get_control_path(context: Mapping[str, str]) -> str:
    """Return the path of the socket of the connection to SSH:HOST that `incarnate login` opens (ssh's ControlPath)."""
    # A hash, as in ssh's own %C: the path of a socket has at most 107 bytes.
    address = f"{context.get('SSH:HOST')}:{context.get('SSH:PORT', '')}"
    return os.path.expanduser(
        f"~/.ssh/osprofile-{compute_digest(address.encode(errors='surrogatepass'))[:16]}"
    )


def _split_command(profile: Profile, template: str, variation: str, context: Mapping[str, str]) -> list[str]:
    text = incarnate(profile, template, variation=variation, context=context).text
    try:
        words = shlex.split(text)
    except ValueError as error:
        words, reason = [], str(error).lower()
    else:
        reason = "it is empty"
    if not words:
        location = profile.get_template(template).get_invocation(variation).location
        message = f"the text of {template} cannot be split into words: {reason}"
        raise InvalidProfileError([Problem("OSP506", message, location, "as in: sh -s")])
    return words


def build_script(incarnation: Incarnation) -> str:
    """Return the script of an incarnation; where one of its static scripts is not deployed, it does nothing but say so.

    See `lacks_static_script`.
    """
    checks = [
        f"{_test_script(script)} || "
        f"{{ printf '%s {_NOT_DEPLOYED}\\n' {script.path} >&2; exit {_NOT_DEPLOYED_STATUS}; }}\n"
        for script in incarnation.used_scripts
    ]
    return "".join([*checks, incarnation.text])


def _test_script(script: StaticScriptFile) -> str:
    """Return the shell's test whether a static script is there: one that became empty is not."""
    return f"[ {'-s' if script.body else '-f'} {script.path} ]"


def lacks_static_script(result: ProcessResult) -> bool:
    """Return whether a script of `build_script`, or one of those in a script of `join_scripts`, lacks a static script."""
    return f" {_NOT_DEPLOYED}\n".encode() in result.stderr.replace(b"\r\n", b"\n")  # as ssh writes


def build_self_contained_script(incarnation: Incarnation) -> str:
    """Return the script that deploys the static scripts, unless those that an incarnation runs are there, and runs it."""
    used = incarnation.used_scripts
    if not used:
        return incarnation.text
    deployment = deployment_script(incarnation.static_scripts)
    tests = " && ".join(map(_test_script, used))
    return f"{tests} || (\n{deployment}) || exit {_DEPLOYMENT_FAILED_STATUS}\n{incarnation.text}"


def wrap_script(script: str) -> bytes:
    """Return the bytes that a shell reads to run a script: one group, with an empty standard input."""
    # The colon is for a script without commands: an empty group is a syntax error.
    return f"{{ :\n{script}\n}} </dev/null\n".encode()


def wrap_locked_script(script: str) -> bytes:
    """Return what `wrap_script` does, for a shell whose input is a locked file: its programs have the lock open as 3.

    A program that the script runs by SOURCE_PROGRAM in place of `sh` is run by this shell itself.
    """
    begin = f'exec 3<&0\n{SOURCE_PROGRAM}() {{ gpe_file=$1; shift; . "$gpe_file"; }}\n'
    return begin.encode() + wrap_script(script)


def generate_mark() -> str:
    """Return a word for the line of an exit status that no output of a script has by chance or by intent."""
    return f"osprofile-{os.urandom(16).hex()}"


def mark_exit_status(script: str, mark: str) -> str:
    """Return a script that prints its exit status on stderr at its end, for `extract_exit_status`.

    The line is missing if the shell was killed or the connection broke before the end.
    """
    return f'trap \'printf "\\n{mark} %s\\n" "$?" >&2\' EXIT\n{script}'


def join_scripts(scripts: Iterable[str], mark: str) -> str:
    """Return one script that runs several, each in a subshell; `split_results` splits its output.

    If nobody reads that any more, because the connection broke, the next ones do not run.
    """
    print_status = f"printf '\\n{mark} %s\\n' \"$gpe_rc\""
    return "".join(
        f"( :\n{script}\n)\ngpe_rc=$?\n{print_status} || exit\n{print_status} >&2 || exit\n"
        for script in scripts
    )


def split_results(stdout: bytes, stderr: bytes, mark: str) -> list[ProcessResult]:
    """Return the result of each script of `join_scripts`, with its own output."""
    # Not strict: a stream may have been cut off. The caller compares the number of results.
    streams = zip(_split_stream(stdout, mark), _split_stream(stderr, mark), strict=False)
    return [ProcessResult(code, out, err) for (out, code), (err, _) in streams]


def _split_stream(stream: bytes, mark: str) -> Iterator[tuple[bytes, int]]:
    """Yield each script's output and exit status. A pattern takes longer: the mark is a new one each time."""
    output, *rest = stream.split(f"\n{mark} ".encode())
    for part in rest:
        code, line_end, following = part.partition(b"\n")
        if not line_end:
            return
        yield output, int(code)
        output = following


def extract_rest(stream: bytes, mark: str) -> bytes:
    """Return what a stream has behind the results of `join_scripts`: the output of the script that was cut."""
    return re.split(rf"\n{mark} [0-9]+\n".encode(), stream)[-1]


def extract_exit_status(result: ProcessResult, mark: str) -> tuple[ProcessResult, int | None]:
    """Remove the line of `mark_exit_status` from stderr; return the exit status, None without one."""
    line = re.search(rf"\n{mark} ([0-9]+)\n".encode(), result.stderr)
    if line is None:
        return result, None
    begin, end = line.span()
    return result._replace(stderr=result.stderr[:begin] + result.stderr[end:]), int(line[1])


def run_script(command: Sequence[str], script: str, *, capture: bool = False) -> ProcessResult:
    """Run a script in the shell that `command` starts, outside of an event loop, and wait for its end.

    Its output goes to this process's stdout and stderr, or with `capture` into the result. A signal that
    would end this process (INT, TERM, HUP) ends the script and its process group, and is the result's
    `killing_signal`. Raises `ScriptError` if the shell cannot be started, `OutputError` if the
    output exceeds MAX_OUTPUT_SIZE.
    """
    stdout, stderr = (None, None) if capture else (1, 2)
    received_signals: list[int] = []
    work = run_process(command, wrap_script(script), None, stdout=stdout, stderr=stderr)
    try:
        return run_cancellable(work, received_signals, needs_loop=False)
    except asyncio.CancelledError:
        if not received_signals:
            raise
        return result_from_returncode(-received_signals[0], b"", b"")
