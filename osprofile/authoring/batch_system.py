"""The facts about a batch system, the profile that is made from them, and samples to try them on.

The profile extends `batch`, which has all that batch systems share. The facts become shell functions in
its static script commands.sh, and the tags of its field STATE. Each word of a command is quoted, so that no fact
can become shell code.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final, final

from osprofile import javaregex
from osprofile.authoring.skeleton import check_name, format_shell_word, hide_hyphens
from osprofile.authoring.writer import escape_attribute, escape_text, format_new_document
from osprofile.errors import JavaRegexError
from osprofile.late import NamedTuple
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

STATES: Final = {
    "queued": "QUEUED",
    "running": "RUNNING",
    "held": "HELD",
    "done": "DONE",
    "failed": "FAILED",
    "limit": "FAILED/TIME",
    "removed": "REMOVED",
}
"""The states of the profile by the facts that have the batch system's words for them."""

NO_OWN_ID: Final = "a job must learn its own id: by a variable or command, or by {script} in the line"

_ENDS: Final = ("done", "failed", "limit", "removed")
_RECORD_TAGS: Final = {
    "exited": "DONE",
    "exited/setup": "FAILED/SITE_SETUP",
    "exited/files": "FAILED/FILES",
    "exited/no-directory": "FAILED/NODE",
    "limit": "FAILED/TIME",
    "removed": "REMOVED",
    "*": "QUEUED",
}
"""The words that a job's own record uses, and `*` for those that no fact has: they are no end."""

_WORD: Final = re.compile(r"[A-Za-z0-9_.:+*-]+(?:/[A-Za-z0-9_.:+*-]+)?")
_PROGRAM_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DIRECTIVE_PREFIX: Final = re.compile(r"#[A-Z$][!-;=-\[\]-~]*")
_ID_PATTERN: Final = re.compile(
    r"""(?: (?: [A-Za-z0-9_.:@\#%~,|)-] | \((?!\?) | \\[.\[\](){}|+*?^]
              | \[\^?[A-Za-z0-9_.:@\#%~+*?{},()|-][A-Za-z0-9_.:@\#%~+*?{},()|^-]*\] )
            (?: [*+?] | \{[0-9]+(?:,[0-9]*)?\} )? )+""",
    re.VERBOSE,
)
_ATOM: Final = re.compile(r"\\.|\[(?:\\.|[^\]])*\]|[^()|*+?{}]", re.DOTALL)
"""What stands for one character in an id pattern: a class, an escaped character, any other one."""
_NO_ID_CHARACTERS: Final = [*map(chr, range(0x21)), "\x7f"]
_HYPHEN_FIRST: Final = re.compile(r"(?:^|[(|])(?:-|\[-|\[[^\]]*-\])")
"""Of an id pattern: what may begin with a hyphen, as an option does."""
_PLACEHOLDER: Final = re.compile(r"\{[a-z]*\}")
_SEPARATORS: Final = "|;,:"
_OPERATOR: Final = re.compile(r"\|\|?|&&?|;|>>?|[0-9]+>.*")
_PATH: Final = '"$PWD/$1"'
_SHELL: Final = re.compile(r"(?:.*/)?(?:ba|da|k)?sh")
_RESERVED_WORDS: Final = {
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select",
    "then", "time", "until", "while",
}  # fmt: skip


@final
class BatchSystem(NamedTuple):
    """What a profile needs to know about a batch system.

    Commands are texts of shell words. In `submit`, `{script}` is the script, in `hold`, `resume` and
    `cancel`, `{id}` is the job's id; without a placeholder it is the last word. `answer` is what `submit`
    prints, and `line` what `list_jobs` prints for a job, with placeholders. `words` has the batch system's
    words of each key of `STATES`. `own_id` is what tells a job its id, `$VARIABLE` or a command. `list_ended`
    prints such lines of jobs that `list_jobs` leaves out; with `{id}`, of one.
    """

    submit: str
    answer: str
    id_pattern: str
    list_jobs: str
    line: str
    words: Mapping[str, Sequence[str]]
    cancel: Sequence[str]
    hold: str = ""
    resume: str = ""
    directive: str = ""
    own_id: str = ""
    list_ended: str = ""


class Reading(NamedTuple):
    """What was read from a line of a sample; `job_id` is empty if the line tells nothing about a job.

    `no_id` is the text in the place of the id, if the id pattern does not match it.
    """

    number: int
    text: str
    job_id: str = ""
    word: str = ""
    state: str = ""
    exit_code: str = ""
    no_id: str = ""


