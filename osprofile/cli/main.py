"""The command `incarnate`: finds the verb, parses, calls it.

`render` is put in front of the first word unless that is a verb or an option of the command
itself. Exit codes: 0 done; 1 could not be incarnated; 2 wrong usage, unknown profile or template;
3 bad profile; with `--run` the script's own, and 125 for our errors.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Final

from osprofile.cli import common, options

if TYPE_CHECKING:
    from collections.abc import Sequence

VERBS: Final = ("render", "lint", "show", "fields", "profiles", "deploy")
OWN_OPTIONS: Final = ("--help", "-h", "--version", "--install-completion", "--show-completion")
_COMPLETE: Final = "_INCARNATE_COMPLETE"


def main() -> None:
    """Run the command line of this process and end it with the command's exit code."""
    sys.exit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    """Run a command line (without the command's name) and give the exit code."""
    if _COMPLETE in os.environ:
        return _complete()
    implicit = bool(words) and words[0] not in VERBS and words[0] not in OWN_OPTIONS
    full = ["render", *words] if implicit else list(words)
    if full and full[0] in VERBS:
        verb = load(full[0])
        arguments = options.parse(verb, full[1:], os.environ)
        if arguments is not None:
            return common.guarded(verb, arguments, _meant(words[0]) if implicit else "")
        if implicit and not words[0].startswith("-") and (hint := _meant(words[0])):
            common.tell(
                f"incarnate: these words do not fit template {words[0]!r}\n    hint: {hint}"
            )
            return common.UsageError.exit_code
    return _with_typer(full)


def load(verb: str) -> options.Verb:
    """Give the function of a verb: of the same name, in the module of the same name."""
    function: options.Verb = getattr(import_module(f"osprofile.cli.{verb}"), verb)
    return function


def _meant(word: str) -> str:
    """Give a hint where a word is nearly a verb."""
    from difflib import get_close_matches

    close = get_close_matches(word, VERBS, n=1, cutoff=0.6)
    return f"did you mean the command {close[0]}?" if close else ""


def _with_typer(words: Sequence[str]) -> int:
    from osprofile import __version__
    from osprofile.cli.app import build

    app = build({verb: lambda verb=verb: load(verb) for verb in VERBS}, __version__)  # type: ignore[misc]
    try:
        app(list(words) or ["--help"], prog_name="incarnate")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else common.INTERNAL_ERROR
    return 0


def _complete() -> int:
    """Answer a completion call of the shell: its line gets the verb that it may lack, too."""
    line = os.environ.get("_TYPER_COMPLETE_ARGS", "")
    command, _, rest = line.partition(" ")
    first, blank, _ = rest.lstrip().partition(" ")
    if blank and first not in VERBS and first not in OWN_OPTIONS:
        os.environ["_TYPER_COMPLETE_ARGS"] = f"{command} render {rest.lstrip()}"
    return _with_typer([])
