"""What all verbs share: exit codes, opening profiles, parsing NAME=VALUE words, printing results and errors."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from osprofile.cli.options import call_verb
from osprofile.cli.streams import discard_output as discard_output  # noqa: PLC0414  # else mypy takes it for this module's own
from osprofile.cli.streams import print_message as print_message  # noqa: PLC0414  # else mypy takes it for this module's own
from osprofile.cli.streams import print_result as print_result  # noqa: PLC0414  # else mypy takes it for this module's own
from osprofile.errors import (
    CasesError,
    IncarnationError,
    InvalidProfileError,
    NotFoundError,
    OSProfileError,
    SettingError,
    format_message,
)
from osprofile.text import quote_name, quote_path, quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from osprofile.profile.model import Field, Profile
    from osprofile.profile.repository import Repository
    from osprofile.source import Location

GROUPS = {
    "job": (
        "submit", "list", "show", "output", "fetch", "wait", "hold", "resume", "cancel", "rerun", "forget"
    )
}  # fmt: skip
"""The verbs of two words, by their first word."""
SECTIONS = {
    "Jobs": (*(f"job {verb}" for verb in GROUPS["job"]), "shim", "login"),
    "Scripts and profiles": ("render", "show", "page"),
    "Writing profiles": ("new", "lint", "check", "diff"),
}
"""All verbs, as `incarnate --help` lists them."""
VERBS = tuple(verb for verbs in SECTIONS.values() for verb in verbs if " " not in verb)
"""The verbs of one word."""

# Exit codes; those of errors are their attribute `exit_code`.
SUCCESS = 0
INTERNAL_ERROR = 1
DIFFERENT = 1
"""`diff` and `check` found a difference."""
COMPARISON_ERROR = 2
"""`diff` and `check` could not compare: not 1, which means a difference."""
NO_CASES = 2
INVALID_PROFILE = 3
TIMED_OUT = 124
"""The `--timeout` expired before the job ended; the code of timeout(1)."""
PASS_THROUGH_ERROR = 125
"""A command that passes on the exit code of a script or job failed itself, or there is no such code."""
INTERRUPTED = 130
"""SIGINT, as shells report it."""


class UsageError(NotFoundError):
    """The command line is not valid."""


class NoProfileError(UsageError):
    """The command line names no profile."""


def list_verbs() -> list[str]:
    """Return the names of all verbs, those of two words as `job submit`."""
    return [verb for verbs in SECTIONS.values() for verb in verbs]


def open_profile(profile: str | None, profiles: Iterable[str]) -> Profile:
    """Return the resolved profile that `--profile` names, or else the default one, searched for as `--profiles` says."""
    return load_profile(open_repository(profiles), profile)


def load_profile(repository: Repository, profile: str | None) -> Profile:
    """Return the resolved profile that `--profile` names, or else the default one, from a repository."""
    profile = profile or find_default_profile()
    if not profile:
        names = ", ".join(repository.list_names())
        hint = f"use --profile NAME, as linux for this machine, or set OSPROFILE_PROFILE; known profiles: {names}"
        raise NoProfileError("no profile is given", hint=hint)
    return repository.load_file(profile) if is_profile_path(profile) else repository.load(profile)


def find_default_profile() -> str | None:
    """Return the profile of $OSPROFILE_PROFILE, or of `default = "NAME"` in the user's config.toml or the site's, if any.

    Raises `UsageError` if a file has errors.
    """
    from osprofile.profile.repository import SITE_DIRECTORY, get_config_directory

    if profile := os.environ.get("OSPROFILE_PROFILE"):
        return profile
    directories = filter(None, (get_config_directory(), SITE_DIRECTORY))
    paths = (os.path.join(directory, "config.toml") for directory in directories)
    return next(filter(None, map(_read_default_profile, filter(os.path.exists, paths))), None)


def _read_default_profile(path: str) -> str | None:
    from osprofile.executors.settings import read_table

    try:
        settings = read_table(path, 'default = "NAME"')
    except SettingError as error:
        raise UsageError(error.message, hint=error.hint) from None
    profile = settings.pop("default", None)
    if settings or not isinstance(profile, str | None):
        name = quote_value(next(iter(settings), "default"))
        hint = 'it may have one line: default = "NAME", with the name of a profile'
        raise UsageError(f"{quote_path(path)}: {name} is not a setting with a valid value", hint=hint)
    return profile


def open_repository(profiles: Iterable[str], *, uses_cache: bool = True) -> Repository:
    """Return the repository that searches the directories of `--profiles` first."""
    from osprofile.profile.repository import Repository

    directories = list(profiles)
    for directory in directories:
        if not os.path.isdir(directory):
            fault = "is not a directory" if os.path.exists(directory) else "does not exist"
            raise UsageError(f"--profiles {quote_path(directory)} {fault}")
    return Repository(directories, uses_cache=uses_cache)


def is_profile_path(profile: str) -> bool:
    """Return whether the value of `--profile` is a path: it has a slash, or is an XML file's name."""
    return "/" in profile or profile.endswith(".xml") or profile in {".", ".."}


