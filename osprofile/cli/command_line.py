"""The command line of `incarnate`: finds the verb, parses its arguments and calls it.

The verb `render` is assumed unless the first word is a verb or an option of the command itself.

Exit codes: 0 success; 1 the template could not be incarnated; 2 wrong usage, unknown profile or
template; 3 invalid profile. `--run` passes on the script's exit code, and `job wait` the job's; both
use 125 for errors of their own.
"""

from __future__ import annotations

import os
import re
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from osprofile.cli import common, options
from osprofile.cli.common import GROUPS, VERBS
from osprofile.errors import OSProfileError
from osprofile.late import import_costly_modules_late
from osprofile.text import quote_name, quote_shell_word, suggest_names

if TYPE_CHECKING:
    from collections.abc import Sequence

GLOBAL_OPTIONS: Final = ("--help", "-h", "--version", "-V", "--install-completion", "--show-completion")
_COMPLETION_VARIABLE: Final = "_INCARNATE_COMPLETE"
_OTHER_WORDS: Final = {
    "deploy": ("render", "--deploy"),
    "explain": ("lint", "--explain"),
    "fields": ("show", "--fields"),
    "job abort": ("job", "cancel"),
    "job status": ("job", "list"),
    "job watch": ("job", "list", "--watch"),
    "profiles": ("show", "--list"),
    "schema": ("show", "--schemas"),
    "trace": ("render", "--trace"),
}
"""Commands by words that lead to them, too: each had a verb of its own once, and ABORT is the template."""
_VERBS_BY_OTHER_WORD: Final = {
    **dict.fromkeys(("abort", "kill", "del", "stop", "terminate", "scancel", "qdel", "bkill"), "cancel"),
    **dict.fromkeys(
        ("delete", "remove", "rm"), "cancel, which ends a job, or forget, which deletes its record"
    ),
    **dict.fromkeys(
        ("stat", "state", "query", "qstat", "poll", "ls", "ps", "queue", "squeue", "bjobs"), "list"
    ),
    **dict.fromkeys(("info", "describe", "details", "history", "sacct", "qacct"), "show"),
    **dict.fromkeys(("log", "logs", "cat", "stdout", "tail", "peek"), "output"),
    **dict.fromkeys(("download", "get", "pull", "collect", "scp", "rsync"), "fetch"),
    **dict.fromkeys(("run", "start", "sub", "sbatch", "qsub", "bsub"), "submit"),
    **dict.fromkeys(("release", "unhold", "continue", "qrls"), "resume"),
    **dict.fromkeys(("retry", "resubmit", "requeue", "repeat", "restart"), "rerun"),
    **dict.fromkeys(("suspend", "pause", "qhold"), "hold"),
}
"""The commands of a group that are meant by words of batch systems and other tools."""


def run_command_line(words: Sequence[str]) -> int:
    """Run a command line (without the command's name) and return the exit code."""
    if _COMPLETION_VARIABLE in os.environ:
        return _answer_completion()
    import_costly_modules_late()
    words = _replace_other_words(words)
    if words and words[0] in GROUPS:
        return _run_group_verb(*words)
    if words and words[0] == "help":
        return _show_help(words[1:])
    if list(words) == ["version"]:
        words = ["--version"]
    implicit = bool(words) and words[0] not in VERBS and words[0] not in GLOBAL_OPTIONS
    full = ["render", *words] if implicit else list(words)
    if full and full[0] in VERBS:
        verb = load_verb(full[0])
        arguments = options.parse_arguments(verb, full[1:], os.environ)
        if arguments is not None and not (implicit and arguments["template"] in {*VERBS, *GROUPS}):
            return common.run_verb(verb, arguments, words[0] if implicit else "")
        if message := _explain_misuse(full, words[0] if implicit else ""):
            common.print_message(message)
            return common.usage_exit_code(words)
    return _run_typer(full)


def _explain_misuse(words: Sequence[str], first: str) -> str:
    """Return the error of a command line that does not fit, where more can be said than typer does; empty if not."""
    before = pairwise(words if words[0] == "render" else ())
    if word := next((w for last, w in before if re.match("[A-Z][A-Z0-9_]*=", w) and last[:1] != "-"), ""):
        hint = f"a field is set by --set {quote_shell_word(word)}"
        return f"incarnate: {quote_name(word)} is no option\n    hint: {hint}"
    at = next((n for n, w in enumerate(words) if first[:1] == "-" and n > 1 and w in {*VERBS, *GROUPS}), 0)
    if at:
        import shlex  # late: only this error needs it

        end = at + 1 + (words[at] in GROUPS)
        moved = shlex.join([*words[at:end], *words[1:at], *words[end:]])
        return f"incarnate: the command comes before its options\n    hint: incarnate {moved}"
    meant = _VERBS_BY_OTHER_WORD.get(first, "")
    hint = (
        f"did you mean job {meant}?" if meant else common.suggest_command(first) if first[:1] != "-" else ""
    )
    if first and hint:
        return f"incarnate: {quote_name(first)} is not a command\n    hint: {hint}"
    return ""


