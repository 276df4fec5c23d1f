"""Whether a value is safe where it stands in a shell script (design: "Quoting")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

from osprofile.incarnation import field_rules as engine
from osprofile.javaregex.charset import ALNUM, ANY, DIGIT, WORD, CharSet
from osprofile.lint import dataflow
from osprofile.lint import value_sets as possible
from osprofile.lint.replacements import is_known_name
from osprofile.lint.rules import make_problem
from osprofile.lint.shell.commands import (
    SPECIAL_VARIABLES,
    argument_language,
    may_be_option,
    parse_words,
    stdin_language,
)
from osprofile.lint.shell.position import Position

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from osprofile.errors import Problem
    from osprofile.lint.dataflow import FlowStep
    from osprofile.lint.profile_view import Placeholder, ProfileView
    from osprofile.lint.shell.lexer import LexedScript
    from osprofile.lint.shell.position import Quote
    from osprofile.lint.value_sets import ValueSet

ValueSource = Literal["request", "context", "script", "words", "safe"]
"""Who gives a value: a request; the context; the engine, as the job's script, as shell words
(`TARGET` and `ARGUMENTS` of BIN), or as something safe (`FILE_NAME`, a fixed Value;
a field that nobody declares is another rule's)."""

_SAFE_CHARS: Final[dict[Quote, CharSet]] = {
    "unquoted": ALNUM | CharSet.from_chars("_@%+:,./-="),
    "single": ~CharSet.from_chars("'"),
    "double": ~CharSet.from_chars('"$`\\'),
    "here": ~CharSet.from_chars("$`\\"),
    "here-quoted": ANY,
    "comment": ~CharSet.from_chars("\n"),
    "arithmetic": DIGIT,
    "name": WORD,
    "dollar-single": ~CharSet.from_chars("'\\"),
    "doubtful": ~CharSet.from_chars("\"$`\\}'"),
}
_SAFE_IN_BACKQUOTES: Final = ~CharSet.from_chars("`\\")
_SAFE_IN_CODE: Final = ALNUM | CharSet.from_chars("_.:@+=,[] -")
_INTEGER_REMEDY: Final = 'give it ext:type="integer"'
_ARGUMENT_REMEDY: Final = "hand it over as an argument or in the environment, not as code"
_PRINTF_REMEDY: Final = "write printf '%s\\n' @"
"""A remedy; the @ stands for the quoted replacement."""

_DASH_CHARS: Final = CharSet.from_chars("-")
_BACKSLASH_CHARS: Final = CharSet.from_chars("\\")


@final
@dataclass(frozen=True, slots=True)
class QuotingFault:
    """Why a value is not safe: a code, the place in words, and a remedy."""

    code: str
    position_text: str
    remedy: str = ""


_QUOTE_FAULTS: Final[dict[Quote, QuotingFault]] = {
    "unquoted": QuotingFault("OSP601", "unquoted"),
    "double": QuotingFault("OSP602", 'in double quotes, where $, ` and " keep their meaning'),
    "single": QuotingFault("OSP603", "in single quotes, and a ' in it ends them"),
    "dollar-single": QuotingFault("OSP603", "in $'...', which sh and bash read differently"),
    "here": QuotingFault("OSP604", "in a here-document, where $ and ` keep their meaning", _PRINTF_REMEDY),
    "here-quoted": QuotingFault("OSP604", "in a here-document", _PRINTF_REMEDY),
    "comment": QuotingFault(
        "OSP607", "in a comment, which a line end in it ends",
        "leave it out, or give the field an ext:pattern without line ends",
    ),
    "name": QuotingFault("OSP601", "behind a $, as the name of a variable"),
    "doubtful": QuotingFault(
        "OSP611", "in quotes that not all shells read alike",
        "put it into a variable of its own before",
    ),
    "arithmetic": QuotingFault("OSP606", "in an arithmetic expression", _INTEGER_REMEDY),
}  # fmt: skip


def classify_source(view: ProfileView, placeholder: Placeholder) -> ValueSource:
    """Say who gives a hole's value."""
    name, text = placeholder.replacement.name, placeholder.text
    if name in text.engine_fields:
        return "safe" if name == "FILE_NAME" else "words"
    if name == engine.JOB_SCRIPT:
        return "script" if is_known_name(view, text, name) else "safe"
    if engine.is_special_field(name):
        return "context"
    declared = view.find_field(text, name)
    if declared is None or declared.value is not None:
        return "safe"
    return "request" if declared.settable else "context"


def placeholder_values(view: ProfileView, placeholder: Placeholder) -> ValueSet:
    """Give the values that may stand for a hole, its FROM and TO applied."""
    name = placeholder.replacement.name
    declared = view.find_field(placeholder.text, name)
    if declared is None:
        found = possible.ANY_VALUES
    elif declared.name != name:
        found = possible.DERIVED_VALUES
    else:
        found = possible.field_values(declared)
        if possible.is_shell_text(declared, placeholder.replacement):
            return found  # its words begin with a name
    return possible.apply_replacement(found, placeholder.replacement)


def check_placeholder(
    view: ProfileView, placeholder: Placeholder, position: Position, lexed: LexedScript[Placeholder]
) -> Iterator[Problem]:
    """Give the problem of a value at a position, none if it is safe there."""
    who = classify_source(view, placeholder)
    if who == "words":
        yield from _check_engine_words(placeholder, position, lexed)
    if who in {"safe", "words"}:
        return
    found = placeholder_values(view, placeholder)
    text = _holds_shell_text(view, placeholder, position)
    fault = _find_quote_fault(placeholder, position, found, is_shell_text=text)
    if fault is None and who != "script":
        fault = _find_code_fault(position, found)
    if fault is None and not text and (who != "context" or _is_ssh_field(placeholder)):
        fault = _find_option_fault(position, found, lexed.functions)
    if fault is None and who == "request":
        fault = _find_flow_fault(position, found, lexed)
    if fault is not None:
        yield _problem_from_fault(view, placeholder, who, fault)


def _check_engine_words(
    placeholder: Placeholder, position: Position, lexed: LexedScript[Placeholder]
) -> Iterator[Problem]:
    """Give the problem of what the engine supplies as words: it may be quoted, or evaluated."""
    name = placeholder.replacement.name
    if position.quote != "unquoted":
        message = f"<{name}> of BIN is shell words already, and stands in quotes here"
        yield make_problem("OSP614", message, placeholder.location, f"write <{name}> alone")
    elif name == "ARGUMENTS":  # TARGET is a path of the profile's own
        fault = _find_code_fault(position, possible.ANY_VALUES)
        fault = fault or _find_flow_fault(position, possible.ANY_VALUES, lexed, check_options=False)
        if fault is not None:
            message = f"<{name}> of BIN, which has values of requests, stands {fault.position_text}"
            yield make_problem(fault.code, message, placeholder.location, fault.remedy)


def _is_ssh_field(placeholder: Placeholder) -> bool:
    """Say whether a field of the context is one that ssh could take for an option."""
    return placeholder.replacement.name.startswith("SSH:")


def _find_quote_fault(
    placeholder: Placeholder, position: Position, values: ValueSet, *, is_shell_text: bool
) -> QuotingFault | None:
    """Find what is wrong with the quotes of a value."""
    if position.backquoted and not _is_subset(values.chars, _SAFE_IN_BACKQUOTES):
        return QuotingFault(
            "OSP613", "in backquotes, where no quoting holds", "write $(...) instead"
        )
    if position.role == "delimiter":
        return QuotingFault(
            "OSP604", "in the delimiter of a here-document", "write the delimiter out"
        )
    escaped = position.quote == "single" and possible.escapes_quotes(placeholder.replacement)
    harmless = _is_subset(values.chars, _SAFE_CHARS[position.quote])
    if position.quote == "single" and "'" in (placeholder.replacement.replacement or ""):
        harmless = False
    if not (escaped or is_shell_text) and (not harmless or _may_be_assignment(position, values)):
        return _QUOTE_FAULTS[position.quote]
    if position.delimiter is not None and _can_end_document(position, values.chars):
        return QuotingFault(
            "OSP604", "in a here-document, which a line of it may end", _PRINTF_REMEDY
        )
    return None


def _holds_shell_text(view: ProfileView, placeholder: Placeholder, position: Position) -> bool:
    declared = view.find_field(placeholder.text, placeholder.replacement.name)
    if position.quote != "unquoted" or declared is None:
        return False
    return possible.is_shell_text(declared, placeholder.replacement)


def _may_be_assignment(position: Position, values: ValueSet) -> bool:
    """Say whether an unquoted value may make its word an assignment (`PATH=...`)."""
    bare = position.quote == "unquoted" and position.role == "command"
    return bare and "=" in values.chars


def _can_end_document(position: Position, chars: CharSet) -> bool:
    """Say whether a value can make its line equal to what ends the here-document."""
    if "\n" in chars:
        return True
    rest = position.line.replace("\uffff", "")
    missing = set(position.delimiter or "").difference(rest)
    return set(rest) <= set(position.delimiter or "") and all(c in chars for c in missing)


def _find_code_fault(position: Position, values: ValueSet) -> QuotingFault | None:
    if position.role != "argument" or _is_subset(values.chars, _SAFE_IN_CODE):
        return None
    language = argument_language(position.words, position.prefix)
    if not language:
        return None
    where = f"in what {parse_words(position.words).name} reads as {language}"
    return QuotingFault("OSP610", where, _ARGUMENT_REMEDY)


def _find_flow_fault(
    position: Position,
    values: ValueSet,
    lexed: LexedScript[Placeholder],
    *,
    check_options: bool = True,
) -> QuotingFault | None:
    """Find out whether a value gets into a variable, or an output, that is then evaluated."""
    check_options = check_options and "-" in values.first_chars
    if _is_subset(values.chars, _SAFE_IN_CODE) and not check_options:
        return None
    code = not _is_subset(values.chars, _SAFE_IN_CODE)
    if code and position.feeds_arithmetic:
        return QuotingFault("OSP615", "in a command whose output is computed with", _INTEGER_REMEDY)
    told = None
    for step in dataflow.trace_value(lexed, position):
        if "faults" not in step.cached_faults:
            step.cached_faults["faults"] = _find_step_faults(step, lexed.functions)
        faults: tuple[QuotingFault | None, QuotingFault | None] = step.cached_faults["faults"]
        evaluated, option = faults
        if code and evaluated:
            return evaluated
        told = told or (option if check_options else None)
    return told


def _find_step_faults(
    step: FlowStep, functions: AbstractSet[str]
) -> tuple[QuotingFault | None, QuotingFault | None]:
    """Find out whether a step brings a value where it is evaluated, and where it may be an option."""
    evaluated = option = None
    for via, used, begins in step.positions:
        evaluated = evaluated or _find_evaluation(via, used)
        if via and begins and option is None and used.quote != "arithmetic":
            option = _find_variable_option(via, used, functions)
    return evaluated, option


def _find_evaluation(source: str, position: Position) -> QuotingFault | None:
    """Find out whether a place that a value gets to, by a variable or itself, evaluates it."""
    by = (
        f"in variable {source.removeprefix('$')}, which"
        if source.startswith("$") and source != "$(...)"
        else "in an output, which"
    )
    if source and position.quote == "arithmetic":
        return QuotingFault("OSP615", f"{by} is computed with", _INTEGER_REMEDY)
    variable = dataflow.assigned_variable(position) or _parse_env_variable(position)
    if variable in SPECIAL_VARIABLES:
        return QuotingFault(
            "OSP615",
            f"in {variable}, which decides what is run",
            "set it to a text of the profile's own",
        )
    if (
        source
        and position.role == "argument"
        and (language := argument_language(position.words, position.prefix))
    ):
        return QuotingFault(
            "OSP615",
            f"{by} {_display_command(parse_words(position.words).name)} reads as {language}",
            _ARGUMENT_REMEDY,
        )
    for command in dataflow.list_receivers(position):
        if language := stdin_language(command.words):
            where = (
                f"in what {_display_command(parse_words(command.words).name)} reads as {language}"
            )
            return QuotingFault("OSP615" if source else "OSP610", where, _ARGUMENT_REMEDY)
    return None


def find_evaluated_input(lexed: LexedScript[Placeholder]) -> Iterator[tuple[str, str, Position]]:
    """Yield each variable that `lex_script` fills and that is evaluated: its name, by what, and where."""
    for command in lexed.commands:
        for name in command.words[1:] if command.words[:1] == ["read"] else ():
            origin = Position("double", "assignment", (), f"{name}=")
            for via, used, _begins in dataflow.reached_positions(lexed, origin):
                if (
                    via
                    and used.role == "argument"
                    and (code := argument_language(used.words, used.prefix))
                ):
                    yield (
                        name,
                        f"{_display_command(parse_words(used.words).name)} reads as {code}",
                        used,
                    )


def _parse_env_variable(position: Position) -> str:
    """Return the variable that `env NAME=...` sets; nothing if it is none."""
    name, equals, _ = position.prefix.partition("=")
    return name if equals and position.words[:1] == ("env",) else ""


def _find_variable_option(
    source: str, position: Position, functions: AbstractSet[str]
) -> QuotingFault | None:
    if position.role != "argument" or not may_be_option(position.words, position.prefix, functions):
        return None
    if position.words[-1].startswith("-") and position.words[-1] != "--":
        return None  # most likely it is the value of that option
    if parse_words(position.words).name in {"echo", "set", "export", "eval", ""}:
        return None
    command = _display_command(parse_words(position.words).name)
    where = (
        f"in variable {source.removeprefix('$')}, where {command} takes a leading - for an option"
    )
    return QuotingFault(
        "OSP616",
        where,
        "let a -- precede the variable, or give the field an ext:pattern that forbids a leading -",
    )


def _find_option_fault(
    position: Position, values: ValueSet, functions: AbstractSet[str]
) -> QuotingFault | None:
    """Find out whether a value may be taken for an option."""
    if position.role != "argument":
        return None
    name = parse_words(position.words).name
    if name == "echo" and values.chars.intersects(_DASH_CHARS | _BACKSLASH_CHARS):
        where = "given to echo, which may take it for an option and reads backslashes"
        return QuotingFault("OSP605", where, _PRINTF_REMEDY)
    if "-" not in values.first_chars or not may_be_option(
        position.words, position.prefix, functions
    ):
        return None
    remedy = (
        "let a -- precede it, or attach it to its option (-q'...', --queue='...'), "
        "or give it an ext:pattern that forbids a leading -"
    )
    return QuotingFault(
        "OSP605", f"where {_display_command(name)} takes a leading - for an option", remedy
    )


def _display_command(name: str) -> str:
    return name if name.isprintable() and name.isascii() and name else "the command"


def _problem_from_fault(
    view: ProfileView, placeholder: Placeholder, source: ValueSource, fault: QuotingFault
) -> Problem:
    name = placeholder.replacement.name
    remedy = (
        _PRINTF_REMEDY if source == "script" else fault.remedy or "write @, single quotes included"
    )
    if name == "ENVIRONMENT":
        words = "<ENVIRONMENT/{}/{}>".format(*possible.ENVIRONMENT_REPLACEMENT)
        remedy = f"hand it to the program by env: set -- {words}"
    remedy = remedy.replace("@", f"'<{name}/'/'\\\\''>'")
    if source == "script":
        return make_problem(
            "OSP608", f"the job's script stands {fault.position_text}", placeholder.location, remedy
        )
    declared = view.find_field(placeholder.text, name)
    if declared is not None and declared.location.source is not placeholder.location.source:
        remedy += f"; field {declared.name} is declared at {declared.location}"
    if source == "context":
        message = f"the value of {name}, which the context gives, stands {fault.position_text}"
        return make_problem("OSP609", message, placeholder.location, remedy)
    message = f"the value of settable field {name} stands {fault.position_text}"
    return make_problem(fault.code, message, placeholder.location, remedy)


def _is_subset(chars: CharSet, allowed: CharSet) -> bool:
    return not chars.intersects(~allowed)
