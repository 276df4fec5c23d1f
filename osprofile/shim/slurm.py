"""How the stand-ins of Slurm's commands select jobs: by states, ids, names and others. Source: their manual pages of 23.02."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from osprofile.job_scripts.command_line import (
    CommandLine,
    OptionValue,
    UsageError,
)
from osprofile.shim.command import is_own_name
from osprofile.shim.facts import STATES, SlurmState
from osprofile.text import quote_name, quote_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from osprofile.shim.client import Client, Entry


_OTHER_STATES: Final = frozenset(
    {
        "CF",
        "CONFIGURING",
        "CG",
        "COMPLETING",
        "ST",
        "STOPPED",
        "BF",
        "BOOT_FAIL",
        "DL",
        "DEADLINE",
    }
    | {"RQ", "REQUEUED", "RS", "RESIZING", "RV", "REVOKED", "SO", "STAGE_OUT"}
)
"""States of Slurm that no job has here."""


# Selecting jobs

_ID: Final = re.compile(r"([0-9]{1,18})(?:_([0-9]{1,7}))?")


def parse_ids(flag: str, words: Iterable[str]) -> list[tuple[int, int | None]]:
    """Return the numbers and indices of ids such as `12` and `12_3`."""
    ids = []
    for word in words:
        match = _ID.fullmatch(word)
        if match is None:
            raise UsageError(
                f"{flag}: {quote_value(word)} is not the id of a job", hint="as in 12, or 12_3 for a task"
            )
        ids.append((int(match[1]), int(match[2]) if match[2] else None))
    return ids


def is_selected(entry: Entry, ids: Sequence[tuple[int, int | None]]) -> bool:
    """Return whether ids are those of a job, or of its array."""
    return (entry.number, None) in ids or (entry.number, entry.index) in ids


def parse_states(option: OptionValue | None) -> frozenset[SlurmState] | None:
    """Return the states of a list, None for `all`."""
    if option is None or option.text.lower() == "all":
        return None
    states = set[SlurmState]()
    for word in option.text.upper().split(","):
        states.update(state for state in STATES if word in state)
        if not any(word in state for state in STATES) and word not in _OTHER_STATES:
            raise UsageError(
                f"{option.flag}: {quote_value(word)} is not a state", hint="all, or as in PD,R,CD,F"
            )
    return frozenset(states)


def filter_entries(client: Client, entries: Iterable[Entry], line: CommandLine) -> list[Entry]:
    """Return the jobs that the options for users, names, partitions and accounts select."""
    accounts = line.get("accounts")
    user, names, partitions = (line.get(name) for name in ("user", "name", "partition"))
    if user is not None and not any(is_own_name(client, name) for name in user.text.split(",")):
        return []  # the record has the jobs of one user
    plain = None
    if names is not None:
        from osprofile.jobs.request import build_job_name

        plain = {n for name in names.text.split(",") for n in (name, build_job_name(name))}
    queues = None if partitions is None else partitions.text.split(",")
    return [
        entry
        for entry in entries
        if (plain is None or entry.record.name in plain)
        and (queues is None or client.may_be_in_queue(entry, queues))
        and (accounts is None or client.get_requested(entry.record, "PROJECT") in accounts.text.split(","))
    ]


def refuse_operands(line: CommandLine) -> None:
    """Raise `UsageError` for a word that is no option."""
    if line.operands:
        message = f"{quote_name(line.operands[0])} is not an option, and this command takes no other words"
        raise UsageError(message, hint="leave it out")
