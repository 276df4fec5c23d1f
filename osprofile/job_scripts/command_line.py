"""Command lines and directives of batch systems: what is not in the table is refused by name."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import RequestError
from osprofile.late import NamedTuple
from osprofile.text import quote_name, quote_path, quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_BLANKS: Final = " \t"


@final
class UsageError(RequestError):
    """A command line, or a directive of a script, that is invalid or not supported."""

    exit_code = 2


@final
class Option(NamedTuple):
    """An option: its name in the result, its flags (`-n`, `--ntasks`), and its value.

    The name is an attribute of a JobDescription, perhaps with a word behind a dot: `memory.cpu`; or what the reader knows.
    `dropped`: it changes nothing. Empty: the real command has it, and there is no field for it; `help` says why, if it is
    never passed. `value`: what the help calls the value; empty if there is none. With `is_optional`, a value is given only
    as in `--flag=value`. `is_harmless`: it is about where and when a job runs, and not about what it does.
    """

    name: str
    flags: tuple[str, ...]
    value: str = ""
    help: str = ""
    is_optional: bool = False
    system: str = ""
    is_harmless: bool = False


def select_options(table: Sequence[Option], system: str) -> list[Option]:
    """Return the options that the commands of a batch system have."""
    return [option for option in table if option.system in {"", system}]


@final
class OptionValue(NamedTuple):
    """A value of an option, with the flag that was used; an option without a value has the empty text.

    `where` begins the messages about it: `sim.sh:3: `. As a text, it is that with the flag. `option`: its row, if it has
    one.
    """

    flag: str
    text: str = ""
    where: str = ""
    option: Option | None = None

    def __str__(self) -> str:
        return f"{self.where}{self.flag}"


class CommandLine(NamedTuple):
    """The options by their names, each with all its values in order, and the other words.

    `has_separator`: the operands stand behind `--`.
    """

    options: Mapping[str, Sequence[OptionValue]]
    operands: Sequence[str] = ()
    has_separator: bool = False

    def get(self, name: str) -> OptionValue | None:
        """Return the last value of an option; None if it is not given."""
        values = self.options.get(name)
        return values[-1] if values else None

    def get_text(self, name: str) -> str | None:
        """Return the text of the last value of an option; None if it is not given."""
        value = self.get(name)
        if value is not None and name == "array":
            return re.sub(r"(?<![0-9])0+(?=[0-9])", "", value.text)  # 01-10 is decimal
        return None if value is None else value.text

    def __contains__(self, name: object) -> bool:
        return name in self.options

    def get_all(self, name: str) -> Sequence[OptionValue]:
        """Return all values of an option."""
        return self.options.get(name, ())

    def leave_out(self, *names: str) -> CommandLine:
        """Return the command line without some options."""
        return self._replace(options={n: values for n, values in self.options.items() if n not in names})


class Directive(NamedTuple):
    """The words of a directive; `where` says where it is, for messages: `sim.sh:3: `."""

    where: str
    words: Sequence[str]


def parse_words(
    table: Sequence[Option],
    words: Iterable[str],
    *,
    ends_at_operand: bool,
    where: str = "",
    keeps_others: bool = False,
) -> CommandLine:
    """Return what a command line says, as getopt_long would read it: long flags may be abbreviated.

    `ends_at_operand`: the words from the first operand on are operands. `where` begins the messages. `keeps_others`: what
    has no name in the table is in the result, with the empty name and its longest flag; else it is refused. Raises
    `UsageError`.
    """
    by_flag = {flag: option for option in table for flag in option.flags}
    options: dict[str, list[OptionValue]] = {}
    operands: list[str] = []
    has_separator = False
    rest = iter(words)
    for word in rest:
        if word == "--":
            has_separator = not operands
            operands += rest
        elif word == "-" or not word.startswith("-"):
            operands += [word, *(rest if ends_at_operand else ())]
        elif word.startswith("--"):
            flag, equals, text = word.partition("=")
            flag = _complete_flag(by_flag, flag, where)
            keeps = keeps_others and bool(where or equals or flag in by_flag)
            option = _find_option(by_flag, flag, where, keeps_others=keeps)
            value = _read_value(option, flag, text if equals else None, rest, where)
            options.setdefault(option.name, []).append(value)
        else:
            for option, value in _read_cluster(by_flag, word, rest, where, keeps_others=keeps_others):
                options.setdefault(option.name, []).append(value)
    return CommandLine(options, operands, has_separator)


def parse_long_words(table: Sequence[Option], directives: Iterable[Directive]) -> CommandLine:
    """Return what directives say, as bsub and the qsub of Grid Engine read them: flags such as `-cwd` are whole words.

    An option that is not in the table has the empty name, and the next word as its value if that is no option. Raises
    `UsageError`.
    """
    by_flag = {flag: option for option in table for flag in option.flags}
    options: dict[str, list[OptionValue]] = {}
    for where, words in directives:
        rest = list(words)
        while rest:
            flag = rest.pop(0)
            if not flag.startswith("-"):
                hint = "quote a value that has blanks"
                raise UsageError(f"{where}{quote_value(flag)} is not an option", hint=hint)
            option = by_flag.get(flag, Option("", (flag,), "VALUE", is_optional=True))
            count = len(option.value.split())
            if option.is_optional and (not rest or rest[0].startswith("-")):
                count = 0
            if len(rest) < count:
                raise UsageError(f"{where}option {flag} needs a value", hint=f"as in {flag} {option.value}")
            value = OptionValue(flag, " ".join(rest[:count]), where, option)
            del rest[:count]
            options.setdefault(option.name, []).append(value)
    return CommandLine(options)


def _read_cluster(
    by_flag: Mapping[str, Option], word: str, rest: Iterator[str], where: str, *, keeps_others: bool
) -> Iterator[tuple[Option, OptionValue]]:
    """Yield the options of a word such as `-n1`, `-h` or `-ho`, whose value is the next word."""
    for i, letter in enumerate(word[1:], 2):
        flag = f"-{letter}"
        keeps = keeps_others and bool(where or flag in by_flag)
        option = _find_option(by_flag, flag, where, keeps_others=keeps)
        if option.value and not option.is_optional:
            yield option, _read_value(option, flag, word[i:] or None, rest, where)
            return
        yield option, _read_value(option, flag, None, rest, where)


def _complete_flag(by_flag: Mapping[str, Option], flag: str, where: str) -> str:
    """Return the flag that `flag` is or abbreviates. Raises `UsageError` if it abbreviates those of several options."""
    if flag in by_flag:
        return flag
    flags = [known for known in by_flag if known.startswith(flag)]
    if any(by_flag[known] != by_flag[flags[0]] for known in flags):
        hint = f"it may be {', '.join(flags)}: write it in full"
        raise UsageError(f"{where}option {quote_name(flag)} is ambiguous", hint=hint)
    return flags[0] if flags else flag


def refuse_options(texts: str, reason: str = "") -> list[Option]:
    """Return options that have no field, of texts such as `-w,--nodelist=`; a `=` at the end: with a value; `[=]`: with or
    without one; `~` before it: harmless. They count when another flag is abbreviated.
    """  # noqa: D205
    options = []
    for text in texts.split():
        flags = text.removesuffix("[=]").removesuffix("=").removeprefix("~").split(",")
        value = "VALUE" if text.endswith(("=", "[=]")) else ""
        option = Option("", tuple(flags), value, reason, is_optional=text.endswith("[=]"))
        options.append(option._replace(is_harmless=text.startswith("~")))
    return options


def _find_option(by_flag: Mapping[str, Option], flag: str, where: str, *, keeps_others: bool) -> Option:
    option = by_flag.get(flag)
    if keeps_others:
        return option or Option("", (flag,), "VALUE", is_optional=True)
    if option is None or not option.name:
        hint = "leave it out; --help lists what is supported"
        message = (
            f"{where}option {quote_name(flag)} is not supported: this command stands in for the real one"
        )
        raise UsageError(message, hint=hint)
    return option


def _read_value(option: Option, flag: str, text: str | None, rest: Iterator[str], where: str) -> OptionValue:
    if not option.value and text is not None:
        raise UsageError(f"{where}option {flag} takes no value: {quote_value(text)}", hint=f"write {flag}")
    if text is None and option.value and not option.is_optional:
        text = next(rest, None)
        if text is None:
            raise UsageError(f"{where}option {flag} needs a value", hint=f"as in {flag} {option.value}")
    return OptionValue(flag, text or "", where, option)


def merge_lines(lines: Iterable[CommandLine]) -> CommandLine:
    """Return the options of several lines as one; a later line comes behind the earlier ones.

    The operands are those of the last line.
    """
    options: dict[str, list[OptionValue]] = {}
    operands: Sequence[str] = ()
    for line in lines:
        for name, values in line.options.items():
            options.setdefault(name, []).extend(values)
        operands = line.operands
    return CommandLine(options, operands)


def read_directives(
    script: str, prefix: str, format_where: Callable[[int], str], *, is_everywhere: bool = False
) -> list[Directive]:
    """Return the directives of a script: the comments that begin with `prefix`, up to its first command line.

    With `is_everywhere`, those after it, too. `format_where(line)` begins the messages about a line. Raises `UsageError`
    for an open quote, and where a directive continues one.
    """
    directives = []
    lines = iter(enumerate(script.split("\n"), 1))
    for number, line in lines:
        if line.strip() and not line.lstrip().startswith("#") and not is_everywhere:
            break
        text = line.lstrip(_BLANKS) if prefix == "#PBS" else line
        rest = text.removeprefix(prefix)
        if rest != text and (not rest or rest[0] in f"{_BLANKS}-"):
            where = format_where(number)
            if prefix == "#SBATCH":  # sbatch continues no line: it drops the backslash
                rest = rest.removesuffix("\\")
            while prefix == "#PBS" and rest.rstrip().endswith("\\"):  # which qsub drops, with the line end
                continuation = next(lines, (0, ""))[1]
                if continuation.lstrip(_BLANKS).startswith(prefix):
                    raise UsageError(
                        f"{where}the line that continues it begins with {prefix}", hint="leave that out"
                    )
                rest = rest.rstrip()[:-1] + continuation
            directives.append(Directive(where, split_words(rest, where)))
    return directives


def parse_directives(
    table: Sequence[Option], directives: Iterable[Directive], *, keeps_others: bool = False
) -> list[CommandLine]:
    """Return what each directive says, as `parse_words` does. Raises `UsageError`, also for what is no option."""
    lines = []
    for where, words in directives:
        if words and words[0] == "hetjob":
            raise UsageError(
                f"{where}heterogeneous jobs are not supported", hint="submit a job for each part"
            )
        line = parse_words(table, words, ends_at_operand=False, where=where, keeps_others=keeps_others)
        if line.operands:
            hint = "quote a value that has blanks, or a # that begins a comment"
            raise UsageError(f"{where}{quote_value(line.operands[0])} is not an option", hint=hint)
        if "wrap" in line:
            raise UsageError(
                f"{where}--wrap is for the command line", hint="write the command into the script"
            )
        lines.append(line)
    return lines


def split_words(text: str, where: str = "") -> list[str]:
    r"""Split a line at blanks; '...', "..." and \ quote, and # at the beginning of a word begins a comment."""
    words: list[str] = []
    word: str | None = None
    quote = ""
    characters = iter(text)
    for c in characters:
        if quote:
            if c == quote:
                quote = ""
            elif c == "\\" and quote == '"':
                word = f"{word}{next(characters, c)}"
            else:
                word = f"{word}{c}"
        elif c in _BLANKS:
            words += [] if word is None else [word]
            word = None
        elif c in "'\"":
            quote, word = c, word or ""
        elif c == "#" and word is None:
            break
        else:
            literal = next(characters, c) if c == "\\" else c
            word = f"{word or ''}{literal}"
    if quote:
        raise UsageError(
            f"{where}the quote {quote} is not closed", hint=f"write a second {quote} after the value"
        )
    return words if word is None else [*words, word]


