"""Data flow in a script: how a value spreads through variables, functions, `$(...)` and pipes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from osprofile.lint.shell.commands import prints_arguments, prints_nothing, unwrap_command
from osprofile.lint.shell.lexer import POSITIONAL_NAMES
from osprofile.lint.shell.position import EXPANSION_MARK, PLACEHOLDER_MARK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.lint.quoting import QuotingFault
    from osprofile.lint.shell.lexer import LexedScript, PlaceholderT, Variable
    from osprofile.lint.shell.position import Command, Position

DECLARING_COMMANDS: Final = frozenset({"export", "readonly", "local", "declare", "typeset"})
_MAX_PIPE_LENGTH: Final = 20
"""Commands of one pipe that are followed; the rest of a longer pipe is ignored."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class FlowStep:
    """The positions that a value reaches in one step, and the variables that are set to it there.

    Each position has the variable or output through which the value comes, and whether a word there
    may begin with the value; each variable has whether its value may. `cached_faults` belongs to the
    rule that examines the step.
    """

    positions: list[tuple[str, Position, bool]]
    variables: list[tuple[Variable, bool]]
    cached_faults: list[tuple[QuotingFault | None, QuotingFault | None]] = field(default_factory=list)


def trace_value(lexed: LexedScript[PlaceholderT], position: Position) -> Iterator[FlowStep]:
    """Yield the steps of a value at a position: the position itself, then each variable.

    The step of a variable is cached in `lexed`, for the other values that reach the variable.
    """
    step = _build_flow_step(lexed, "", [(position, True)])
    yield step
    pending, seen = [*step.variables], {*step.variables}
    while pending:
        (variable, begins) = key = pending.pop()
        if key not in lexed.flow_steps:
            uses = [(used, begins) for used in lexed.variable_uses.get(variable, ())]
            lexed.flow_steps[key] = _build_flow_step(lexed, f"${variable[1]}", uses)
        step = lexed.flow_steps[key]
        yield step
        pending += [found for found in step.variables if found not in seen]
        seen.update(step.variables)


def _build_flow_step(
    lexed: LexedScript[PlaceholderT], source: str, start_positions: list[tuple[Position, bool]]
) -> FlowStep:
    positions = list[tuple[str, "Position", bool]]()
    variables = dict[tuple["Variable", bool], None]()
    pending = [(source, here, begins) for here, begins in start_positions]
    while pending:
        source, here, begins = pending.pop()
        positions.append((source, here, begins))
        begins = begins and _may_begin_word(here)
        if here.enclosing_substitution is not None and prints_arguments(here.preceding_words):
            pending.append((source or "$(...)", here.enclosing_substitution, begins))
        variables.update(
            ((variable, begins), None) for variable in _list_assigned_variables(lexed, here, source)
        )
    return FlowStep(positions, [*variables])


def list_reached_positions(
    lexed: LexedScript[PlaceholderT], position: Position
) -> Iterator[tuple[str, Position, bool]]:
    """Yield the positions that a value reaches; see `FlowStep`."""
    for step in trace_value(lexed, position):
        yield from step.positions


def _may_begin_word(position: Position) -> bool:
    """Return whether a value may begin the word or text that it becomes part of.

    After an option the value most likely belongs to that option, wherever both are passed.
    """
    prefix = position.prefix.partition("=")[2] if get_assigned_variable(position) else position.prefix
    option = position.preceding_words[-1] if position.role == "argument" and position.preceding_words else ""
    return not prefix.strip(PLACEHOLDER_MARK + EXPANSION_MARK) and (
        option == "--" or not option.startswith("-")
    )


def list_output_readers(position: Position) -> Iterator[Command]:
    """Yield the commands that read the output of a position's command, or its here-document."""
    yield from position.here_document_readers
    command = position.command if position.role == "argument" else None
    for start in (*position.here_document_readers, command):
        following = start.piped_into if start is not None and not prints_nothing(start.words) else None
        for _ in range(_MAX_PIPE_LENGTH):
            if following is not None:
                yield following
                following = following.piped_into


def get_assigned_variable(position: Position) -> str:
    """Return the variable that is set to a text with the value; empty if there is none."""
    name, equals, _ = position.prefix.partition("=")
    declares = (
        position.role == "argument"
        and position.preceding_words[:1]
        and position.preceding_words[0] in DECLARING_COMMANDS
    )
    return name if equals and (position.role == "assignment" or declares) else ""


def _list_assigned_variables(
    lexed: LexedScript[PlaceholderT], position: Position, source: str
) -> Iterator[Variable]:
    """Yield the variables that are set to a value at a position; `source` is where it came from."""
    words = unwrap_command(position.preceding_words)
    if name := get_assigned_variable(position):
        yield "", name
    elif position.role == "for-item" and words:
        yield "", words[0]
    elif position.role == "argument" and words and words[0] in lexed.functions:
        anywhere = words[0] in lexed.shifting_functions or source in {"$@", "$*"}
        names = POSITIONAL_NAMES if anywhere else (str(len(words)), "@", "*")
        yield from ((words[0], name) for name in names)
    elif position.role == "argument" and words and words[0] == "set":
        yield from ((position.function_name, name) for name in POSITIONAL_NAMES)
    if position.here_document_readers or prints_arguments(words):
        for command in list_output_readers(position):
            if command.words[:1] == ["read"]:
                yield from (("", name) for name in command.words[1:])
