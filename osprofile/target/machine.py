"""The nodes and queues of a machine, in what the templates LIST_NODES and LIST_QUEUES print.

Both templates are optional. As with GET_JOB_STATUS, all about the output is the profile's: a
pattern with the groups name and state, where known substate (and `default` of a queue), and the
tags of NODE_STATE and QUEUE_STATE, `STATE/SUBSTATE` before `STATE`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import InvalidProfileError, Problem, shown
from osprofile.profile.words import NODE_WORDS, QUEUE_WORDS, NodeState, QueueState
from osprofile.target.outputs import not_understood, pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from osprofile.language.javaregex.pattern import Match, Pattern
    from osprofile.profile.model import Profile

NODES: Final = "LIST_NODES"
QUEUES: Final = "LIST_QUEUES"
_GROUPS: Final = ("name", "state")


@final
class NodeStatus(NamedTuple):
    """A node; `word` is the batch system's own for the state (STATE or STATE/SUBSTATE)."""

    name: str
    state: NodeState
    word: str = ""


@final
class QueueStatus(NamedTuple):
    """A queue; `is_default`: jobs that name none go there."""

    name: str
    state: QueueState
    word: str = ""
    is_default: bool = False


@final
class MachineReader:
    """Reads what one profile's two templates print.

    The same text again costs a comparison. A method raises `TemplateNotFoundError` where the
    profile has not its template, `InvalidProfileError` where the fields are not as they must be,
    `OutputError` for a text that is not empty and has nothing in it that the pattern finds.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._listings: dict[str, _Listing] = {}
        self._nodes: tuple[str | None, Sequence[NodeStatus]] = (None, ())
        self._queues: tuple[str | None, Sequence[QueueStatus]] = (None, ())

    def nodes(self, text: str) -> Sequence[NodeStatus]:
        """Give the nodes in the order that they are printed in; of two of one name the last."""
        if text != self._nodes[0]:
            listing = self._listing(NODES, "NODE", NODE_WORDS)
            found = {
                name: NodeStatus(name, NodeState(state), word)
                for name, state, word, _ in listing.read(text)
            }
            self._nodes = (text, tuple(found.values()))
        return self._nodes[1]

    def queues(self, text: str) -> Sequence[QueueStatus]:
        """Give the queues in the order that they are printed in; of two of one name the last."""
        if text != self._queues[0]:
            listing = self._listing(QUEUES, "QUEUE", QUEUE_WORDS)
            found = {
                name: QueueStatus(name, QueueState(state), word, bool(match.get("default")))
                for name, state, word, match in listing.read(text)
            }
            self._queues = (text, tuple(found.values()))
        return self._queues[1]

    def _listing(self, template: str, kind: str, words: Sequence[str]) -> _Listing:
        if template not in self._listings:
            name = f"{kind}_PATTERN"
            pattern = pattern_of(self._profile, template, name, _GROUPS)
            tags = _tags(self._profile, template, f"{kind}_STATE", words)
            self._listings[template] = _Listing(template, name, pattern, tags)
        return self._listings[template]


@final
class _Listing(NamedTuple):
    template: str
    name: str
    pattern: Pattern
    tags: Mapping[str, str]

    def read(self, text: str) -> Iterator[tuple[str, str, str, Mapping[str, str | None]]]:
        """Give name, state and word of each thing, and all groups."""
        nothing = True
        for match in self.pattern.find_iter(text):
            nothing = False
            yield self._thing(match)
        if nothing and text.strip():
            raise not_understood(self.template, self.name, text)

    def _thing(self, match: Match) -> tuple[str, str, str, Mapping[str, str | None]]:
        groups = match.groupdict()
        state, substate = groups["state"] or "", groups.get("substate")
        word = f"{state}/{substate}" if substate else state
        tag = self.tags.get(word) or self.tags.get(state) or NodeState.UNKNOWN.value
        return groups["name"] or "", tag, word, groups


def _tags(profile: Profile, template: str, name: str, words: Sequence[str]) -> dict[str, str]:
    """Give what the tags of a field say; `InvalidProfileError` for what is no state."""
    field = profile.field(profile.template(template), name)
    for tag in field.tags if field else ():
        if tag.value not in words:
            message = f"tag {shown(tag.name)} of {name} gives {shown(tag.value)}, which is no state"
            hint = f"one of {', '.join(words)}"
            raise InvalidProfileError([Problem("OSP404", message, tag.place, hint)])
    return {tag.name: tag.value for tag in field.tags} if field else {}
