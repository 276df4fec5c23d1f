"""Where a value goes in a script: through variables, functions, `$(...)` and pipes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.lint.shell.commands import is_silent, prints, unwrapped
from osprofile.lint.shell.lexer import POSITIONAL
from osprofile.lint.shell.position import EXPANSION, GAP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.lint.shell.lexer import Reading, Variable
    from osprofile.lint.shell.position import Command, Position
    from osprofile.lint.shell.words import Hole

DECLARING: Final = frozenset({"export", "readonly", "local", "declare", "typeset"})
_LONGEST_PIPE: Final = 20


@final
@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Where a value gets to in one step, and the variables that have it then.

    `places` are by what it gets there, the place, and whether a word there may begin with the
    value; `leads` the variables, and whether they may. `notes` is for what a rule finds out.
    """

    places: list[tuple[str, Position, bool]]
    leads: list[tuple[Variable, bool]]
    notes: dict[str, Any] = field(default_factory=dict)


def steps(reading: Reading[Hole], position: Position) -> Iterator[Step]:
    """Yield the steps of a value at a position: the position itself, then each variable.

    What is known of a variable is kept in `reading`, for the other values that get into it.
    """
    step = _step(reading, "", [(position, True)])
    yield step
    pending, seen = [*step.leads], {*step.leads}
    while pending:
        (variable, begins) = key = pending.pop()
        if key not in reading.steps:
            uses = [(used, begins) for used in reading.uses.get(variable, ())]
            reading.steps[key] = _step(reading, f"${variable[1]}", uses)
        step = reading.steps[key]
        yield step
        pending += [lead for lead in step.leads if lead not in seen]
        seen.update(step.leads)


def _step(reading: Reading[Hole], via: str, starts: list[tuple[Position, bool]]) -> Step:
    places, leads = list[tuple[str, "Position", bool]](), dict[tuple["Variable", bool], None]()
    pending = [(via, here, begins) for here, begins in starts]
    while pending:
        via, here, begins = pending.pop()
        places.append((via, here, begins))
        begins = begins and _may_begin(here)
        if here.outer is not None and prints(here.words):
            pending.append((via or "$(...)", here.outer, begins))
        leads.update(((variable, begins), None) for variable in _variables(reading, here, via))
    return Step(places, [*leads])


def reached(reading: Reading[Hole], position: Position) -> Iterator[tuple[str, Position, bool]]:
    """Yield each place that a value at a position gets to; see `Step.places`."""
    for step in steps(reading, position):
        yield from step.places


def _may_begin(here: Position) -> bool:
    """Return whether a value may begin the word or text that it becomes part of.

    Behind an option it is most likely that option's value, wherever both go.
    """
    prefix = here.prefix.partition("=")[2] if assigned(here) else here.prefix
    option = here.words[-1] if here.role == "argument" and here.words else ""
    return not prefix.strip(GAP + EXPANSION) and (option == "--" or not option.startswith("-"))


def receivers(position: Position) -> Iterator[Command]:
    """Yield the commands that read the output of a position's command, or its here-document."""
    yield from position.readers
    command = position.command if position.role == "argument" else None
    for start in (*position.readers, command):
        following = start.into if start is not None and not is_silent(start.words) else None
        for _ in range(_LONGEST_PIPE):
            if following is not None:
                yield following
                following = following.into


def assigned(position: Position) -> str:
    """Return the variable that a value becomes part of; nothing if of none."""
    name, equals, _ = position.prefix.partition("=")
    declares = position.role == "argument" and position.words[:1] and position.words[0] in DECLARING
    return name if equals and (position.role == "assignment" or declares) else ""


def _variables(reading: Reading[Hole], here: Position, via: str) -> Iterator[Variable]:
    """Yield the variables that get a value at a position, which gets there by another one."""
    words = unwrapped(here.words)
    if name := assigned(here):
        yield "", name
    elif here.role == "list" and words:
        yield "", words[0]
    elif here.role == "argument" and words and words[0] in reading.functions:
        anywhere = words[0] in reading.shifting or via in {"$@", "$*"}
        names = POSITIONAL if anywhere else (str(len(words)), "@", "*")
        yield from ((words[0], name) for name in names)
    elif here.role == "argument" and words and words[0] == "set":
        yield from ((here.scope, name) for name in POSITIONAL)
    if here.readers or prints(words):
        for command in receivers(here):
            if command.words[:1] == ["read"]:
                yield from (("", name) for name in command.words[1:])