@final
class _Line(NamedTuple):
    """The columns of a line about a job, by their placeholders, from 0."""

    columns: Mapping[str, int]
    separator: str
    ends_with_script: bool

    def split(self, text: str) -> list[str]:
        """Return the columns of a line, as awk does."""
        if not self.separator:
            return text.split()
        return re.split(rf"[ \t]*{re.escape(self.separator)}[ \t]*", text.lstrip(" \t"))


def read_answer_sample(system: BatchSystem, text: str) -> list[Reading]:
    """Return what the profile reads from a sample of the submit command's output."""
    pattern = javaregex.compile(system.id_pattern)
    expression = re.compile(_answer_expression(system.answer))
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = expression.match(line)
        text_of_id = match[1] if match else ""
        is_id = pattern.matches(text_of_id)
        found.append(Reading(number, line, text_of_id if is_id else "", no_id="" if is_id else text_of_id))
    return found


def read_list_sample(system: BatchSystem, text: str) -> list[Reading]:
    """Return what the profile reads from a sample of the output of the command that lists jobs."""
    pattern = javaregex.compile(system.id_pattern)
    line = _parse_line(system.line)
    states = {word: key for key, words in system.words.items() for word in words}
    return [_read_line(n, t, line, pattern, states) for n, t in enumerate(text.splitlines(), 1)]


def _read_line(
    number: int, text: str, line: _Line, pattern: javaregex.Pattern, states: Mapping[str, str]
) -> Reading:
    columns = line.split(text)
    cell = {name: columns[n] if n < len(columns) else "" for name, n in line.columns.items()}
    if not cell["state"]:
        return Reading(number, text)
    if not pattern.matches(cell["id"]):
        return Reading(number, text, no_id=cell["id"])
    word, exit_code = cell["state"], cell.get("exit", "")
    key = states.get(word) or states.get(word.partition("/")[0], "")
    if key != "done" or not re.fullmatch("[0-9]+", exit_code):
        exit_code = ""
    state = "FAILED" if key == "done" and "exit" in cell and not exit_code else STATES.get(key, "")
    return Reading(number, text, cell["id"], word, state, exit_code)


def render_batch_system(name: str, system: BatchSystem, folder: str | None = None) -> str:
    """Return the document of a profile for a batch system.

    `folder` is where the commands in the introduction find the profile, if they do not find it by its
    name. Raises `NotFoundError` for a name that is not allowed, ValueError for an unusable fact.
    """
    check_name(name)
    for text in (*(t for t in system if isinstance(t, str)), *system.cancel):
        if not text.isprintable():
            raise ValueError(f"{quote_value(text)} has a character that cannot be printed")
    _check_id_pattern(system.id_pattern)
    place = format_shell_word(folder if folder and folder.isprintable() else name)
    introduction = (
        f"{hide_hyphens(name)}: a batch system. The README of batch, which it extends, has the meaning of each part.\n"
        f"     incarnate lint {place} tells what is wrong with it."
    )
    commands = escape_text("\n".join(_command_lines(system)))
    content = [
        "  <idb:Template>",
        '    <idb:Field name="JOB_ID_PATTERN" isSettable="false">',
        f"      <idb:Value>{escape_text(system.id_pattern)}</idb:Value>",
        "    </idb:Field>",
        '    <idb:Field name="STATE" isSettable="false">',
        *_tag_lines(system),
        "    </idb:Field>",
        *_status_command_lines(system),
        "  </idb:Template>",
        '  <idb:Template name="COMMANDS">',
        '    <idb:Invocation name="PROGRAM">',
        f'      <idb:StaticScript fileName="commands.sh" arguments="">{commands}</idb:StaticScript>',
        "    </idb:Invocation>",
        "  </idb:Template>",
        *_directive_lines(system.directive),
    ]
    return format_new_document((name, "batch"), introduction, content)


