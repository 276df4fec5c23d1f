"""The nodes and queues of a machine, in what the templates LIST_NODES and LIST_QUEUES print.

Both templates are optional. As with GET_JOB_STATUS, all about the output is the profile's: a
pattern with the groups name and state, where known substate (and `default` of a queue), and the
tags of NODE_STATE and QUEUE_STATE, `STATE/SUBSTATE` before `STATE`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import InvalidProfileError, Problem, quote_value
from osprofile.jobs.script_output import get_output_pattern, unparsable_output
from osprofile.jobs.state import NODE_STATE_TAGS, QUEUE_STATE_TAGS, NodeState, QueueState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from osprofile.javaregex.pattern import Match, Pattern
    from osprofile.profile.model import Profile

NODES_TEMPLATE: Final = "LIST_NODES"
QUEUES_TEMPLATE: Final = "LIST_QUEUES"
_REQUIRED_GROUPS: Final = ("name", "state")


@final
class NodeStatus(NamedTuple):
    """A node; `native_state` is the batch system's own for the state (STATE or STATE/SUBSTATE)."""

    name: str
    state: NodeState
    native_state: str = ""


@final
class QueueStatus(NamedTuple):
    """A queue; `is_default`: jobs that name none go there."""

    name: str
    state: QueueState
    native_state: str = ""
    is_default: bool = False


@final
class MachineOutputReader:
    """Reads what one profile's two templates print.

    The same text again costs a comparison. A method raises `TemplateNotFoundError` where the
    profile has not its template, `InvalidProfileError` where the fields are not as they must be,
    `OutputError` for a text that is not empty and has nothing in it that the pattern finds.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._listings: dict[str, _ListingFormat] = {}
        self._cached_nodes: tuple[str | None, Sequence[NodeStatus]] = (None, ())
        self._cached_queues: tuple[str | None, Sequence[QueueStatus]] = (None, ())

    def read_nodes(self, text: str) -> Sequence[NodeStatus]:
        """Give the nodes in the order that they are printed in; of two of one name the last."""
        if text != self._cached_nodes[0]:
            listing = self._get_listing(NODES_TEMPLATE, "NODE", NODE_STATE_TAGS)
            found = {
                name: NodeStatus(name, NodeState(state), word)
                for name, state, word, _ in listing.read_entries(text)
            }
            self._cached_nodes = (text, tuple(found.values()))
        return self._cached_nodes[1]

    def read_queues(self, text: str) -> Sequence[QueueStatus]:
        """Give the queues in the order that they are printed in; of two of one name the last."""
        if text != self._cached_queues[0]:
            listing = self._get_listing(QUEUES_TEMPLATE, "QUEUE", QUEUE_STATE_TAGS)
            found = {
                name: QueueStatus(name, QueueState(state), word, bool(match.get("default")))
                for name, state, word, match in listing.read_entries(text)
            }
            self._cached_queues = (text, tuple(found.values()))
        return self._cached_queues[1]

    def _get_listing(
        self, template: str, kind: str, allowed_states: Sequence[str]
    ) -> _ListingFormat:
        if template not in self._listings:
            name = f"{kind}_PATTERN"
            pattern = get_output_pattern(self._profile, template, name, _REQUIRED_GROUPS)
            tags = _read_state_tags(self._profile, template, f"{kind}_STATE", allowed_states)
            self._listings[template] = _ListingFormat(template, name, pattern, tags)
        return self._listings[template]


@final
class _ListingFormat(NamedTuple):
    template: str
    pattern_field: str
    pattern: Pattern
    tags: Mapping[str, str]

    def read_entries(self, text: str) -> Iterator[tuple[str, str, str, Mapping[str, str | None]]]:
        """Give name, state and word of each thing, and all groups."""
        nothing = True
        for match in self.pattern.find_iter(text):
            nothing = False
            yield self._read_entry(match)
        if nothing and text.strip():
            raise unparsable_output(self.template, self.pattern_field, text)

    def _read_entry(self, match: Match) -> tuple[str, str, str, Mapping[str, str | None]]:
        groups = match.groupdict()
        state, substate = groups["state"] or "", groups.get("substate")
        word = f"{state}/{substate}" if substate else state
        tag = self.tags.get(word) or self.tags.get(state) or NodeState.UNKNOWN.value
        return groups["name"] or "", tag, word, groups


def _read_state_tags(
    profile: Profile, template: str, name: str, allowed_states: Sequence[str]
) -> dict[str, str]:
    """Give what the tags of a field say; `InvalidProfileError` for what is no state."""
    field = profile.find_field(profile.get_template(template), name)
    for tag in field.tags if field else ():
        if tag.value not in allowed_states:
            message = f"tag {quote_value(tag.name)} of {name} gives {quote_value(tag.value)}, which is no state"
            hint = f"one of {', '.join(allowed_states)}"
            raise InvalidProfileError([Problem("OSP404", message, tag.location, hint)])
    return {tag.name: tag.value for tag in field.tags} if field else {}