def check_option(
    option: str,
    is_given: bool,
    *,
    excludes: Mapping[str, object] | None = None,
    needed_by: Mapping[str, object] | None = None,
) -> None:
    """Raise `UsageError` if an option is given with others that have no effect then, or others that need it without it."""
    for other, value in ((excludes if is_given else needed_by) or {}).items():
        if value:
            fault = f"{option} and {other} cannot be used together" if is_given else f"{other} needs {option}"
            raise UsageError(fault)


def parse_assignments(words: Iterable[str], option: str) -> dict[str, str]:
    """Return the values of `NAME=VALUE` words by name; if a name is repeated, the last one counts."""
    values = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {word!r} is not of the form NAME=VALUE")
        _warn_of_list(option, name, value)
        values[name] = value
    return values


def _warn_of_list(option: str, name: str, value: str) -> None:
    """Print a warning that `A=1,B=2` sets one name; `--export` of sbatch has two; names are in capitals, or neither is."""
    others = [word.partition("=")[0] for word in value.split(",")[1:] if "=" in word]
    others = [other for other in others if other.isidentifier() and other.isupper() == name.isupper()]
    if others:
        message = f"incarnate: warning: this {option} sets {quote_name(name)} alone, to all after the first ="
        hint = f"for {quote_name(others[0])}, give another {option}"
        print_message(format_message(message, hint=hint))


def build_context(profile: Profile, words: Iterable[str], job_name: str | None = None) -> dict[str, str]:
    """Return the context of a new job: this user, the working directory, and `--context`.

    The directory's name is `job_name`, or a unique one.
    """
    from osprofile.incarnation import context

    assigned = context.add_target_fields(profile, parse_assignments(words, "--context"))
    values = context.add_user_home(profile, {"USER_NAME": context.get_user_name(), **assigned})
    with suppress(IncarnationError):  # a home that cannot be used: START says so
        context.add_directory(profile, values, job_name or context.generate_unique_name())
    return context.add_user_groups(profile, values)


def print_json(value: object) -> None:
    """Print a result as JSON, with control characters escaped so that a terminal ignores them."""
    print_result(_encode_json(value))


def print_json_list(items: Iterable[object]) -> None:
    """Print a list as `print_json` does, each item when it is encoded: there may be very many."""
    separator = "[\n  "
    for item in items:
        text = separator + _encode_json(item, "\n  ")
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        separator = ",\n  "
    print_result("[]" if separator[0] == "[" else "\n]")


def _encode_json(value: object, line_end: str = "\n") -> str:
    """Return a value as JSON, indented by two blanks more than `line_end` is."""
    from json import dumps

    text = _indent_json(value, line_end)
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(c if c == "\n" or c.isprintable() else dumps(c)[1:-1] for c in text)


def _indent_json(value: object, line_end: str) -> str:
    """Return what `json.dumps` returns with an indent, in half of the time: without one, it is not written in Python."""
    inner = f"{line_end}  "
    if not value or not isinstance(value, dict | list | tuple):
        return _get_encoder(inner)(value)
    if isinstance(value, dict):
        lines, rest = [], dict[object, object]()
        for name, member in value.items():
            if member and isinstance(member, dict | list | tuple):
                lines += [_get_encoder(inner)(rest)[1:-1]] * bool(rest)
                lines.append(f"{_get_encoder(inner)(name)}: {_indent_json(member, inner)}")
                rest = {}
            else:
                rest[name] = member
        lines += [_get_encoder(inner)(rest)[1:-1]] * bool(rest)
        return f"{{{inner}{f',{inner}'.join(lines)}{line_end}}}"
    return f"[{inner}{f',{inner}'.join(_indent_json(item, inner) for item in value)}{line_end}]"


@cache
def _get_encoder(line_end: str) -> Callable[[object], str]:
    """Return a function that encodes a value of which no member has members, each on a line."""
    from json import JSONEncoder

    return JSONEncoder(ensure_ascii=False, separators=(f",{line_end}", ": ")).encode