def _check_id_pattern(text: str) -> None:
    """Raise ValueError for a pattern that Java and grep would not read alike, or that allows any text."""
    try:
        pattern = javaregex.compile(text)
    except JavaRegexError as error:
        raise ValueError(f"the id pattern {quote_value(text)} is not valid: {error.message}") from None
    if not _ID_PATTERN.fullmatch(text):
        message = f"the id pattern {quote_value(text)} has a character that no id may have, or syntax that grep -E reads differently"
        raise ValueError(f"{message}; allowed characters: letters, digits, _ . : @ # % ~ , -")
    if _HYPHEN_FIRST.search(text) or any(map(pattern.matches, ("", ".", "..", "a b", "a/b", "-a", "/"))):
        raise ValueError(
            f"the id pattern {quote_value(text)} allows texts that are an option, or no file's name"
        )
    for atom in _ATOM.findall(text):
        if any(map(javaregex.compile(atom).matches, _NO_ID_CHARACTERS)):
            message = f"the id pattern {quote_value(text)} allows a blank: {atom} matches one"
            raise ValueError(f"{message}; list the characters of an id, as in [A-Za-z0-9]")


def ends_with_script(line: str) -> bool:
    """Return whether a line of the list ends with the path of the job's script."""
    return _parse_line(line).ends_with_script


def list_programs(system: BatchSystem) -> list[str]:
    """Return the first words of the commands, each once."""
    commands = [
        system.submit,
        system.list_jobs,
        system.list_ended,
        *system.cancel,
        system.hold,
        system.resume,
    ]
    if not system.own_id.startswith("$"):
        commands.append(system.own_id)
    return [*dict.fromkeys(_split_command(command)[0] for command in commands if command)]


# The shell functions


def _command_lines(system: BatchSystem) -> Iterator[str]:
    line = _parse_line(system.line)
    yield _submit_function(system)
    if system.answer != "{id}":
        yield f"gpe_read_id() {{ sed -n {shlex.quote(_answer_script(system.answer))}; }}"
    yield from _list_lines(system, line)
    if system.list_ended:
        yield from _list_ended_lines(system.list_ended)
    for name, keys in (("has_ended", _ENDS), ("is_limit", ("limit",)), ("is_removal", ("removed",))):
        if found := [word.partition("/")[0] for key in keys for word in system.words.get(key, ())]:
            patterns = " | ".join(shlex.quote(word) for word in dict.fromkeys(found))
            yield f"gpe_{name}() {{ case $1 in {patterns}) ;; *) return 1 ;; esac; }}"
    yield from _own_id_lines(system, line)
    cancels = [_id_command(command) for command in system.cancel]
    yield f"gpe_cancel() {{ {' || '.join(cancels)}; }}"
    for name, command in (("hold", system.hold), ("resume", system.resume)):
        if command:
            yield f"gpe_{name}() {{ {_id_command(command)}; }}"


def _submit_function(system: BatchSystem) -> str:
    """Return the function that submits: with options, or with the script alone if it has directives."""
    words = _split_command(system.submit, "{script}")
    if system.directive:
        words = [word for word in words if word != "{options}"]  # the script has them
        if any("{options}" in word for word in words):
            raise ValueError(
                "with --directive, the options are in the script: leave {options} out of --submit"
            )
        return f"gpe_submit() {{ {_quote_words(words, {'{script}': _PATH})}; }}"
    if "{options}" not in words:
        words.insert(1, "{options}")
    # A shell runs the script by its path when the job begins: not one that somebody else has put there.
    values = {"{script}": '"$gpe_script"', "{options}": '"$@"', "{starter}": '-c "$gpe_starter"'}
    if (at := words.index("{script}") if "{script}" in words else 0) and _SHELL.fullmatch(words[at - 1]):
        words.insert(at, "{starter}")
    command = _quote_words(words, values)
    return f"gpe_submit() {{ gpe_script=$PWD/$1; shift; {command}; }}"


def _id_command(text: str) -> str:
    """Return a command for the job that is the function's argument."""
    return _quote_words(_split_command(text, "{id}"), {"{id}": '"$1"'})


