"""The nodes and queues of a machine, read from the output of LIST_NODES and LIST_QUEUES.

Both templates are optional. As for GET_JOB_STATUS, the profile says how the output is read: by a
pattern with the groups name and state (optional: substate, cpus and memory of nodes, default and limits of queues), and by the tags of
NODE_STATE and QUEUE_STATE, where `STATE/SUBSTATE` takes precedence over `STATE`.
"""

from __future__ import annotations

import itertools
import re
from functools import cached_property
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar, final

from osprofile.jobs.script_output import (
    build_output_error,
    find_state_tag,
    get_output_pattern,
    read_state_tags,
)
from osprofile.jobs.state import NODE_STATE_TAGS, QUEUE_STATE_TAGS, NodeState, QueueState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from osprofile.profile.model import Profile

NODES_TEMPLATE: Final = "LIST_NODES"
QUEUES_TEMPLATE: Final = "LIST_QUEUES"
T = TypeVar("T")
_LIMIT: Final = re.compile(r"([A-Z_]+)([<>]?=)(\S+)")


@final
class NodeStatus(NamedTuple):
    """The status of a node."""

    name: str
    """The name of the node."""
    state: NodeState
    """Its state."""
    native_state: str = ""
    """The batch system's word for the state (STATE or STATE/SUBSTATE)."""
    cpus: int | None = None
    """The number of its processors, if the profile tells it."""
    memory: int | None = None
    """Its memory in MiB, if the profile tells it."""


@final
class QueueLimit(NamedTuple):
    """A limit of a queue for a field (`<=`, `>=`), or its default, or the groups that may use it (`=`)."""

    field: str
    """WALLTIME (s), NODES, MEMORY (MiB a node), GPUS (a node), or USER_GROUPS (names with | between them)."""
    relation: str
    """`<=`, `>=` or `=`."""
    value: str
    """The value, as the profile's field has it."""


@final
class QueueStatus(NamedTuple):
    """The status of a queue."""

    name: str
    """The name of the queue."""
    state: QueueState
    """Its state."""
    native_state: str = ""
    """The batch system's word for the state."""
    is_default: bool = False
    """Whether it has the jobs that do not name a queue."""
    limits: tuple[QueueLimit, ...] = ()
    """What the batch system tells of its limits."""


@final
class MachineOutputReader:
    """Reads the output of one profile's two templates.

    Entries are in the order of the output; if two have the same name, the last one counts. The same
    text is not read again. Methods raise `TemplateNotFoundError` if the profile does not have the
    template, `InvalidProfileError` if its fields are missing or wrong, and `OutputError` for a text
    that is not empty but has no entry.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def read_nodes(self, text: str) -> Sequence[NodeStatus]:
        """Return the nodes in the output of LIST_NODES."""
        return self._nodes.read_entries(text)

    def read_queues(self, text: str) -> Sequence[QueueStatus]:
        """Return the queues in the output of LIST_QUEUES."""
        return self._queues.read_entries(text)

    @cached_property
    def _nodes(self) -> _ListingReader[NodeStatus]:
        return _ListingReader(
            self._profile,
            NODES_TEMPLATE,
            "NODE",
            NODE_STATE_TAGS,
            lambda name, tag, native_state, groups: NodeStatus(
                name,
                NodeState(tag),
                native_state,
                int(groups.get("cpus") or 0) or None,
                int(groups.get("memory") or 0) or None,
            ),
        )

    @cached_property
    def _queues(self) -> _ListingReader[QueueStatus]:
        return _ListingReader(
            self._profile,
            QUEUES_TEMPLATE,
            "QUEUE",
            QUEUE_STATE_TAGS,
            lambda name, tag, native_state, groups: QueueStatus(
                name,
                QueueState(tag),
                native_state,
                bool(groups.get("default")),
                tuple(itertools.starmap(QueueLimit, _LIMIT.findall(groups.get("limits") or ""))),
            ),
        )


@final
class _ListingReader(Generic[T]):
    """Reads the output of one template; `make_entry(name, tag, native_state, groups)` makes an entry."""

    def __init__(
        self,
        profile: Profile,
        template: str,
        kind: str,
        allowed_states: Sequence[str],
        make_entry: Callable[[str, str, str, Mapping[str, str | None]], T],
    ) -> None:
        self._template, self._pattern_field = template, f"{kind}_PATTERN"
        groups = ("name", "state")
        self._pattern = get_output_pattern(profile, template, self._pattern_field, groups)
        self._tags = read_state_tags(profile, template, f"{kind}_STATE", allowed_states)
        self._make_entry = make_entry
        self._last_text: str | None = None
        self._last_entries: Sequence[T] = ()

    def read_entries(self, text: str) -> Sequence[T]:
        if text != self._last_text:
            entries: dict[str, T] = {}
            for match in self._pattern.find_iter(text):
                groups = match.groupdict()
                name = groups["name"] or ""
                native_state, tag = find_state_tag(self._tags, groups)
                entries[name] = self._make_entry(name, tag or "UNKNOWN", native_state, groups)
            if not entries and text.strip():
                raise build_output_error(self._template, self._pattern_field, text)
            self._last_text, self._last_entries = text, tuple(entries.values())
        return self._last_entries
