"""Tables of the options of sbatch, qsub and bsub beside those of `job submit`, from the tables by which scripts are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from manual.markdown import format_code, format_table
from manual.profiles import load_profile
from osprofile.job_scripts.qsub import _DROPPED as QSUB_DROPPED
from osprofile.job_scripts.reader import FAMILIES
from osprofile.job_scripts.script_request import find_field
from osprofile.jobs.fields import FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from osprofile.job_scripts.command_line import Option

FIELDS_BY_NAME: Final = {
    "per_node": "PROCESSES", "export": "ENVIRONMENT", "variables": "ENVIRONMENT",
    "notify_events": "NOTIFY",
}  # fmt: skip
"""The fields of options that have a name of their own, as they are read in a way of their own."""
DROPPED_NAMES: Final = frozenset({"dropped", "parsable", "quiet", "user", "wait"})

QSUB_EXAMPLES: Final = {
    "PROCESSES": ("-l nodes=2:ppn=4", "-l select=2:mpiprocs=4:ncpus=4"),
    "CPUS": ("-l select=1:ncpus=4",),
    "MEMORY": ("-l select=1:mem=4gb",),
    "GPUS": ("-l nodes=1:gpus=2", "-l select=1:ngpus=2"),
}
SGE_EXAMPLES: Final = {"CONSTRAINT": ("-l arch=lx-amd64",)}
BSUB_EXAMPLES: Final = {"NODES": ("-R span[hosts=1]",), "ARRAY": ("-J sweep[1-10]%4",)}


@final
class System(NamedTuple):
    """A batch system whose scripts are read: the head of its column, and the profile that has its PASSED_OPTIONS.

    `examples`: options by field, of which only some values set it.
    """

    head: str
    profile: str
    table: Sequence[Option]
    examples: Mapping[str, Sequence[str]] = {}
    dropped: frozenset[str] = frozenset()

    def list_flags(self, field: str) -> list[str]:
        """Return the options that set a field, each with all its names."""
        flags = [
            ", ".join(o.flags)
            for o in self.table
            if FIELDS_BY_NAME.get(o.name, find_field(o.name)) == (field or None)
        ]
        return [*flags, *self.examples.get(field, ())]

    def list_dropped(self) -> list[str]:
        """Return the options that change nothing for the result."""
        return [
            flag for o in self.table for flag in o.flags if o.name in DROPPED_NAMES or flag in self.dropped
        ]

    def list_passed(self) -> list[str]:
        """Return the options that are passed to the batch system as they are."""
        return list(load_profile(self.profile).passed_options)

    def list_refused(self) -> list[str]:
        """Return the other options without a field that the table has, each by its longest name."""
        longest = [max(o.flags, key=len) for o in self.table if not o.name]
        others = {*self.list_passed(), *self.dropped}
        return [flag for flag in longest if flag not in others]


SYSTEMS: Final = (
    System("sbatch", "slurm", FAMILIES["#SBATCH"].table),
    System("qsub (PBS, Torque)", "pbs", FAMILIES["#PBS"].table, QSUB_EXAMPLES, QSUB_DROPPED),
    System("qsub (Grid Engine)", "sge", FAMILIES["#$"].table, SGE_EXAMPLES),
    System("bsub", "lsf", FAMILIES["#BSUB"].table, BSUB_EXAMPLES),
)


def format_native_options() -> str:
    """Return the table of the options that set a field, by the options of `job submit`."""
    flags: dict[str, list[str]] = {}
    for row in FIELDS.values():
        if row.name and row.flags:
            flags.setdefault(row.name, []).append(row.flags[0])
    rows = [
        [_format_flags(ours, "<br>"), *(_format_flags(s.list_flags(field), "<br>") for s in SYSTEMS)]
        for field, ours in flags.items()
    ]
    return format_table(["job submit", *(s.head for s in SYSTEMS)], [row for row in rows if any(row[1:])])


def format_other_options() -> str:
    """Return the table of what becomes of the options that set no field."""
    rows = [
        [
            system.head,
            _format_flags(system.list_dropped()),
            _format_flags(system.list_passed()),
            _format_flags(system.list_refused()) or "all others",
        ]
        for system in SYSTEMS
    ]
    return format_table(["", "dropped, with a warning", "passed on as they are", "refused"], rows)


def _format_flags(flags: Sequence[str], separator: str = " ") -> str:
    return separator.join(map(format_code, dict.fromkeys(flags)))
