"""Running a script through the profile's template SHELL: here, or on another host.

SHELL's text is split into words and spawned, no shell around it. The script goes to its standard
input as one `{ ...; }` group, so that nothing runs unless all of it arrived, and what the script
starts finds an empty standard input, not the rest of the script.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import InvalidProfileError, Problem, ScriptError
from osprofile.incarnation.incarnate import incarnate
from osprofile.incarnation.static_scripts import deployment_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from osprofile.incarnation.incarnate import Incarnation
    from osprofile.profile.model import Profile

SHELL_TEMPLATE: Final = "SHELL"
SSH_VARIATION: Final = "SSH"
_DEPLOYMENT_FAILED_STATUS: Final = 125
_EXIT_MARKER: Final = "osprofile: the script ended with"
_MARKED_OUTPUT: Final = re.compile(rf"(.*?)\n{_EXIT_MARKER} ([0-9]+)\n".encode(), re.DOTALL)


@final
@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a script ended: its exit code (128+n for signal n), and its output where captured.

    `killing_signal` is the signal that killed the shell itself, 0 if none did.
    """

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""
    killing_signal: int = 0


def result_from_returncode(returncode: int, stdout: bytes, stderr: bytes) -> ProcessResult:
    """Give how a process ended that Python gives the return code `returncode` of."""
    return ProcessResult(
        returncode if returncode >= 0 else 128 - returncode, stdout, stderr, max(0, -returncode)
    )


def get_shell_command(profile: Profile, context: Mapping[str, str]) -> list[str]:
    """Give the words of the command that reads a script on its standard input.

    It is SHELL's variation SSH where the context has SSH:HOST, else the default one. Raises what
    `incarnate` raises, and `InvalidProfileError` for a text that cannot be split into words.
    """
    return get_template_command(profile, SHELL_TEMPLATE, context)


def get_template_command(profile: Profile, template: str, context: Mapping[str, str]) -> list[str]:
    """Give the words of the command that a template's text is; see `get_shell_command`."""
    variation = SSH_VARIATION if context.get("SSH:HOST") else ""
    text = incarnate(profile, template, variation=variation, context=context).text
    try:
        words = shlex.split(text)
    except ValueError as error:
        words, reason = [], str(error).lower()
    else:
        reason = "it is empty"
    if not words:
        place = profile.get_template(template).get_invocation(variation).location
        message = f"the text of {template} cannot be split into words: {reason}"
        raise InvalidProfileError([Problem("OSP506", message, place, "as in: sh -s")])
    return words


def build_script(incarnation: Incarnation) -> str:
    """Give the incarnation's text behind the deployment of the static scripts that it needs."""
    if not incarnation.static_scripts:
        return incarnation.text
    deployment = deployment_script(incarnation.static_scripts)
    return f"(\n{deployment}) || exit {_DEPLOYMENT_FAILED_STATUS}\n{incarnation.text}"


def wrap_script(script: str) -> bytes:
    """Give what a shell gets to read for a script: one group, its standard input empty.

    The colon is there for a script without a command: no shell takes an empty group.
    """
    return f"{{ :\n{script}\n}} </dev/null\n".encode()


def mark_exit_status(script: str) -> str:
    """Return a script that prints its exit status on stderr when it comes to its end; see `extract_exit_status`.

    A shell that is killed does not come there, nor does a connection that breaks before.
    """
    return f'trap \'printf "\\n{_EXIT_MARKER} %s\\n" "$?" >&2\' EXIT\n{script}'


def join_scripts(scripts: Iterable[str]) -> str:
    """Return one script that runs several, each in a subshell; `split_results` takes its output apart."""
    told = f"printf '\\n{_EXIT_MARKER} %s\\n' \"$gpe_rc\""
    return "".join(f"( :\n{script}\n)\ngpe_rc=$?\n{told}\n{told} >&2\n" for script in scripts)


def split_results(done: ProcessResult) -> list[ProcessResult]:
    """Return how each of several scripts ended, with its own output; see `join_scripts`."""
    streams = zip(
        _MARKED_OUTPUT.findall(done.stdout), _MARKED_OUTPUT.findall(done.stderr), strict=False
    )
    return [ProcessResult(int(code), stdout, stderr) for (stdout, code), (stderr, _) in streams]


def extract_exit_status(done: ProcessResult) -> tuple[ProcessResult, int | None]:
    """Take what `mark_exit_status` printed from the output; give the exit status, None without."""
    # The last one only: those before it are of `join_scripts`.
    lines = [*re.finditer(rf"\n{_EXIT_MARKER} ([0-9]+)\n".encode(), done.stderr)]
    if not lines:
        return done, None
    begin, end = lines[-1].span()
    return replace(done, stderr=done.stderr[:begin] + done.stderr[end:]), int(lines[-1][1])


def shell_start_error(program: str, error: OSError) -> ScriptError:
    """Give the error for a shell that cannot be started."""
    message = f"cannot start {program!r}: {error.strerror}"
    return ScriptError(message, hint="it is the first word of the profile's SHELL")


def run_script(command: Sequence[str], script: str, *, capture: bool = False) -> ProcessResult:
    """Run a script in the shell started by `command` and wait for its end.

    Its output goes where this process's goes, or into the result with `capture`. A signal that
    would end this process (INT, TERM, HUP) ends the script and all that it started, and is told as
    what killed it. Raises `ScriptError` where the shell cannot be started, `OutputError` where
    there is more output than can be kept.
    """
    import asyncio

    from osprofile.jobs.process import cancel_on_signal, run_process

    stdout, stderr = (None, None) if capture else (1, 2)
    received: list[int] = []
    work = run_process(command, wrap_script(script), None, stdout=stdout, stderr=stderr)
    try:
        return asyncio.run(cancel_on_signal(work, received))
    except asyncio.CancelledError:
        if not received:
            raise
        return result_from_returncode(-received[0], b"", b"")
