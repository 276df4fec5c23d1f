"""Rules for quoting: whether a value is safe at its position in a shell script.

See docs/language.md, "Quoting".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from osprofile.incarnation import field_rules
from osprofile.javaregex.charset import ALNUM, ANY, DIGIT, WORD, CharSet
from osprofile.lint import dataflow, value_sets
from osprofile.lint.replacements import is_known_name
from osprofile.lint.rules import make_problem
from osprofile.lint.shell.commands import (
    SPECIAL_VARIABLES,
    detect_argument_language,
    detect_stdin_language,
    may_be_option,
    parse_words,
)
from osprofile.lint.shell.position import PLACEHOLDER_MARK, Position, QuotingFault
from osprofile.profile.model import PASSED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from osprofile.errors import Problem
    from osprofile.lint.profile_view import Placeholder, ProfileView
    from osprofile.lint.shell.lexer import LexedScript
    from osprofile.lint.shell.position import FlowStep, QuoteContext
    from osprofile.lint.value_sets import ValueSet
    from osprofile.profile.model import Field

ValueSource = Literal["request", "context", "script", "words", "safe"]
"""Who supplies a value. `script`: the engine, as the job script. `words`: the engine, as shell words
(`TARGET` and `ARGUMENTS` of BIN). `safe`: `FILE_NAME`, the path of a static script, a fixed Value, or a field that is not declared,
which another rule reports."""

# The characters that have no special meaning in each kind of quotes.
_SAFE_CHARS: Final[dict[QuoteContext, CharSet]] = {
    "unquoted": ALNUM | CharSet.from_chars("_@%+:,./-="),
    "single": ~CharSet.from_chars("'"),
    "double": ~CharSet.from_chars('"$`\\'),
    "here-document": ~CharSet.from_chars("$`\\"),
    "literal-here-document": ANY,
    "comment": ~CharSet.from_chars("\n"),
    "arithmetic": DIGIT | CharSet.from_chars("-"),
    "after-dollar": WORD,
    "dollar-single": ~CharSet.from_chars("'\\"),
    "shell-dependent": ~CharSet.from_chars("\"$`\\}'"),
}
_SAFE_IN_BACKQUOTES: Final = ~CharSet.from_chars("`\\")
_SAFE_IN_CODE: Final = ALNUM | CharSet.from_chars("_.:@+=,[] -")
_INTEGER_REMEDY: Final = 'give it ext:type="integer"'
_ARGUMENT_REMEDY: Final = "pass it as an argument or in the environment, not as code"
_PRINTF_REMEDY: Final = "write printf '%s\\n' @"
"""A remedy; @ stands for the quoted replacement."""

_DASH_CHARS: Final = CharSet.from_chars("-")
_BACKSLASH_CHARS: Final = CharSet.from_chars("\\")


_QUOTE_FAULTS: Final[dict[QuoteContext, QuotingFault]] = {
    "unquoted": QuotingFault("OSP601", "unquoted"),
    "double": QuotingFault("OSP602", 'in double quotes, where $, ` and " keep their meaning'),
    "single": QuotingFault("OSP603", "in single quotes, and a ' in it ends them"),
    "dollar-single": QuotingFault("OSP603", "in $'...', which sh and bash read differently"),
    "here-document": QuotingFault("OSP604", "in a here-document, where $ and ` keep their meaning", _PRINTF_REMEDY),
    "literal-here-document": QuotingFault("OSP604", "in a here-document", _PRINTF_REMEDY),
    "comment": QuotingFault(
        "OSP607", "in a comment, which a line end in it ends",
        "remove it, or give the field an ext:pattern without line ends",
    ),
    "after-dollar": QuotingFault("OSP601", "after a $, as the name of a variable"),
    "shell-dependent": QuotingFault(
        "OSP611", "in quotes that shells read differently",
        "assign it to a variable first",
    ),
    "arithmetic": QuotingFault("OSP606", "in an arithmetic expression", _INTEGER_REMEDY),
}  # fmt: skip


def classify_source(view: ProfileView, placeholder: Placeholder) -> ValueSource:
    """Return who supplies the value of a placeholder."""
    name, text = placeholder.replacement.name, placeholder.text
    if name in text.engine_fields:
        return "safe" if name == "FILE_NAME" else "words"
    if name == field_rules.JOB_SCRIPT:
        return "script" if is_known_name(view, text, name) else "safe"
    # The engine lets only those options through that PASSED_OPTIONS lists.
    if name.startswith(field_rules.PROGRAM_PREFIX) or name == PASSED:
        return "safe"
    if field_rules.is_special_field(name):
        return "context"
    declared = view.find_field(text, name)
    if declared is None or declared.value is not None:
        return "safe"
    return "request" if declared.settable else "context"


def get_placeholder_values(view: ProfileView, placeholder: Placeholder) -> ValueSet:
    """Return the values that a placeholder may get, with FROM and TO applied."""
    name = placeholder.replacement.name
    declared = view.find_field(placeholder.text, name)
    if declared is None:
        values = value_sets.ANY_VALUES
    elif declared.name != name and not field_rules.is_program_form(name):
        is_quoted = field_rules.is_quoted_form(name)
        values = value_sets.ANY_VALUES if is_quoted else value_sets.DERIVED_VALUES
    else:
        values = value_sets.get_field_values(declared)
        if value_sets.is_shell_text(declared, placeholder.replacement):
            return values  # FROM and TO keep it shell words
    return value_sets.apply_replacement(values, placeholder.replacement)


def check_placeholder(
    view: ProfileView, placeholder: Placeholder, position: Position, lexed: LexedScript[Placeholder]
) -> Iterator[Problem]:
    """Check a value at a position; report the first fault that is found.

    The order is quotes, code, options, data flow. The job script may be passed as code. Values from
    the context are not checked for options (except those of ssh) and data flow.
    """
    source = classify_source(view, placeholder)
    if source == "words":
        yield from _check_engine_words(placeholder, position, lexed)
    if source in {"safe", "words"}:
        return
    values = get_placeholder_values(view, placeholder)
    is_shell_text = _is_shell_text_position(view, placeholder, position)
    fault = _find_quote_fault(placeholder, position, values, is_shell_text=is_shell_text)
    if fault is None and _is_own_code(placeholder, position):
        return
    if fault is None and source != "script":
        fault = _find_code_fault(position, values)
    check_options = source != "context" or _is_ssh_field(placeholder)
    if fault is None and not is_shell_text and check_options:
        fault = _find_option_fault(position, values, lexed.functions)
    if fault is None and source == "request":
        fault = _find_flow_fault(position, values, lexed)
    if fault is not None:
        yield _make_problem_from_fault(view, placeholder, source, fault)


def _check_engine_words(
    placeholder: Placeholder, position: Position, lexed: LexedScript[Placeholder]
) -> Iterator[Problem]:
    """Check a value that the engine supplies as shell words: it must not be quoted or evaluated."""
    name = placeholder.replacement.name
    if position.quote != "unquoted":
        message = f"<{name}> of BIN is already quoted, and is in quotes here"
        yield make_problem("OSP614", message, placeholder.location, f"write <{name}> alone")
    elif name == "ARGUMENTS":  # TARGET is a path that the profile itself makes
        fault = _find_code_fault(position, value_sets.ANY_VALUES)
        fault = fault or _find_flow_fault(position, value_sets.ANY_VALUES, lexed, check_options=False)
        if fault is not None:
            message = f"<{name}> of BIN, which has values of requests, is used {fault.position_text}"
            yield make_problem(fault.code, message, placeholder.location, fault.remedy)


def _is_own_code(placeholder: Placeholder, position: Position) -> bool:
    """Return whether a value is the user's code for the user's own job: SETUP, alone after eval."""
    is_alone = not position.prefix and [*position.preceding_words] == ["eval"]
    return placeholder.replacement.name == "SETUP" and is_alone


def _is_ssh_field(placeholder: Placeholder) -> bool:
    """Return whether a value is the host or port of ssh, which ssh could read as an option."""
    return placeholder.replacement.name.startswith("SSH:")


def _find_quote_fault(
    placeholder: Placeholder, position: Position, values: ValueSet, *, is_shell_text: bool
) -> QuotingFault | None:
    if position.is_backquoted and not _is_subset(values.chars, _SAFE_IN_BACKQUOTES):
        return QuotingFault("OSP613", "in backquotes, where quotes do not protect it", "write $(...) instead")
    if position.role == "here-delimiter":
        return QuotingFault("OSP604", "in the delimiter of a here-document", "write the delimiter out")
    is_escaped = position.quote == "single" and value_sets.escapes_quotes(placeholder.replacement)
    is_harmless = _is_subset(values.chars, _SAFE_CHARS[position.quote])
    if position.quote == "single" and "'" in (placeholder.replacement.replacement or ""):
        is_harmless = False
    if position.quote == "literal-here-document" and _is_delimited_job_script(placeholder, position):
        return None
    if not (is_escaped or is_shell_text) and (not is_harmless or _may_be_assignment(position, values)):
        return _QUOTE_FAULTS[position.quote]
    if position.here_delimiter is not None and _can_end_document(position, values.chars):
        return QuotingFault("OSP604", "in a here-document, which a line of the value may end", _PRINTF_REMEDY)
    return None


def _is_shell_text_position(view: ProfileView, placeholder: Placeholder, position: Position) -> bool:
    declared = view.find_field(placeholder.text, placeholder.replacement.name)
    if position.quote != "unquoted" or declared is None:
        return False
    return value_sets.is_shell_text(declared, placeholder.replacement)


def _may_be_assignment(position: Position, values: ValueSet) -> bool:
    """Return whether an unquoted value may turn its word into an assignment (`PATH=...`)."""
    is_command_word = position.quote == "unquoted" and position.role == "command"
    return is_command_word and "=" in values.chars


def _is_delimited_job_script(placeholder: Placeholder, position: Position) -> bool:
    """Return whether a placeholder is JOB_SCRIPT alone on its lines, in a here-document that ends with JOB_SCRIPT:END."""
    replacement = placeholder.replacement
    return (
        (replacement.name, replacement.pattern) == (field_rules.JOB_SCRIPT, None)
        and position.here_delimiter == f"<{field_rules.JOB_SCRIPT_END}>"
        and position.here_line_text == PLACEHOLDER_MARK
    )


def _can_end_document(position: Position, chars: CharSet) -> bool:
    """Return whether a value can make its line equal to the delimiter of the here-document."""
    if "\n" in chars:
        return True
    line_text = position.here_line_text.replace(PLACEHOLDER_MARK, "")
    missing_chars = set(position.here_delimiter or "").difference(line_text)
    return set(line_text) <= set(position.here_delimiter or "") and all(c in chars for c in missing_chars)


def _find_code_fault(position: Position, values: ValueSet) -> QuotingFault | None:
    if position.role != "argument" or _is_subset(values.chars, _SAFE_IN_CODE):
        return None
    language = detect_argument_language(position.preceding_words, position.prefix)
    if not language:
        return None
    where = f"in what {_format_command_name(position.preceding_words)} reads as {language}"
    return QuotingFault("OSP610", where, _ARGUMENT_REMEDY)


def _find_flow_fault(
    position: Position, values: ValueSet, lexed: LexedScript[Placeholder], *, check_options: bool = True
) -> QuotingFault | None:
    """Find a variable or an output that contains the value, and is evaluated or may be an option."""
    check_options = check_options and "-" in values.first_chars
    if _is_subset(values.chars, _SAFE_IN_CODE) and not check_options:
        return None
    may_be_code = not _is_subset(values.chars, _SAFE_IN_CODE)
    if may_be_code and position.feeds_arithmetic:
        return QuotingFault("OSP615", "in a command whose output is used in arithmetic", _INTEGER_REMEDY)
    first_option = None
    for step in dataflow.trace_value(lexed, position):
        if not step.cached_faults:
            step.cached_faults.append(_find_step_faults(step, lexed.functions))
        evaluated, option = step.cached_faults[0]
        if may_be_code and evaluated:
            return evaluated
        first_option = first_option or (option if check_options else None)
    return first_option


def _find_step_faults(
    step: FlowStep, functions: AbstractSet[str]
) -> tuple[QuotingFault | None, QuotingFault | None]:
    """Return the fault of the first position that evaluates the value, and where it may be an option."""
    evaluated = option = None
    for source, position, may_begin in step.positions:
        evaluated = evaluated or _find_evaluation_fault(source, position)
        if source and may_begin and option is None and position.quote != "arithmetic":
            option = _find_variable_option_fault(source, position, functions)
    return evaluated, option


def _find_evaluation_fault(source: str, position: Position) -> QuotingFault | None:
    """Find whether a position evaluates a value; `source` is that of `dataflow.ReachedPosition`."""
    carrier = (
        f"in variable {source.removeprefix('$')}, which"
        if source.startswith("$") and source != "$(...)"
        else "in an output, which"
    )
    if source and position.quote == "arithmetic":
        return QuotingFault("OSP615", f"{carrier} is used in arithmetic", _INTEGER_REMEDY)
    variable = dataflow.get_assigned_variable(position) or _parse_env_variable(position)
    if variable in SPECIAL_VARIABLES:
        return QuotingFault("OSP615", f"in {variable}, which decides what is run", "set it to a fixed text")
    if (
        source
        and position.role == "argument"
        and (language := detect_argument_language(position.preceding_words, position.prefix))
    ):
        return QuotingFault(
            "OSP615",
            f"{carrier} {_format_command_name(position.preceding_words)} reads as {language}",
            _ARGUMENT_REMEDY,
        )
    for command in dataflow.list_output_readers(position):
        if language := detect_stdin_language(command.words):
            where = f"in what {_format_command_name(command.words)} reads as {language}"
            return QuotingFault("OSP615" if source else "OSP610", where, _ARGUMENT_REMEDY)
    return None


def find_evaluated_input(lexed: LexedScript[Placeholder]) -> Iterator[tuple[str, str, Position]]:
    """Yield each variable that `read` sets and that is evaluated: its name, how, and where."""
    for command in lexed.commands:
        for name in command.words[1:] if command.words[:1] == ["read"] else ():
            origin = Position("double", "assignment", (), f"{name}=")
            for source, position, _ in dataflow.list_reached_positions(lexed, origin):
                words = position.preceding_words
                language = detect_argument_language(words, position.prefix)
                if source and position.role == "argument" and language:
                    yield name, f"{_format_command_name(words)} reads as {language}", position


def _parse_env_variable(position: Position) -> str:
    """Return the variable that `env NAME=...` sets; empty if there is none."""
    name, equals, _ = position.prefix.partition("=")
    return name if equals and position.preceding_words[:1] == ("env",) else ""


def _find_variable_option_fault(
    source: str, position: Position, functions: AbstractSet[str]
) -> QuotingFault | None:
    words = position.preceding_words
    if position.role != "argument" or not may_be_option(words, position.prefix, functions):
        return None
    if words[-1].startswith("-") and words[-1] != "--":
        return None  # most likely the value of that option
    if parse_words(words).name in {"echo", "set", "export", "eval", ""}:
        return None
    command = _format_command_name(words)
    where = f"in variable {source.removeprefix('$')}, where {command} reads a leading - as an option"
    return QuotingFault(
        "OSP616",
        where,
        "put a -- before the variable, or give the field an ext:pattern that forbids a leading -",
    )


def _find_option_fault(
    position: Position, values: ValueSet, functions: AbstractSet[str]
) -> QuotingFault | None:
    if position.role != "argument":
        return None
    words = position.preceding_words
    name = parse_words(words).name
    if name == "echo" and values.chars.intersects(_DASH_CHARS | _BACKSLASH_CHARS):
        where = "as an argument of echo, which may read it as an option and evaluates backslashes"
        return QuotingFault("OSP605", where, _PRINTF_REMEDY)
    if "-" not in values.first_chars or not may_be_option(words, position.prefix, functions):
        return None
    remedy = (
        "put a -- before it, or attach it to its option (-q'...', --queue='...'), "
        "or give it an ext:pattern that forbids a leading -"
    )
    where = f"where {_format_command_name(words)} reads a leading - as an option"
    return QuotingFault("OSP605", where, remedy)


def _format_command_name(words: Sequence[str]) -> str:
    """Return the name of a command for a message; it may be a variable, a value or hostile text."""
    name = parse_words(words).name
    return name if name.isprintable() and name.isascii() and name else "the command"


def _make_problem_from_fault(
    view: ProfileView, placeholder: Placeholder, source: ValueSource, fault: QuotingFault
) -> Problem:
    name = placeholder.replacement.name
    remedy = _PRINTF_REMEDY if source == "script" else fault.remedy or "write @, single quotes included"
    if name == "ENVIRONMENT":
        replacement = "<ENVIRONMENT/{}/{}>".format(*value_sets.ENVIRONMENT_REPLACEMENT)
        remedy = f"pass it to the program with env: set -- {replacement}"
    remedy = remedy.replace("@", f"'<{name}/'/'\\\\''>'")
    if source == "script":
        return make_problem(
            "OSP608", f"the job script is used {fault.position_text}", placeholder.location, remedy
        )
    declared = view.find_field(placeholder.text, name)
    if declared is not None and declared.location.source is not placeholder.location.in_document.source:
        remedy += f"; field {declared.name} is declared at {declared.location}"
    if source == "context":
        return make_context_problem(placeholder, declared, fault.position_text, remedy)
    message = f"the value of settable field {name} is used {fault.position_text}"
    return make_problem(fault.code, message, placeholder.location, remedy)


def make_context_problem(
    placeholder: Placeholder, declared: Field | None, position_text: str, remedy: str
) -> Problem:
    """Return the problem with a value from the context; with a Default, its cause may be that this is no Value."""
    message, location = (
        f"the value of {placeholder.replacement.name}, which the context supplies,",
        placeholder.location,
    )
    if declared is not None and declared.default:
        location = declared.locate_child("Default")
        remedy = "write <Value> instead of <Default>: the user's profile can change a Default"
    return make_problem("OSP609", f"{message} is used {position_text}", location, remedy)


def _is_subset(chars: CharSet, allowed: CharSet) -> bool:
    return not chars.intersects(~allowed)
