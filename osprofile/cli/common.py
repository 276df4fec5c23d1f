"""What the verbs share: opening a profile, reading assignments, printing, telling errors."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from osprofile.errors import (
    CasesError,
    InvalidProfileError,
    NotFoundError,
    OSProfileError,
    quote_value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from osprofile.profile.model import Profile
    from osprofile.profile.repository import Repository

VERBS = (
    "render",
    "trace",
    "diff",
    "check",
    "lint",
    "explain",
    "new",
    "schema",
    "show",
    "fields",
    "page",
    "profiles",
    "deploy",
)
GROUPS = {
    "job": ("submit", "status", "list", "wait", "hold", "resume", "abort", "forget"),
}
"""The first word of the verbs that have two, and the second ones."""
INTERNAL_ERROR = 1
PASS_THROUGH_ERROR = 125
"""What a command that passes on a script's or job's exit code ends with where the error is ours."""
COMPARISON_ERROR = 2
"""What `diff` and `check` end with where they cannot compare: 1 says that something differs."""
INTERRUPTED = 130


class UsageError(NotFoundError):
    """The words of the command line do not fit together."""


def open_profile(profile: str | None, profiles: Iterable[str]) -> Profile:
    """Give the resolved profile of `--profile` and `--profiles`."""
    known = open_repository(profiles)
    if not profile:
        hint = (
            f"give --profile NAME, or set OSPROFILE_PROFILE; known: {', '.join(known.list_names())}"
        )
        raise UsageError("which profile?", hint=hint)
    return known.load_file(profile) if is_profile_path(profile) else known.load(profile)


def open_repository(profiles: Iterable[str]) -> Repository:
    """Give the profiles that can be found, those in the directories of `--profiles` first."""
    from osprofile.profile.repository import Repository

    directories = list(profiles)
    for directory in directories:
        if not os.path.isdir(directory):
            what = "is no directory" if os.path.exists(directory) else "does not exist"
            raise UsageError(f"--profiles {quote_value(directory)} {what}")
    return Repository(directories)


def is_profile_path(profile: str) -> bool:
    """Say whether the value of `--profile` is a path: it has a slash, or is an XML file's name."""
    return "/" in profile or profile.endswith(".xml") or profile in {".", ".."}


