"""What a word is to the command that it is given to: an option, an operand, a program's text.

Only what POSIX and every system have in common is known here; whatever a batch system brings is
just a command, whose words are options until a `--`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from osprofile.lint.shell.position import EXPANSION, GAP

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

WRAPPERS: Final = frozenset({"command", "exec", "env", "nice", "nohup", "setsid", "sudo", "time"})
"""Commands whose first operand is the command that they run."""

_NO_OPTIONS: Final = frozenset({"[", "test", "[[", ":", "true", "false"})
SHELLS: Final = frozenset({"sh", "bash", "dash", "ksh", "zsh"})
_AWKS: Final = frozenset({"awk", "gawk", "mawk", "nawk"})
_WITH_VALUE: Final = {
    **dict.fromkeys(_AWKS, "Fvf"),
    **dict.fromkeys(SHELLS, "o"),
    "sed": "efl",
    "ssh": "BbcDEeFIiJLlmOopQRSWw",
}
"""Options that take a value, of the commands that take a program's text."""

_LANGUAGES: Final = {
    **dict.fromkeys(_AWKS, "its program"),
    **dict.fromkeys({*SHELLS, "eval", "trap"}, "shell commands"),
    **dict.fromkeys((".", "source"), "a file of shell commands"),
    "printf": "its format",
    "sed": "its script",
    "ssh": "shell commands of the other side",
}
"""What the commands that take a program's text read it as."""


@final
@dataclass(frozen=True, slots=True)
class Before:
    """The words that a command has before one of its words, sorted.

    `waiting` is the option whose value comes next, `ended` says whether a `--` stood there.
    """

    name: str
    options: tuple[str, ...]
    operands: tuple[str, ...]
    waiting: str
    ended: bool


def unwrapped(words: Sequence[str]) -> Sequence[str]:
    """Give the words of the command that a wrapper (`nohup`, `env A=b`) runs, if they are there."""
    while words and words[0].rpartition("/")[2] in WRAPPERS:
        at = 1
        while at < len(words) and (words[at][:1] == "-" or "=" in words[at]):
            at += 1
        if at == len(words):
            return words
        words = words[at:]
    return words


def sort(words: Sequence[str]) -> Before:
    """Sort the words of a command."""
    words = unwrapped(words)
    name = words[0].rpartition("/")[2] if words else ""
    with_value = _WITH_VALUE.get(name, "")
    options: list[str] = []
    operands: list[str] = []
    waiting, ended = "", False
    for word in words[1:]:
        if waiting:
            waiting = ""
        elif word == "--" and not ended:
            ended = True
        elif word.startswith("-") and len(word) > 1 and not ended and not operands:
            options.append(word)
            waiting = word[-1] if word[-1] in with_value and word[1] != "-" else ""
        else:
            operands.append(word)
    return Before(name, tuple(options), tuple(operands), waiting, ended or "--" in words[1:])


_SUPERUSERS: Final = frozenset({"su", "runuser"})
_TEXT_COMMANDS: Final = frozenset({"echo", "printf", "grep", "set", "read", "export"}) | _NO_OPTIONS
"""Commands that run none of their words."""

_BUILTINS: Final = frozenset({".", "source", "eval", "trap"})
"""What the shell alone can run: `.` among the words of another command is a directory."""

_PRINTERS: Final = frozenset({"printf", "echo", "basename", "dirname", "expr", "readlink"})
_RUNNING_OPTIONS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})

SPECIAL_VARIABLES: Final = frozenset(
    {"PATH", "IFS", "ENV", "BASH_ENV", "PS4", "SHELLOPTS", "BASHOPTS", "CDPATH", "PERL5OPT",
     "PYTHONPATH", "PYTHONSTARTUP", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PROMPT_COMMAND"}
)  # fmt: skip
"""Variables by which a shell or the system decides what is run."""


def is_silent(words: Sequence[str]) -> bool:
    """Return whether a command prints nothing."""
    return sort(words).name in _NO_OPTIONS


def prints(words: Sequence[str]) -> bool:
    """Return whether a command prints its words."""
    return sort(words).name in _PRINTERS


def reads_commands(words: Sequence[str]) -> str:
    """Return as what code a command reads its standard input; nothing if as none."""
    before = sort(words)
    if before.name in SHELLS and not any("c" in o for o in before.options if o[1] != "-"):
        given = before.operands and not any("s" in o for o in before.options)
        return "" if given else "shell commands"
    if before.name == "xargs":
        return "words of a command"
    return _LANGUAGES["ssh"] if before.name == "ssh" and len(before.operands) == 1 else ""


def may_be_option(words: Sequence[str], prefix: str, functions: AbstractSet[str]) -> bool:
    """Say whether the command may take a word for an option, should it begin with a `-`.

    `prefix` is what the word surely begins with. The payload of a job, whose name is itself a
    value, takes what it likes; so do a script's own functions.
    """
    if prefix.strip(GAP + EXPANSION):
        return False
    before = sort(words)
    if before.name == "find":  # its expression may stand behind a -- too
        return True
    if before.ended or before.name in _NO_OPTIONS or before.name in functions:
        return False
    if before.name.startswith(GAP):
        return False
    # Behind a format, or behind a shell's script, nothing is an option any more.
    return not (before.operands and (before.name == "printf" or before.name in SHELLS))


def is_program(words: Sequence[str], prefix: str = "") -> str:
    """Say as what code the command reads the word that comes next; nothing if as none.

    `prefix` is what the word surely begins with.
    """
    name = sort(words).name
    if name in _TEXT_COMMANDS and name != "printf":
        return ""
    if prefix.startswith("--wrap=") or "--wrap" in words[-1:]:  # as several batch systems have it
        return "shell commands"
    inner = range(1, len(words)) if name not in {*_LANGUAGES, *_TEXT_COMMANDS} else ()
    for at in inner:  # a command that runs another one, as xargs and srun do
        program = words[at].rpartition("/")[2]
        if program not in _LANGUAGES or program in _BUILTINS:
            continue
        if found := is_program(words[at:], prefix):
            return found
    if name == "find" and words[-1] in _RUNNING_OPTIONS:
        return "a command's name"
    if name in _SUPERUSERS and "-c" in words and words[-1] in {"-c", "--command"}:
        return "shell commands"
    return _own_program(words, prefix)


def _own_program(words: Sequence[str], prefix: str) -> str:
    before = sort(words)
    if before.name in _AWKS and (before.waiting == "v" or prefix.startswith("-v")):
        return "text with backslash escapes"
    language = _LANGUAGES.get(before.name, "")
    first = not before.operands
    if not language or before.waiting:
        return language if before.name == "sed" and before.waiting == "e" else ""
    if before.name == "ssh":
        return "" if first else language
    if before.name in SHELLS:
        given = any("c" in option and option[1] != "-" for option in before.options)
        return language if given and first else ""
    if before.name in _AWKS or before.name == "sed":
        given = any(option.startswith(("-e", "-f")) for option in before.options)
        return language if first and not given else ""
    return language if first or before.name == "eval" else ""