def _split_command(text: str, placeholder: str = "") -> list[str]:
    """Return the words of a command, with the placeholder as the last one if it has none."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"the command {quote_value(text)} cannot be split into words: {error}") from None
    if not words:
        raise ValueError("a command is empty")
    if operator := next(filter(_OPERATOR.fullmatch, words), ""):
        raise ValueError(
            f"the command {quote_value(text)} has the shell operator {operator}: no shell reads it. "
            "Give --cancel twice for a second attempt, or write a function in commands.sh of the profile"
        )
    return words if any(placeholder in word for word in words) else [*words, placeholder]


def _quote_words(words: Sequence[str], values: Mapping[str, str]) -> str:
    """Return words quoted for a shell, with placeholders replaced by shell text."""
    following = [*words[1:], ""]
    # A command may read the script from its standard input.
    return " ".join(
        word if (word, after) == ("<", "{script}") and "{script}" in values else _quote_word(word, values)
        for word, after in zip(words, following, strict=True)
    )


def _quote_word(word: str, values: Mapping[str, str]) -> str:
    if word in _RESERVED_WORDS:
        return f"'{word}'"
    parts = re.split(f"({'|'.join(map(re.escape, values))})", word) if values else [word]
    return "".join(values.get(part) or shlex.quote(part) for part in parts if part) or "''"


def _answer_parts(answer: str) -> tuple[str, str]:
    """Return the text before the id on its line, and the character after it."""
    if answer.count("{id}") != 1:
        raise ValueError(f"the answer {quote_value(answer)} must contain {{id}} once, in the place of the id")
    before, _, after = answer.partition("{id}")
    return before, after[:1]


def _answer_expression(answer: str) -> str:
    """Return the regular expression for a line with the id, as its first group."""
    before, after = _answer_parts(answer)
    value = rf"([^{re.escape(after)}]+){re.escape(after)}" if after else r"(\S+)\s*$"
    return re.escape(before) + value


def _answer_script(answer: str) -> str:
    """Return the same for sed."""
    before, after = (re.sub(r"([\\/.*\[^$])", r"\\\1", text) for text in _answer_parts(answer))
    value = rf"\([^{_answer_parts(answer)[1]}]*\){after}.*" if after else r"\([^[:space:]]*\)[[:space:]]*$"
    return f"s/^{before}{value}/\\1/p"


def _parse_line(text: str) -> _Line:
    """Return the columns of a line's example; raise ValueError if it has no id or no state."""
    separator = next((c for c in _SEPARATORS if f"}}{c}" in text), "")
    cells = [c.strip() for c in text.split(separator)] if separator else text.split()
    names = [c[1:-1] for c in cells if _PLACEHOLDER.fullmatch(c)]
    known = {"id", "state", "exit", "script", ""}
    if unknown := sorted({*names} - known):
        raise ValueError(
            f"{{{unknown[0]}}} is not known: use {{id}}, {{state}}, {{exit}}, {{script}} and {{}}"
        )
    columns = {c[1:-1]: n for n, c in enumerate(cells) if c in {"{id}", "{state}", "{exit}"}}
    if not {"id", "state"} <= {*columns} or any(names.count(n) > 1 for n in columns):
        message = f"the line {quote_value(text)} must contain {{id}} and {{state}} once, each as a column"
        raise ValueError(message)
    ends_with_script = "script" in names
    if ends_with_script and cells[-1] != "{script}":
        raise ValueError(f"in the line {quote_value(text)}, {{script}} must be the end")
    return _Line(columns, separator, ends_with_script)


def _list_lines(system: BatchSystem, line: _Line) -> Iterator[str]:
    words = _split_command(system.list_jobs)
    yield f"gpe_rows() {{ {_quote_words(words, {})}; }}"
    yield "gpe_list() {"
    yield "  gpe_text=$(gpe_rows) || return"
    yield f"  printf '%s\\n' \"$gpe_text\" | awk {_awk_option(line)}'"
    if line.separator:
        yield '{ sub(/^[ \\t]+/, "") }'
    number = {name: n + 1 for name, n in line.columns.items()}
    state = f"${number['state']}"
    done = "|".join(re.sub(r"([.+*])", r"[\1]", w.partition("/")[0]) for w in system.words.get("done", ()))
    if "exit" in number and done:
        code = f"${number['exit']}"
        yield f'{state} ~ /^({done})(\\/|$)/ && {code} ~ /^[0-9]+$/ {{ sub(/\\/.*/, "", {state}); {state} = {state} "/exit exit=" {code} }}'
    yield f"{{ print ${number['id']}, {state} }}'"
    yield "}"


def _list_ended_lines(command: str) -> Iterator[str]:
    """Yield the function for jobs that the list leaves out: it reads the lines of another command in the same way."""
    words = _split_command(command)
    yield "gpe_list_ended() ( # ID..."
    if any("{id}" in word for word in words):
        yield "  gpe_ids=$*"
        # An id that is unknown may be an error.
        row = _quote_words(words, {"{id}": '"$gpe_id"'})
        rows = f"for gpe_id in $gpe_ids; do {row} || :; done"
    else:
        rows = _quote_words(words, {})
    yield f"  gpe_rows() {{ {rows}; }}"
    yield "  gpe_list"
    yield ")"