def parse_assignments(words: Iterable[str], option: str) -> dict[str, str]:
    """Give the pairs of `NAME=VALUE` words; of two with one name the later counts."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {word!r}: a name, an equals sign and a value are needed")
        found[name] = value
    return found


def build_context(profile: Profile, words: Iterable[str]) -> dict[str, str]:
    """Give the context of one job: this user, a fresh working directory, and `--context`."""
    from osprofile.incarnation.context import new_context, working_directory

    given = parse_assignments(words, "--context")
    context = {**new_context(profile), **given}
    if "USER_NAME" in given and "WORKING_DIRECTORY" not in given:
        name = context["WORKING_DIRECTORY"].rpartition(profile.delimiter)[2]
        context["WORKING_DIRECTORY"] = working_directory(profile, given["USER_NAME"], name)
    return context


def print_result(text: str) -> None:
    """Print a result, as UTF-8 whatever the locale says, with a line end after its last line."""
    sys.stdout.flush()
    data = text.encode("utf-8", "surrogateescape")
    sys.stdout.buffer.write(data if data.endswith(b"\n") or not data else data + b"\n")
    sys.stdout.buffer.flush()


def print_json(value: object) -> None:
    """Print a result as JSON; what a terminal would act on is escaped in it."""
    import json

    text = json.dumps(value, ensure_ascii=False, indent=2)
    print_result("".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text))


def print_message(text: str) -> None:
    """Print a message for the user."""
    sys.stderr.write(text.encode("utf-8", "backslashreplace").decode() + "\n")


def print_error(error: OSProfileError, subject: str = "") -> None:
    """Print an error; `subject` says what it befell, where its own words may not."""
    told = str(error)
    subject = f"{subject}: " if subject else ""
    # A profile's problems begin with their places, as a compiler's do.
    placed = isinstance(error, InvalidProfileError) or (
        isinstance(error, CasesError) and error.location is not None
    )
    print_message(told if placed else f"incarnate: {subject}{told}")


def suggest_command(word: str) -> str:
    """Give a hint where a word is nearly a verb, or is the second one of a verb that has two."""
    from difflib import get_close_matches

    commands = {second: f"{first} {second}" for first, words in GROUPS.items() for second in words}
    commands |= {first: first for first in (*VERBS, *GROUPS)}
    close = get_close_matches(word, commands, n=1, cutoff=0.6)
    return f"did you mean the command {commands[close[0]]}?" if close else ""


def run_verb(verb: Callable[..., int], arguments: Mapping[str, Any], first_word: str = "") -> int:
    """Run a verb; tell an error in one block, and give the exit code. No traceback, ever.

    `first_word` is the first word where no verb was given: it may have been meant as one.
    """
    try:
        return verb(**arguments)
    except OSProfileError as error:
        if first_word and isinstance(error, NotFoundError):
            error.hint = f"{suggest_command(first_word)} {error.hint}".strip()
        print_error(error)
        return error_exit_code(verb, arguments, error.exit_code)
    except BrokenPipeError as error:
        return print_failure(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  # the last resort: a user gets a sentence
        return error_exit_code(verb, arguments, print_failure(error))


def print_failure(error: Exception) -> int:
    """Tell an error that is none of ours in one block; give the exit code."""
    if isinstance(error, BrokenPipeError):
        # The reader has gone, as with `| head`: say nothing, now or when Python closes stdout.
        _discard_output()
    elif isinstance(error, OSError):
        print_message(f"incarnate: {error.filename or 'output'}: {error.strerror}")
        _discard_output()
    elif isinstance(error, UnicodeEncodeError):  # Python takes words that are not UTF-8 so
        print_message(f"incarnate: {quote_value(str(error.object))} is not valid UTF-8")
        return UsageError.exit_code
    elif os.environ.get("OSPROFILE_DEBUG"):
        raise error
    else:
        print_message(
            f"incarnate: internal error: {type(error).__name__}: {error}\n"
            "    hint: this is a fault of osprofile's; OSPROFILE_DEBUG=1 shows where"
        )
    return INTERNAL_ERROR


def _discard_output() -> None:
    """Have what could not be written forgotten: Python would try it again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_missing_streams() -> None:
    """Open the standard streams that are closed, so that no file gets their numbers.

    A result that is written to one fails; messages are lost.
    """
    modes = {"stdin": os.O_RDONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}
    for name, mode in modes.items():
        if getattr(sys, name) is None:
            number = os.open(os.devnull, mode)  # the lowest one that is free
            os.set_inheritable(number, True)
            stream = open(number, "w" if number else "r", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def error_exit_code(verb: Callable[..., int], arguments: Mapping[str, Any], code: int) -> int:
    """Give the exit code for an error of ours, where 1 or the script's own would say something else."""
    if passes_exit_code(verb, arguments):
        return PASS_THROUGH_ERROR
    return max(code, COMPARISON_ERROR) if verb.__name__ in {"diff", "check"} else code


def usage_exit_code(words: Sequence[str]) -> int:
    """Return the exit code for a command line that cannot be read: 125 where 2 could be a script's."""
    passes = not {"--run", "--wait"}.isdisjoint(words) or words[:2] == ["job", "wait"]
    return PASS_THROUGH_ERROR if passes else UsageError.exit_code


def passes_exit_code(verb: Callable[..., int], arguments: Mapping[str, Any]) -> bool:
    """Say whether a command's exit code is that of a script or job that it was asked to run."""
    return bool(arguments.get("run") or arguments.get("wait") or verb.__name__ == "wait")
