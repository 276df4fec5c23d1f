"""The command `incarnate`: finds the verb, parses, calls it.

`render` is put in front of the first word unless that is a verb or an option of the command
itself. Exit codes: 0 done; 1 could not be incarnated; 2 wrong usage, unknown profile or template;
3 bad profile; with `--run` the script's own, with `job wait` the job's, and 125 for our errors.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Final

from osprofile.cli import common, options
from osprofile.cli.common import GROUPS, VERBS
from osprofile.errors import quote_name, suggest_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GLOBAL_OPTIONS: Final = ("--help", "-h", "--version", "--install-completion", "--show-completion")
_COMPLETION_VARIABLE: Final = "_INCARNATE_COMPLETE"


def main() -> None:
    """Run the command line of this process and end it with the command's exit code."""
    common.open_missing_streams()
    sys.exit(run_command_line(sys.argv[1:]))


def run_command_line(words: Sequence[str]) -> int:
    """Run a command line (without the command's name) and give the exit code."""
    if _COMPLETION_VARIABLE in os.environ:
        return _answer_completion()
    if words and words[0] in GROUPS:
        return _run_group_verb(*words)
    implicit = bool(words) and words[0] not in VERBS and words[0] not in GLOBAL_OPTIONS
    full = ["render", *words] if implicit else list(words)
    if full and full[0] in VERBS:
        verb = load_verb(full[0])
        arguments = options.parse_arguments(verb, full[1:], os.environ)
        if arguments is not None:
            return common.run_verb(verb, arguments, words[0] if implicit else "")
        if implicit and not words[0].startswith("-") and (hint := common.suggest_command(words[0])):
            common.print_message(
                f"incarnate: these words do not fit template {words[0]!r}\n    hint: {hint}"
            )
            return common.usage_exit_code(words)
    return _run_typer(full)


def _run_group_verb(group: str, verb: str = "--help", *words: str) -> int:
    """Run a verb of two words."""
    if verb in GROUPS[group]:
        function = load_verb(f"{group} {verb}")
        arguments = options.parse_arguments(function, words, os.environ)
        if arguments is not None:
            return common.run_verb(function, arguments)
    elif not verb.startswith("-"):
        error = common.UsageError(
            f"{group} has no command {quote_name(verb)}", hint=suggest_names(verb, GROUPS[group])
        )
        common.print_error(error)
        return common.usage_exit_code(words)
    return _run_typer([group, verb, *words])


def load_verb(verb: str) -> options.Verb:
    """Give the function of a verb: of the same name, in the module of the same name.

    A verb of two words (`job submit`) is in the module `verbs` of the package `job`.
    """
    group, _, second = verb.rpartition(" ")
    module = import_module(f"osprofile.cli.{group}.verbs" if group else f"osprofile.cli.{verb}")
    # `list_`: a name that hides a type would be in the way of its own module.
    function: options.Verb = getattr(module, f"{second}_" if second == "list" else second)
    return function


def _run_typer(words: Sequence[str]) -> int:
    from osprofile import __version__
    from osprofile.cli.app import build_app, run_app

    app = build_app({verb: load_verb(verb) for verb in _select_verbs(words)}, __version__)
    try:
        return run_app(app, list(words) or ["--help"])
    except Exception as error:  # noqa: BLE001  # what a verb raises is told before: this is of --help and its like
        return common.print_failure(error)


def _select_verbs(words: Sequence[str]) -> Iterator[str]:
    """Give the verbs that a command line is about; to build all of them takes its time."""
    of_group = [word for word in words[:1] if word in GROUPS]
    if not of_group:
        yield from VERBS
    for group in of_group if words else GROUPS:
        yield from (f"{group} {second}" for second in GROUPS[group])


def _answer_completion() -> int:
    """Answer a completion call of the shell: its line gets the verb that it may lack, too."""
    for name in ("_TYPER_COMPLETE_ARGS", "COMP_WORDS"):
        # bash gives the words, a line each, and the index of the one to complete.
        words = os.environ.get(name, "").split(maxsplit=1)
        first = words[1].split()[0] if len(words) > 1 else ""
        begun = len(words) > 1 and words[1] == first
        if first and not begun and first not in (*VERBS, *GROUPS, *GLOBAL_OPTIONS):
            os.environ[name] = f"{words[0]}\nrender\n{words[1]}"
            if name == "COMP_WORDS":
                os.environ["COMP_CWORD"] = str(int(os.environ.get("COMP_CWORD", "0")) + 1)
    return _run_typer([])
