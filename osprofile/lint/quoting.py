"""Whether a value is safe where it stands in a shell script (design: "Quoting")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

from osprofile.incarnation import fields as engine
from osprofile.language.javaregex.charset import ALNUM, ANY, DIGIT, WORD, CharSet
from osprofile.lint import flow
from osprofile.lint import values as possible
from osprofile.lint.replacements import is_known
from osprofile.lint.rules import problem
from osprofile.lint.shell.commands import (
    SPECIAL_VARIABLES,
    is_program,
    may_be_option,
    reads_commands,
    sort,
)
from osprofile.lint.shell.position import Position

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from osprofile.errors import Problem
    from osprofile.lint.flow import Step
    from osprofile.lint.script import Hole, View
    from osprofile.lint.shell.lexer import Reading
    from osprofile.lint.shell.position import Quote
    from osprofile.lint.values import Values

Trust = Literal["request", "context", "script", "words", "safe"]
"""Who gives a value: a request; the context; the engine, as the job's script, as shell words
(`TARGET` and `ARGUMENTS` of BIN), or as something safe (`FILE_NAME`, a fixed Value;
a field that nobody declares is another rule's)."""

_HARMLESS: Final[dict[Quote, CharSet]] = {
    "unquoted": ALNUM | CharSet.chars("_@%+:,./-="),
    "single": ~CharSet.chars("'"),
    "double": ~CharSet.chars('"$`\\'),
    "here": ~CharSet.chars("$`\\"),
    "here-quoted": ANY,
    "comment": ~CharSet.chars("\n"),
    "arithmetic": DIGIT,
    "name": WORD,
    "dollar-single": ~CharSet.chars("'\\"),
    "doubtful": ~CharSet.chars("\"$`\\}'"),
}
_IN_BACKQUOTES: Final = ~CharSet.chars("`\\")
_IN_PROGRAM: Final = ALNUM | CharSet.chars("_.:@+=,[] -")
_INTEGER: Final = 'give it ext:type="integer"'
_AS_ARGUMENT: Final = "hand it over as an argument or in the environment, not as code"
_PRINTF: Final = "write printf '%s\\n' @"
"""A remedy; the @ stands for the quoted replacement."""

_DASH: Final = CharSet.chars("-")
_BACKSLASH: Final = CharSet.chars("\\")


@final
@dataclass(frozen=True, slots=True)
class Fault:
    """Why a value is not safe: a code, the place in words, and a remedy."""

    code: str
    where: str
    remedy: str = ""


_QUOTES: Final[dict[Quote, Fault]] = {
    "unquoted": Fault("OSP601", "unquoted"),
    "double": Fault("OSP602", 'in double quotes, where $, ` and " keep their meaning'),
    "single": Fault("OSP603", "in single quotes, and a ' in it ends them"),
    "dollar-single": Fault("OSP603", "in $'...', which sh and bash read differently"),
    "here": Fault("OSP604", "in a here-document, where $ and ` keep their meaning", _PRINTF),
    "here-quoted": Fault("OSP604", "in a here-document", _PRINTF),
    "comment": Fault(
        "OSP607", "in a comment, which a line end in it ends",
        "leave it out, or give the field an ext:pattern without line ends",
    ),
    "name": Fault("OSP601", "behind a $, as the name of a variable"),
    "doubtful": Fault(
        "OSP611", "in quotes that not all shells read alike",
        "put it into a variable of its own before",
    ),
    "arithmetic": Fault("OSP606", "in an arithmetic expression", _INTEGER),
}  # fmt: skip


def trust(view: View, hole: Hole) -> Trust:
    """Say who gives a hole's value."""
    name, text = hole.replacement.name, hole.text
    if name in text.engine_fields:
        return "safe" if name == "FILE_NAME" else "words"
    if name == engine.JOB_SCRIPT:
        return "script" if is_known(view, text, name) else "safe"
    if engine.is_special(name):
        return "context"
    declared = view.field(text, name)
    if declared is None or declared.value is not None:
        return "safe"
    return "request" if declared.settable else "context"


def values_of(view: View, hole: Hole) -> Values:
    """Give the values that may stand for a hole, its FROM and TO applied."""
    name = hole.replacement.name
    declared = view.field(hole.text, name)
    if declared is None:
        found = possible.ANYTHING
    elif declared.name != name:
        found = possible.DERIVED
    else:
        found = possible.values_of(declared)
        if possible.is_shell_text(declared, hole.replacement):
            return found  # its words begin with a name
    return possible.transformed(found, hole.replacement)


def judge(view: View, hole: Hole, position: Position, reading: Reading[Hole]) -> Iterator[Problem]:
    """Give the problem of a value at a position, none if it is safe there."""
    who = trust(view, hole)
    if who == "words":
        yield from _words(hole, position, reading)
    if who in {"safe", "words"}:
        return
    found = values_of(view, hole)
    text = _is_shell_text(view, hole, position)
    fault = _badly_quoted(hole, position, found, text=text)
    if fault is None and who != "script":
        fault = _program(position, found)
    if fault is None and not text and (who != "context" or _is_host(hole)):
        fault = _option(position, found, reading.functions)
    if fault is None and who == "request":
        fault = _evaluated(position, found, reading)
    if fault is not None:
        yield _told(view, hole, who, fault)


def _words(hole: Hole, position: Position, reading: Reading[Hole]) -> Iterator[Problem]:
    """Give the problem of what the engine supplies as words: it may be quoted, or evaluated."""
    name = hole.replacement.name
    if position.quote != "unquoted":
        message = f"<{name}> of BIN is shell words already, and stands in quotes here"
        yield problem("OSP614", message, hole.place, f"write <{name}> alone")
    elif name == "ARGUMENTS":  # TARGET is a path of the profile's own
        fault = _program(position, possible.ANYTHING)
        fault = fault or _evaluated(position, possible.ANYTHING, reading, options=False)
        if fault is not None:
            message = f"<{name}> of BIN, which has values of requests, stands {fault.where}"
            yield problem(fault.code, message, hole.place, fault.remedy)


def _is_host(hole: Hole) -> bool:
    """Say whether a field of the context is one that ssh could take for an option."""
    return hole.replacement.name.startswith("SSH:")


def _badly_quoted(hole: Hole, position: Position, found: Values, *, text: bool) -> Fault | None:
    """Find what is wrong with the quotes of a value."""
    if position.backquoted and not _within(found.chars, _IN_BACKQUOTES):
        return Fault("OSP613", "in backquotes, where no quoting holds", "write $(...) instead")
    if position.role == "delimiter":
        return Fault("OSP604", "in the delimiter of a here-document", "write the delimiter out")
    escaped = position.quote == "single" and possible.escapes_quotes(hole.replacement)
    harmless = _within(found.chars, _HARMLESS[position.quote])
    if position.quote == "single" and "'" in (hole.replacement.replacement or ""):
        harmless = False
    if not (escaped or text) and (not harmless or _is_assignment(position, found)):
        return _QUOTES[position.quote]
    if position.delimiter is not None and _can_end(position, found.chars):
        return Fault("OSP604", "in a here-document, which a line of it may end", _PRINTF)
    return None


def _is_shell_text(view: View, hole: Hole, position: Position) -> bool:
    declared = view.field(hole.text, hole.replacement.name)
    if position.quote != "unquoted" or declared is None:
        return False
    return possible.is_shell_text(declared, hole.replacement)


def _is_assignment(position: Position, found: Values) -> bool:
    """Say whether an unquoted value may make its word an assignment (`PATH=...`)."""
    bare = position.quote == "unquoted" and position.role == "command"
    return bare and "=" in found.chars


def _can_end(position: Position, chars: CharSet) -> bool:
    """Say whether a value can make its line equal to what ends the here-document."""
    if "\n" in chars:
        return True
    rest = position.line.replace("\uffff", "")
    missing = set(position.delimiter or "").difference(rest)
    return set(rest) <= set(position.delimiter or "") and all(c in chars for c in missing)


def _program(position: Position, found: Values) -> Fault | None:
    if position.role != "argument" or _within(found.chars, _IN_PROGRAM):
        return None
    language = is_program(position.words, position.prefix)
    if not language:
        return None
    where = f"in what {sort(position.words).name} reads as {language}"
    return Fault("OSP610", where, _AS_ARGUMENT)


def _evaluated(
    position: Position, found: Values, reading: Reading[Hole], *, options: bool = True
) -> Fault | None:
    """Find out whether a value gets into a variable, or an output, that is then evaluated."""
    options = options and "-" in found.first
    if _within(found.chars, _IN_PROGRAM) and not options:
        return None
    code = not _within(found.chars, _IN_PROGRAM)
    if code and position.computed:
        return Fault("OSP615", "in a command whose output is computed with", _INTEGER)
    told = None
    for step in flow.steps(reading, position):
        if "faults" not in step.notes:
            step.notes["faults"] = _faults(step, reading.functions)
        faults: tuple[Fault | None, Fault | None] = step.notes["faults"]
        evaluated, option = faults
        if code and evaluated:
            return evaluated
        told = told or (option if options else None)
    return told


def _faults(step: Step, functions: AbstractSet[str]) -> tuple[Fault | None, Fault | None]:
    """Find out whether a step brings a value where it is evaluated, and where it may be an option."""
    evaluated = option = None
    for via, used, begins in step.places:
        evaluated = evaluated or _where_it_gets(via, used)
        if via and begins and option is None and used.quote != "arithmetic":
            option = _option_by_variable(via, used, functions)
    return evaluated, option


def _where_it_gets(via: str, used: Position) -> Fault | None:
    """Find out whether a place that a value gets to, by a variable or itself, evaluates it."""
    by = (
        f"in variable {via.removeprefix('$')}, which"
        if via.startswith("$") and via != "$(...)"
        else "in an output, which"
    )
    if via and used.quote == "arithmetic":
        return Fault("OSP615", f"{by} is computed with", _INTEGER)
    variable = flow.assigned(used) or _environment_variable(used)
    if variable in SPECIAL_VARIABLES:
        return Fault(
            "OSP615",
            f"in {variable}, which decides what is run",
            "set it to a text of the profile's own",
        )
    if via and used.role == "argument" and (language := is_program(used.words, used.prefix)):
        return Fault(
            "OSP615", f"{by} {_named(sort(used.words).name)} reads as {language}", _AS_ARGUMENT
        )
    for command in flow.receivers(used):
        if language := reads_commands(command.words):
            where = f"in what {_named(sort(command.words).name)} reads as {language}"
            return Fault("OSP615" if via else "OSP610", where, _AS_ARGUMENT)
    return None


def evaluated_input(reading: Reading[Hole]) -> Iterator[tuple[str, str, Position]]:
    """Yield each variable that `read` fills and that is evaluated: its name, by what, and where."""
    for command in reading.commands:
        for name in command.words[1:] if command.words[:1] == ["read"] else ():
            origin = Position("double", "assignment", (), f"{name}=")
            for via, used, _begins in flow.reached(reading, origin):
                if (
                    via
                    and used.role == "argument"
                    and (code := is_program(used.words, used.prefix))
                ):
                    yield name, f"{_named(sort(used.words).name)} reads as {code}", used


def _environment_variable(used: Position) -> str:
    """Return the variable that `env NAME=...` sets; nothing if it is none."""
    name, equals, _ = used.prefix.partition("=")
    return name if equals and used.words[:1] == ("env",) else ""


def _option_by_variable(via: str, used: Position, functions: AbstractSet[str]) -> Fault | None:
    if used.role != "argument" or not may_be_option(used.words, used.prefix, functions):
        return None
    if used.words[-1].startswith("-") and used.words[-1] != "--":
        return None  # most likely it is the value of that option
    if sort(used.words).name in {"echo", "set", "export", "eval", ""}:
        return None
    where = f"in variable {via.removeprefix('$')}, where {_named(sort(used.words).name)} takes a leading - for an option"
    return Fault(
        "OSP616",
        where,
        "let a -- precede the variable, or give the field an ext:pattern that forbids a leading -",
    )


def _option(position: Position, found: Values, functions: AbstractSet[str]) -> Fault | None:
    """Find out whether a value may be taken for an option."""
    if position.role != "argument":
        return None
    name = sort(position.words).name
    if name == "echo" and found.chars.meets(_DASH | _BACKSLASH):
        where = "given to echo, which may take it for an option and reads backslashes"
        return Fault("OSP605", where, _PRINTF)
    if "-" not in found.first or not may_be_option(position.words, position.prefix, functions):
        return None
    remedy = (
        "let a -- precede it, or attach it to its option (-q'...', --queue='...'), "
        "or give it an ext:pattern that forbids a leading -"
    )
    return Fault("OSP605", f"where {_named(name)} takes a leading - for an option", remedy)


def _named(name: str) -> str:
    return name if name.isprintable() and name.isascii() and name else "the command"


def _told(view: View, hole: Hole, who: Trust, fault: Fault) -> Problem:
    name = hole.replacement.name
    remedy = _PRINTF if who == "script" else fault.remedy or "write @, single quotes included"
    if name == "ENVIRONMENT":
        words = "<ENVIRONMENT/{}/{}>".format(*possible.ENVIRONMENT_WORDS)
        remedy = f"hand it to the program by env: set -- {words}"
    remedy = remedy.replace("@", f"'<{name}/'/'\\\\''>'")
    if who == "script":
        return problem("OSP608", f"the job's script stands {fault.where}", hole.place, remedy)
    declared = view.field(hole.text, name)
    if declared is not None and declared.place.source is not hole.place.source:
        remedy += f"; field {declared.name} is declared at {declared.place}"
    if who == "context":
        message = f"the value of {name}, which the context gives, stands {fault.where}"
        return problem("OSP609", message, hole.place, remedy)
    message = f"the value of settable field {name} stands {fault.where}"
    return problem(fault.code, message, hole.place, remedy)


def _within(chars: CharSet, allowed: CharSet) -> bool:
    return not chars.meets(~allowed)
