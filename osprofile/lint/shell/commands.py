"""How a command reads one of its words: as an option, as an operand, or as code that it runs.

Only commands of POSIX and of common systems are known. An unknown command, such as one of a batch
system, may read every word up to a `--` as an option.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, final

from osprofile.lint.shell.position import EXPANSION_MARK, PLACEHOLDER_MARK

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

WRAPPERS: Final = {
    **dict.fromkeys(("busybox", "command", "nohup", "setsid", "time"), ""),
    "env": "uC",
    "exec": "a",
    "nice": "n",
    "stdbuf": "ioe",
    "sudo": "CDghpRrTtUu",
    "timeout": "ks",
}
"""Commands that run another command, and their options that take a value."""

_SILENT_COMMANDS: Final = frozenset({"[", "test", "[[", ":", "true", "false"})
"""Commands that print nothing and read no options."""
SHELLS: Final = frozenset(
    {"sh", "ash", "bash", "dash", "ksh", "ksh93", "lksh", "mksh", "oksh", "pdksh", "posh", "rbash",
     "yash", "zsh"}
)  # fmt: skip
_INTERPRETERS: Final = {
    "lua": "e", "node": "ep", "perl": "eE", "php": "r", "python": "c", "ruby": "e",
}  # fmt: skip
"""Interpreters of other languages, without a version, and their options that take a program."""

_STDIN_NAMES: Final = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_SSH_COMMAND_SETTINGS: Final = ("proxycommand", "localcommand", "knownhostscommand")
_AWK_NAMES: Final = frozenset({"awk", "gawk", "mawk", "nawk"})
_VALUE_OPTIONS: Final = {
    **dict.fromkeys(_AWK_NAMES, "Fvf"),
    **dict.fromkeys(SHELLS, "oO"),
    "sed": "efl",
    "ssh": "BbcDEeFIiJLlmOopQRSWw",
}
"""Options that take a value, for commands that take program text."""

_CODE_LANGUAGES: Final = {
    **dict.fromkeys(_AWK_NAMES, "its program"),
    **dict.fromkeys({*SHELLS, "eval", "trap"}, "shell commands"),
    **dict.fromkeys((".", "source"), "a file of shell commands"),
    "printf": "its format",
    "sed": "its script",
    "ssh": "shell commands of the other side",
}
"""Commands that take program text, and how they read it."""


@final
@dataclass(frozen=True, slots=True)
class ParsedWords:
    """The words of a command before one of its words, sorted into options and operands.

    `pending_option` is the letter of the option whose value comes next, if any.
    """

    name: str
    options: tuple[str, ...]
    operands: tuple[str, ...]
    pending_option: str
    has_double_dash: bool


def unwrap_command(words: Sequence[str]) -> Sequence[str]:
    """Return the words of the command that a wrapper (`nohup`, `env A=b`) runs, if there are any."""
    while words and words[0].rpartition("/")[2] in WRAPPERS:
        name = words[0].rpartition("/")[2]
        index = 1
        while index < len(words) and (words[index][:1] == "-" or "=" in words[index]):
            option = words[index]
            index += 2 if len(option) == 2 and option[1] in WRAPPERS[name] else 1
        index += name == "timeout"  # its first operand is the duration
        if index >= len(words):
            return words
        words = words[index:]
    return words


def parse_words(words: Sequence[str]) -> ParsedWords:
    """Sort the words of a command into options and operands."""
    words = unwrap_command(words)
    name = words[0].rpartition("/")[2] if words else ""
    with_value = _VALUE_OPTIONS.get(name, "")
    signs = {"-", "+"} if name in SHELLS else {"-"}
    options: list[str] = []
    operands: list[str] = []
    pending_option, ended = "", False
    for word in words[1:]:
        if pending_option:
            pending_option = ""
        elif word == "--" and not ended:
            ended = True
        elif word[:1] in signs and len(word) > 1 and not ended and not operands:
            options.append(word)
            pending_option = word[-1] if word[-1] in with_value and word[1] != "-" else ""
        else:
            operands.append(word)
    return ParsedWords(name, tuple(options), tuple(operands), pending_option, ended or "--" in words[1:])


_COMMAND_OPTION_PROGRAMS: Final = frozenset({"flock", "runuser", "script", "su"})
"""Commands whose option -c takes shell commands."""

_NON_CODE_COMMANDS: Final = frozenset({"echo", "printf", "grep", "set", "read", "export"}) | _SILENT_COMMANDS
"""Commands that run none of their words as code; of `printf`, the format has escapes."""

_SHELL_ONLY_COMMANDS: Final = frozenset({".", "source", "eval", "trap"})
"""Commands that only the shell can run: as a word of another command, `.` is a directory."""

_PRINTING_COMMANDS: Final = frozenset({"printf", "echo", "basename", "dirname", "expr", "readlink"})
_FIND_EXEC_OPTIONS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})

SPECIAL_VARIABLES: Final = frozenset(
    {"PATH", "IFS", "ENV", "BASH_ENV", "PS4", "SHELLOPTS", "BASHOPTS", "CDPATH", "PERL5OPT",
     "PYTHONPATH", "PYTHONSTARTUP", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PROMPT_COMMAND"}
)  # fmt: skip
"""Variables that decide which code a shell, an interpreter or the dynamic linker runs."""


def prints_nothing(words: Sequence[str]) -> bool:
    """Return whether a command prints nothing."""
    return parse_words(words).name in _SILENT_COMMANDS


def prints_arguments(words: Sequence[str]) -> bool:
    """Return whether a command prints its words."""
    return parse_words(words).name in _PRINTING_COMMANDS


def detect_stdin_language(words: Sequence[str]) -> str:
    """Return in what language a command reads its standard input as code; empty if it does not."""
    parsed = parse_words(words)
    operands = parsed.operands[1:] if parsed.operands[:1] == ("-",) else parsed.operands
    from_input = not operands or operands[0] in _STDIN_NAMES
    if parsed.name in SHELLS and not _has_option(parsed.options, "c"):
        return "shell commands" if from_input or _has_option(parsed.options, "s") else ""
    if parsed.name in {".", "source"}:
        return _CODE_LANGUAGES[parsed.name] if operands and from_input else ""
    if letters := _INTERPRETERS.get(_strip_version(parsed.name)):
        return "its program" if from_input and not _has_option(parsed.options, letters + "m") else ""
    if parsed.name in {*_AWK_NAMES, "sed"}:
        reads_stdin = any(a == "-f" and b in _STDIN_NAMES for a, b in pairwise(words))
        return _CODE_LANGUAGES[parsed.name] if reads_stdin else ""
    if parsed.name == "ssh" and parsed.operands:
        remote = " ".join(parsed.operands[1:]).split()
        return detect_stdin_language(remote) if remote else _CODE_LANGUAGES["ssh"]
    return "words of a command" if parsed.name == "xargs" else ""


def _has_option(options: Sequence[str], letters: str) -> bool:
    """Return whether one of the letters is among the short options."""
    return any(set(letters) & set(o[1:]) for o in options if o[0] == "-" and o[1] != "-")


def _strip_version(name: str) -> str:
    """Return an interpreter's name without its version: python3.12."""
    return name.rstrip("0123456789.")


