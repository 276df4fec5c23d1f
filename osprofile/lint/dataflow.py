"""Data flow in a script: how a value spreads through variables, functions, `$(...)` and pipes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile.lint.shell.commands import prints_arguments, prints_nothing, unwrap_command
from osprofile.lint.shell.lexer import POSITIONAL_NAMES
from osprofile.lint.shell.position import EXPANSION_MARK, PLACEHOLDER_MARK, FlowStep, ReachedPosition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.lint.shell.cursor import PlaceholderT
    from osprofile.lint.shell.lexer import LexedScript
    from osprofile.lint.shell.position import Command, Position, Variable

DECLARING_COMMANDS: Final = frozenset({"export", "readonly", "local", "declare", "typeset"})
_MAX_PIPE_LENGTH: Final = 20
"""Commands of one pipe that are followed; the rest of a longer pipe is ignored."""


def trace_value(lexed: LexedScript[PlaceholderT], position: Position) -> Iterator[FlowStep]:
    """Yield the steps of a value at a position: the position itself, then each variable.

    The step of a variable is cached in `lexed`, for the other values that reach the variable.
    """
    step = _build_flow_step(lexed, [ReachedPosition("", position, True)])
    yield step
    pending, reached = [*step.variables], {*step.variables}
    while pending:
        (variable, may_begin) = key = pending.pop()
        if key not in lexed.flow_steps:
            source, uses = f"${variable[1]}", lexed.variable_uses.get(variable, ())
            starts = [ReachedPosition(source, position, may_begin) for position in uses]
            lexed.flow_steps[key] = _build_flow_step(lexed, starts)
        step = lexed.flow_steps[key]
        yield step
        pending += [key for key in step.variables if key not in reached]
        reached.update(step.variables)


def _build_flow_step(lexed: LexedScript[PlaceholderT], starts: list[ReachedPosition]) -> FlowStep:
    positions, pending = list[ReachedPosition](), [*starts]
    variables = dict[tuple["Variable", bool], None]()
    while pending:
        positions.append(pending.pop())
        source, position, may_begin = positions[-1]
        may_begin = may_begin and _may_begin_word(position)
        if position.enclosing_substitution is not None and prints_arguments(position.preceding_words):
            output = source or "$(...)"
            pending.append(ReachedPosition(output, position.enclosing_substitution, may_begin))
        variables.update(
            ((variable, may_begin), None) for variable in _list_assigned_variables(lexed, position, source)
        )
    return FlowStep(positions, [*variables])


def list_reached_positions(lexed: LexedScript[PlaceholderT], position: Position) -> Iterator[ReachedPosition]:
    """Yield the positions that a value reaches."""
    for step in trace_value(lexed, position):
        yield from step.positions


def _may_begin_word(position: Position) -> bool:
    """Return whether a value may begin the word or text that it becomes part of.

    Not if an option is before it: the value most likely belongs to that option.
    """
    prefix = position.prefix.partition("=")[2] if get_assigned_variable(position) else position.prefix
    option = position.preceding_words[-1] if position.role == "argument" and position.preceding_words else ""
    return not prefix.strip(PLACEHOLDER_MARK + EXPANSION_MARK) and (
        option == "--" or not option.startswith("-")
    )


def list_output_readers(position: Position) -> Iterator[Command]:
    """Yield the commands that read what a position's command prints, or its here-document."""
    yield from position.here_document_readers
    command = position.command if position.role == "argument" else None
    for writer in (*position.here_document_readers, command):
        reader = writer.piped_into if writer is not None and not prints_nothing(writer.words) else None
        for _ in range(_MAX_PIPE_LENGTH):
            if reader is not None:
                yield reader
                reader = reader.piped_into


def get_assigned_variable(position: Position) -> str:
    """Return the variable that the word at a position sets; empty if it sets none."""
    name, equals, _ = position.prefix.partition("=")
    words = position.preceding_words
    declares = position.role == "argument" and words[:1] and words[0] in DECLARING_COMMANDS
    return name if equals and (position.role == "assignment" or declares) else ""


def _list_assigned_variables(
    lexed: LexedScript[PlaceholderT], position: Position, source: str
) -> Iterator[Variable]:
    """Yield the variables that are set to a value at a position; see `ReachedPosition` for `source`."""
    words = unwrap_command(position.preceding_words)
    if name := get_assigned_variable(position):
        yield "", name
    elif position.role == "for-item" and words:
        yield "", words[0]
    elif position.role == "argument" and words and words[0] in lexed.functions:
        may_move = words[0] in lexed.shifting_functions or source in {"$@", "$*"}
        names = POSITIONAL_NAMES if may_move else (str(len(words)), "@", "*")
        yield from ((words[0], name) for name in names)
    elif position.role == "argument" and words and words[0] == "set":
        yield from ((position.function_name, name) for name in POSITIONAL_NAMES)
    if position.here_document_readers or prints_arguments(words):
        for command in list_output_readers(position):
            if command.words[:1] == ["read"]:
                yield from (("", name) for name in command.words[1:])