def split_list(option: OptionValue, separator: str = ",") -> list[str]:
    """Split a value at separators that are not between quotes; the quotes are removed."""
    parts, quote = [""], ""
    for c in option.text:
        if c == quote:
            quote = ""
        elif not quote and c in "'\"":
            quote = c
        elif not quote and c == separator:
            parts.append("")
        else:
            parts[-1] += c
    if quote:
        raise UsageError(f"{option}: the quote {quote} is not closed", hint="write it twice, or not at all")
    return parts


@final
class JobScript(NamedTuple):
    """A job's script: its content, its name (empty for standard input), and the interpreter of its line `#!`."""

    content: bytes
    name: str
    interpreter: tuple[str, ...]

    @property
    def text(self) -> str:
        """The content, with a surrogate for each byte that is not UTF-8."""
        return self.content.decode("utf-8", "surrogateescape")


def read_script(path: str | None, search_path: str = "") -> JobScript:
    """Read a script: a file, found also in the directories of `search_path`; None or `-` is standard input.

    Raises `UsageError` if it cannot be read, is empty, or has line ends of DOS.
    """
    if path is None or path == "-":
        try:
            with open(0, "rb", closefd=False) as file:
                return make_script(file.read(), "")
        except OSError as error:
            message = f"the script cannot be read from standard input: {error.strerror}"
            raise UsageError(message, hint="give the path of its file") from None
    try:
        with open(_find_script(path, search_path), "rb") as file:
            return make_script(file.read(), os.path.basename(path))
    except OSError as error:
        message = f"the script {quote_path(path)} cannot be read: {error.strerror}"
        raise UsageError(message, hint="give the path of a file that you may read") from None


