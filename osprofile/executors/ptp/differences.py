"""What differs between an element as it was told and as it is now.

Attributes are texts as on the wire; a group of changes has the elements that changed in one way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile.executors.ptp.attributes import PREDEFINED, AttributeType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from osprofile.executors.ptp.elements import Process

_NEVER_EMPTIED: Final = "processNodeId"  # an unknown node ends the client


def record_change(
    changes: dict[tuple[str, ...], list[int]],
    id_: int,
    before: tuple[str, ...],
    now: tuple[str, ...],
) -> None:
    """Put an element to the others that changed in the same way, if it did."""
    differing = diff_attributes(before, now)
    if differing:
        changes.setdefault(differing, []).append(id_)


def diff_attributes(before: tuple[str, ...], now: tuple[str, ...]) -> tuple[str, ...]:
    """Give the attributes that have another value now; a text that is gone is emptied."""
    known = set(before)
    other = [attribute for attribute in now if attribute not in known]
    ids = {attribute.partition("=")[0] for attribute in now}
    gone = [id_ for id_ in (a.partition("=")[0] for a in before) if id_ not in ids]
    return (*other, *(f"{id_}=" for id_ in gone if _can_be_emptied(id_)))


def _can_be_emptied(id_: str) -> bool:
    return id_ != _NEVER_EMPTIED and PREDEFINED[id_].type is AttributeType.STRING


def diff_processes(
    before: tuple[Process | None, ...],
    now: tuple[Process | None, ...],
    attributes: Mapping[Process, tuple[str, ...]],
) -> dict[tuple[str, ...], list[int]]:
    """Give the ranks of processes by what changed with them."""
    pairs: dict[tuple[Process, Process], list[int]] = {}
    for rank, (old, new) in enumerate(zip(before, now, strict=False)):
        if old is not new and old is not None and new is not None:
            pairs.setdefault((old, new), []).append(rank)
    changes: dict[tuple[str, ...], list[int]] = {}
    for (old, new), ranks in pairs.items():
        differing = diff_attributes(attributes[old], attributes[new])
        if differing:
            changes.setdefault(differing, []).extend(ranks)
    return changes


def encode_process(rank: int, attributes: tuple[str, ...]) -> tuple[str, ...]:
    """Give all attributes of a process, which is named by its rank."""
    state, *others = attributes
    return (f"name={rank}", state, f"processIndex={rank}", *others)


def get_process(processes: Sequence[Process | None], rank: int) -> Process | None:
    """Give the process of a rank; None where it is not told, or there is none."""
    return processes[rank] if rank < len(processes) else None
