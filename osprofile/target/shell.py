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

SHELL: Final = "SHELL"
SSH: Final = "SSH"
_DEPLOYMENT_FAILED: Final = 125
_ENDED: Final = "osprofile: the script ended with"
_PART: Final = re.compile(rf"(.*?)\n{_ENDED} ([0-9]+)\n".encode(), re.DOTALL)


@final
@dataclass(frozen=True, slots=True)
class Finished:
    """How a script ended: its exit code (128+n for signal n), and its output where captured.

    `killed` is the signal that killed the shell itself, 0 if none did.
    """

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""
    killed: int = 0


def finished(code: int, stdout: bytes, stderr: bytes) -> Finished:
    """Give how a process ended that Python gives the return code `code` of."""
    return Finished(code if code >= 0 else 128 - code, stdout, stderr, max(0, -code))


def shell_words(profile: Profile, context: Mapping[str, str]) -> list[str]:
    """Give the words of the command that reads a script on its standard input.

    It is SHELL's variation SSH where the context has SSH:HOST, else the default one. Raises what
    `incarnate` raises, and `InvalidProfileError` for a text that cannot be split into words.
    """
    return command_words(profile, SHELL, context)


def command_words(profile: Profile, template: str, context: Mapping[str, str]) -> list[str]:
    """Give the words of the command that a template's text is; see `shell_words`."""
    variation = SSH if context.get("SSH:HOST") else ""
    text = incarnate(profile, template, variation=variation, context=context).text
    try:
        words = shlex.split(text)
    except ValueError as error:
        words, reason = [], str(error).lower()
    else:
        reason = "it is empty"
    if not words:
        place = profile.template(template).invocation(variation).place
        message = f"the text of {template} cannot be split into words: {reason}"
        raise InvalidProfileError([Problem("OSP506", message, place, "as in: sh -s")])
    return words


def script_of(incarnation: Incarnation) -> str:
    """Give the incarnation's text behind the deployment of the static scripts that it needs."""
    if not incarnation.static_scripts:
        return incarnation.text
    deployment = deployment_script(incarnation.static_scripts)
    return f"(\n{deployment}) || exit {_DEPLOYMENT_FAILED}\n{incarnation.text}"


def wrapped(script: str) -> bytes:
    """Give what a shell gets to read for a script: one group, its standard input empty.

    The colon is there for a script without a command: no shell takes an empty group.
    """
    return f"{{ :\n{script}\n}} </dev/null\n".encode()


def telling_its_end(script: str) -> str:
    """Return a script that prints its exit status on stderr when it comes to its end; see `ends`.

    A shell that is killed does not come there, nor does a connection that breaks before.
    """
    return f'trap \'printf "\\n{_ENDED} %s\\n" "$?" >&2\' EXIT\n{script}'


def one_by_one(scripts: Iterable[str]) -> str:
    """Return one script that runs several, each in a subshell; `parts` takes its output apart."""
    told = f"printf '\\n{_ENDED} %s\\n' \"$gpe_rc\""
    return "".join(f"( :\n{script}\n)\ngpe_rc=$?\n{told}\n{told} >&2\n" for script in scripts)


def parts(done: Finished) -> list[Finished]:
    """Return how each of several scripts ended, with its own output; see `one_by_one`."""
    streams = zip(_PART.findall(done.stdout), _PART.findall(done.stderr), strict=False)
    return [Finished(int(code), stdout, stderr) for (stdout, code), (stderr, _) in streams]


def ends(done: Finished) -> tuple[Finished, int | None]:
    """Take what `telling_its_end` printed from the output; give the exit status, None without."""
    # The last one only: those before it are of `one_by_one`.
    lines = [*re.finditer(rf"\n{_ENDED} ([0-9]+)\n".encode(), done.stderr)]
    if not lines:
        return done, None
    begin, end = lines[-1].span()
    return replace(done, stderr=done.stderr[:begin] + done.stderr[end:]), int(lines[-1][1])


def could_not_start(word: str, error: OSError) -> ScriptError:
    """Give the error for a shell that cannot be started."""
    message = f"cannot start {word!r}: {error.strerror}"
    return ScriptError(message, hint="it is the first word of the profile's SHELL")


def run(words: Sequence[str], script: str, *, capture: bool = False) -> Finished:
    """Run a script in the shell started by `words` and wait for its end.

    Its output goes where this process's goes, or into the result with `capture`. A signal that
    would end this process (INT, TERM, HUP) ends the script and all that it started, and is told as
    what killed it. Raises `ScriptError` where the shell cannot be started, `OutputError` where
    there is more output than can be kept.
    """
    import asyncio

    from osprofile.target.process import finish, until_signal

    stdout, stderr = (None, None) if capture else (1, 2)
    received: list[int] = []
    work = finish(words, wrapped(script), None, stdout=stdout, stderr=stderr)
    try:
        return asyncio.run(until_signal(work, received))
    except asyncio.CancelledError:
        if not received:
            raise
        return finished(-received[0], b"", b"")