def _find_script(path: str, search_path: str) -> str:
    if "/" in path or os.path.exists(path):
        return path
    candidates = (os.path.join(directory, path) for directory in search_path.split(os.pathsep) if directory)
    return next(filter(os.path.isfile, candidates), path)


def make_script(content: bytes, name: str) -> JobScript:
    """Return a script with the interpreter of its first line, /bin/sh without one."""
    what = quote_name(name) if name else "on standard input"
    if not content.strip():
        raise UsageError(
            f"the script {what} is empty", hint="give the path of a script, or write one to standard input"
        )
    if b"\0" in content:
        raise UsageError(
            f"the script {what} contains a NUL", hint="it must be a text; call programs by --wrap or a script"
        )
    if b"\r\n" in content:
        hint = "convert it: tr -d '\\r' < OLD > NEW"
        raise UsageError(f"the script {what} has line ends of DOS, which no shell understands", hint=hint)
    interpreter: tuple[str, ...] = ("/bin/sh",)
    if content.startswith(b"#!"):
        line = content[2:].partition(b"\n")[0].decode("utf-8", "surrogateescape")
        interpreter = tuple(line.strip(_BLANKS).split(maxsplit=1)) or interpreter
    if "=" in interpreter[0]:  # env would take it for a variable
        hint = "make a link to it that has no = in its path"
        raise UsageError(f"the interpreter {quote_name(interpreter[0])} has a = in its path", hint=hint)
    return JobScript(content, name, interpreter)
