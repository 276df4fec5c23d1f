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
from osprofile.cli.common import VERBS

if TYPE_CHECKING:
    from collections.abc import Sequence

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
            return common.guarded(verb, arguments, words[0] if implicit else "")
        if implicit and not words[0].startswith("-") and (hint := common.meant(words[0])):
            common.tell(
                f"incarnate: these words do not fit template {words[0]!r}\n    hint: {hint}"
            )
            return common.UsageError.exit_code
    return _with_typer(full)


def load(verb: str) -> options.Verb:
    """Give the function of a verb: of the same name, in the module of the same name."""
    function: options.Verb = getattr(import_module(f"osprofile.cli.{verb}"), verb)
    return function


def _with_typer(words: Sequence[str]) -> int:
    from osprofile import __version__
    from osprofile.cli.app import build

    app = build({verb: load(verb) for verb in VERBS}, __version__)
    try:
        app(list(words) or ["--help"], prog_name="incarnate")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else common.INTERNAL_ERROR
    return 0


def _complete() -> int:
    """Answer a completion call of the shell: its line gets the verb that it may lack, too."""
    for name in ("_TYPER_COMPLETE_ARGS", "COMP_WORDS"):
        # bash gives the words, a line each, and the index of the one to complete.
        words = os.environ.get(name, "").split(maxsplit=1)
        first = words[1].split()[0] if len(words) > 1 else ""
        begun = len(words) > 1 and words[1] == first
        if first and not begun and first not in VERBS and first not in OWN_OPTIONS:
            os.environ[name] = f"{words[0]}\nrender\n{words[1]}"
            if name == "COMP_WORDS":
                os.environ["COMP_CWORD"] = str(int(os.environ.get("COMP_CWORD", "0")) + 1)
    return _with_typer([])