def _awk_option(line: _Line) -> str:
    """Return awk's option for the separator of columns, with a blank behind it."""
    return f"-F '[ \\t]*[{line.separator}][ \\t]*' " if line.separator else ""


def _own_id_lines(system: BatchSystem, line: _Line) -> Iterator[str]:
    """Yield what finds a job by the script's path in the list, and what tells a job its own id."""
    if line.ends_with_script:
        yield "gpe_find() {"
        yield "  gpe_text=$(gpe_rows) || return"
        yield f"  printf '%s\\n' \"$gpe_text\" | GPE_SCRIPT=$PWD/.gpe/script awk {_awk_option(line)}'"
        yield 'substr($0, length($0) - length(ENVIRON["GPE_SCRIPT"]) + 1) == ENVIRON["GPE_SCRIPT"] {'
        yield f"  print ${line.columns['id'] + 1}; exit"
        yield "}'"
        yield "}"
    if variable := re.fullmatch(r"\$([A-Za-z_][A-Za-z0-9_]*)", system.own_id):
        yield f"gpe_own_id() {{ printf '%s\\n' \"${{{variable[1]}:-}}\"; }}"
    elif system.own_id:
        yield f"gpe_own_id() {{ {_quote_words(_split_command(system.own_id), {})}; }}"
    elif not line.ends_with_script:
        raise ValueError(NO_OWN_ID)


# The other elements


def _tag_lines(system: BatchSystem) -> Iterator[str]:
    has_exit_codes = "exit" in _parse_line(system.line).columns
    tags: dict[str, str] = {}
    for key, words in system.words.items():
        for word in words:
            if not _WORD.fullmatch(word):
                raise ValueError(
                    f"the word {quote_value(word)} for {key} is not a word of letters and digits"
                )
            is_done = key == "done" and has_exit_codes
            added = (
                {word: "FAILED", f"{word.partition('/')[0]}/exit": "DONE"} if is_done else {word: STATES[key]}
            )
            for name, state in added.items():
                if tags.setdefault(name, state) != state:
                    raise ValueError(f"the word {name} has two meanings, {tags[name]} and {state}")
    for name, state in _RECORD_TAGS.items():
        if tags.setdefault(name, state) != state:
            raise ValueError(f"the word {name} is for jobs that are {state}: the batch system cannot use it")
    for name, state in tags.items():
        yield f'      <idb:Tag name="{escape_attribute(name)}">{state}</idb:Tag>'


def _status_command_lines(system: BatchSystem) -> Iterator[str]:
    """Yield the field with the name of the program that lists jobs, for `incarnate check --states`."""
    words = _split_command(system.list_jobs)
    program = next((word for word in words if word != "env" and "=" not in word), "")
    if _PROGRAM_NAME.fullmatch(program):
        yield f'    <idb:Field name="STATUS_COMMANDS" isSettable="false"><idb:Value>{program}</idb:Value></idb:Field>'


def _directive_lines(prefix: str) -> Iterator[str]:
    """Yield the template of a batch system that reads directives."""
    if not prefix:
        return
    if "{options}" in prefix:
        raise ValueError(
            f"the directive prefix {quote_value(prefix)} is only how the line begins: leave {{options}} out"
        )
    if not _DIRECTIVE_PREFIX.fullmatch(prefix):
        message = (
            f"the directive prefix {quote_value(prefix)} is not # and a capital letter or $, without blanks"
        )
        raise ValueError(message)
    option = re.sub(r"([\\$>])", r"\\\1", prefix)
    yield '  <idb:Template name="JOB_DIRECTIVES">'
    yield '    <idb:Invocation name="">'
    yield "      <idb:Body><![CDATA[#!/bin/sh"
    yield rf"<OPTIONS/(?s)^(.+)\z/{option} $1>"
    yield r"<EXTRA_DIRECTIVES/(?s)^(.+)\z/$1>"
    yield r"<CPUTIME/(?s)^(.+)\z/gpe_cputime=$1>"
    yield "]]></idb:Body>"
    yield "    </idb:Invocation>"
    yield f'    <idb:Field name="DIRECTIVE_PREFIX" isSettable="false"><idb:Value>{escape_text(prefix)}</idb:Value></idb:Field>'
    yield "  </idb:Template>"