def _replace_other_words(words: Sequence[str]) -> Sequence[str]:
    """Return a command line with the verb and the option in place of another word for them."""
    for count in (1, 2):
        if command := _OTHER_WORDS.get(" ".join(words[:count])):
            return [*command, *words[count:]]
    return words


def _run_group_verb(group: str, verb: str = "--help", *words: str) -> int:
    if verb in GROUPS[group]:
        function = load_verb(f"{group} {verb}")
        arguments = options.parse_arguments(function, words, os.environ)
        if arguments is not None:
            return common.run_verb(function, arguments)
    elif verb == "help":
        return _show_help([group, *words])
    elif not verb.startswith("-"):
        message = f"{group} has no command {quote_name(verb)}"
        error = common.UsageError(message, hint=_suggest_verb(group, verb))
        common.print_error(error)
        return common.usage_exit_code(words)
    return _run_typer([group, verb, *words])


def _suggest_verb(group: str, word: str) -> str:
    """Return a hint for a word that is no verb of a group."""
    meant = _VERBS_BY_OTHER_WORD.get(word)
    return f"did you mean {meant}?" if meant else suggest_names(word, GROUPS[group])


def _show_help(words: Sequence[str]) -> int:
    """Print the help of a command, or of `incarnate` itself."""
    words, rest = _replace_other_words(words), [w for w in words[1:] if w == "all"]
    words = words[: len(words) - len(rest)]
    name, known = " ".join(w for w in words if not w.startswith("-")), {*VERBS, *GROUPS, *common.list_verbs()}
    if not name or name in known:
        return _run_typer([*words, "--help", *rest])
    in_group = len(words) == 2 and words[0] in GROUPS
    hint = _suggest_verb(*words) if in_group else suggest_names(name, known)
    error = common.UsageError(f"there is no command {quote_name(name)}", hint=hint)
    common.print_error(error)
    return error.exit_code


def load_verb(verb: str) -> options.Verb:
    """Return the function of a verb, which has its name, in the module of the same name.

    That of a verb of two words (`job submit`) is in the module `verbs` of the package `job`.
    """
    group, _, second = verb.rpartition(" ")
    module = import_module(f"osprofile.cli.{group}.verbs" if group else f"osprofile.cli.{verb}")
    # A function named `list` would hide the built-in type in its module.
    function: options.Verb = getattr(module, f"{second}_" if second == "list" else second)
    return function


def _run_typer(words: Sequence[str]) -> int:
    from osprofile import __version__
    from osprofile.cli.app import build_app, run_app

    verbs = {verb: load_verb(verb) for verb in _select_verbs(words)}
    is_completion = _COMPLETION_VARIABLE in os.environ
    listed = () if is_completion else [v for v in verbs if v.split() != list(words[: len(v.split())])]
    app = build_app(verbs, __version__, listed=listed)
    try:
        return run_app(app, list(words) or ["--help"])
    except (OSError, UnicodeError) as error:
        if words[:1] != ["--install-completion"]:
            return common.print_failure(error)
        path = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        message = f"the completion was not installed: {path}"
        hint = "incarnate --show-completion prints it, for a file that your shell reads"
        common.print_error(OSProfileError(message, hint=hint))
        return common.INTERNAL_ERROR
    except Exception as error:  # noqa: BLE001  # of --help or completion: run_verb has handled a verb's own
        return common.print_failure(error)


def _select_verbs(words: Sequence[str]) -> list[str]:
    """Return the verbs that typer needs for a command line."""
    if not words or words[0] in GLOBAL_OPTIONS:
        return common.list_verbs()
    in_group = [verb for verb in common.list_verbs() if verb.startswith(f"{words[0]} ")]
    return in_group or list(VERBS)


def _answer_completion() -> int:
    """Answer the shell's request for completions, with the verb `render` inserted if there is none."""
    for name in ("_TYPER_COMPLETE_ARGS", "COMP_WORDS"):
        # bash sends one word per line, and in COMP_CWORD the index of the one to complete; zsh and
        # fish send the command line.
        words = os.environ.get(name, "").split(maxsplit=1)
        first = words[1].split()[0] if len(words) > 1 else ""
        is_unfinished = len(words) > 1 and words[1] == first
        if first and not is_unfinished and first not in (*VERBS, *GROUPS, *GLOBAL_OPTIONS):
            os.environ[name] = f"{words[0]}\nrender\n{words[1]}"
            if name == "COMP_WORDS":
                os.environ["COMP_CWORD"] = str(int(os.environ.get("COMP_CWORD", "0")) + 1)
    return _run_typer([])