def print_error(error: OSProfileError, subject: str = "") -> None:
    """Print an error to standard error; `subject` says what it is about, if its message may not."""
    text = str(error)
    subject = f"{subject}: " if subject else ""
    # Errors in a file begin with their location, as a compiler's do: editors can jump to it.
    is_located = isinstance(error, InvalidProfileError) or (
        isinstance(error, CasesError) and error.location is not None
    )
    print_message(text if is_located else f"incarnate: {subject}{text}")


def suggest_command(word: str) -> str:
    """Return a hint if a word resembles a verb, or the second word of a verb of two."""
    from difflib import get_close_matches

    commands = {second: f"{first} {second}" for first, words in GROUPS.items() for second in words}
    commands |= {first: first for first in (*VERBS, *GROUPS)}
    close = get_close_matches(word, commands, n=5, cutoff=0.6)
    # Letters in a wrong order are the commonest mistake, and none for get_close_matches: lnit is as close to list as to lint.
    close.sort(key=lambda command: sorted(command) != sorted(word))
    return f"did you mean the command {commands[close[0]]}?" if close else ""


def run_verb(verb: Callable[..., int], arguments: Mapping[str, Any], first_word: str = "") -> int:
    """Run a verb and return the exit code; errors are printed, never as a traceback.

    `first_word` is the first word of a command line without a verb: it may be a misspelt one.
    """
    try:
        return call_verb(verb, arguments)
    except OSProfileError as error:
        suggestion = suggest_command(first_word) if first_word and isinstance(error, NotFoundError) else ""
        if isinstance(error, NoProfileError) and first_word.islower():  # templates have capital letters
            what = "" if suggestion else "; for a template, a profile must be given"
            error.message = f"{quote_name(first_word)} is not a command{what}"
            error.hint = suggestion or error.hint
        else:
            error.hint = f"{suggestion} {error.hint}".strip()
        print_error(error)
        return error_exit_code(verb, arguments, error.exit_code)
    except BrokenPipeError as error:
        # Before the clause for Exception: with --run, too, a reader that has gone is not error 125.
        return print_failure(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  # the last resort: users get a message
        return error_exit_code(verb, arguments, print_failure(error))


def print_failure(error: Exception) -> int:
    """Print an error that is not an `OSProfileError`, and return the exit code."""
    if isinstance(error, BrokenPipeError):
        # The reader has gone, as with `| head`: print nothing, nor let Python when it closes stdout.
        # This clause comes first since BrokenPipeError is an OSError.
        discard_output()
    elif isinstance(error, OSError):
        # An error without a file's name comes from writing the output, unless it has no number either.
        subject = f"{error.filename or 'output'}: " if error.errno else ""
        print_message(f"incarnate: {subject}{error.strerror or error}")
        discard_output()
    elif isinstance(error, UnicodeEncodeError):  # a word that is not UTF-8 has surrogates
        print_message(f"incarnate: {quote_value(str(error.object))} is not valid UTF-8")
        return UsageError.exit_code
    elif os.environ.get("OSPROFILE_DEBUG"):
        raise error
    else:
        print_message(
            f"incarnate: internal error: {type(error).__name__}: {error}\n"
            "    hint: this is a bug in osprofile; OSPROFILE_DEBUG=1 shows the traceback"
        )
    return INTERNAL_ERROR


def error_exit_code(verb: Callable[..., int], arguments: Mapping[str, Any], code: int) -> int:
    """Return the exit code of a failed verb, which must differ from a script's and from DIFFERENT."""
    if passes_exit_code(verb, arguments):
        return PASS_THROUGH_ERROR
    return max(code, COMPARISON_ERROR) if verb.__name__ in {"diff", "check"} else code


def usage_exit_code(words: Sequence[str]) -> int:
    """Return the exit code for an invalid command line: 125 if 2 could be a script's own."""
    passes = not {"--run", "--wait"}.isdisjoint(words) or words[:2] == ["job", "wait"]
    return PASS_THROUGH_ERROR if passes else UsageError.exit_code


def passes_exit_code(verb: Callable[..., int], arguments: Mapping[str, Any]) -> bool:
    """Return whether a verb's exit code is that of the script or job that it runs."""
    return bool(arguments.get("run") or arguments.get("wait") or verb.__name__ == "wait")


def format_tag_names(field: Field) -> str:
    """Return the names of a field's tags, as in `fast, long`; the empty one is `''`."""
    return ", ".join(tag.name or "''" for tag in field.tags)


def encode_location(location: Location | None) -> str | None:
    """Return `file:line:column` for JSON, or None."""
    return str(location) if location is not None else None