def may_be_option(words: Sequence[str], prefix: str, functions: AbstractSet[str]) -> bool:
    """Return whether the command may read its next word as an option if it begins with `-`.

    `prefix` is the known beginning of the word. False for a command whose name is a value (the job's
    program) and for the script's own functions: these define their options themselves.
    """
    if prefix.strip(PLACEHOLDER_MARK + EXPANSION_MARK):
        return False
    parsed = parse_words(words)
    if parsed.name == "find":  # its expression may also follow a --
        return True
    if parsed.has_double_dash or parsed.name in _SILENT_COMMANDS or parsed.name in functions:
        return False
    if parsed.name.startswith(PLACEHOLDER_MARK):
        return False
    # After a format, or after a shell's script, no word is an option.
    return not (parsed.operands and (parsed.name == "printf" or parsed.name in SHELLS))


def detect_argument_language(words: Sequence[str], prefix: str = "") -> str:
    """Return in what language the command reads its next word as code; empty if it does not.

    `prefix` is the known beginning of the word.
    """
    name = parse_words(words).name
    if name in _NON_CODE_COMMANDS and name != "printf":
        return ""
    if prefix.startswith("--wrap=") or "--wrap" in words[-1:]:  # of sbatch: the commands of the job script
        return "shell commands"
    inner_indices = range(1, len(words)) if name not in {*_CODE_LANGUAGES, *_NON_CODE_COMMANDS} else ()
    for index in inner_indices:  # a command that runs another one, such as xargs and srun
        program = words[index].rpartition("/")[2]
        runs_code = program in _CODE_LANGUAGES or _strip_version(program) in _INTERPRETERS
        if not runs_code or program in _SHELL_ONLY_COMMANDS:
            continue
        if language := detect_argument_language(words[index:], prefix):
            return language
    return _detect_option_language(name, words[-1] if words else "", prefix) or _detect_program_language(
        words, prefix
    )


def _detect_option_language(name: str, option: str, prefix: str) -> str:
    """Return in what language a command reads the value of an option as code; empty if it does not."""
    if name == "find" and option in _FIND_EXEC_OPTIONS:
        return "a command's name"
    if name == "env" and (option == "-S" or prefix.startswith(("-S", "--split-string="))):
        return "words of a command"
    takes_commands = name in _COMMAND_OPTION_PROGRAMS or name.startswith(EXPANSION_MARK)  # "$SHELL" -c
    is_value = _ends_with_option(option, "c") or option == "--command" or prefix.startswith("--command=")
    return "shell commands" if takes_commands and is_value else ""


def _ends_with_option(option: str, letters: str) -> bool:
    """Return whether short options end with one of the letters, so that its value comes next."""
    return len(option) > 1 and option[0] == "-" != option[1] and option[-1] in letters


def _detect_program_language(words: Sequence[str], prefix: str) -> str:
    parsed = parse_words(words)
    if parsed.name in _AWK_NAMES and (parsed.pending_option == "v" or prefix.startswith("-v")):
        return "text with backslash escapes"
    first = not parsed.operands
    if letters := _INTERPRETERS.get(_strip_version(parsed.name)):
        attached = prefix[:1] == "-" and prefix[1:2] in set(letters)
        return "its program" if first and (attached or _ends_with_option(words[-1], letters)) else ""
    if parsed.name == "ssh":
        return _detect_ssh_language(parsed, prefix)
    language = _CODE_LANGUAGES.get(parsed.name, "")
    if not language or parsed.pending_option:
        return language if parsed.name == "sed" and parsed.pending_option == "e" else ""
    reads = first or parsed.name == "eval"
    if parsed.name in SHELLS:
        reads = first and _has_option(parsed.options, "c")
    elif parsed.name in _AWK_NAMES or parsed.name == "sed":
        reads = first and not any(o.startswith(("-e", "-f")) for o in parsed.options)
    return language if reads else ""


def _detect_ssh_language(parsed: ParsedWords, prefix: str) -> str:
    if parsed.pending_option == "o" or (prefix.startswith("-o") and not parsed.operands):
        option = prefix.removeprefix("-o").lstrip().casefold()
        return "a command" if not option or option.startswith(_SSH_COMMAND_SETTINGS) else ""
    return _CODE_LANGUAGES["ssh"] if parsed.operands and not parsed.pending_option else ""
