"""What a job is: one table, the attributes of `JobDescription`.

From it come the request for START, the options of `incarnate job submit`, the columns of `--from`, the options that a
page shows, and the manual's table. A new attribute that is a plain value is one row here, and one line in each profile
whose batch system has it.
"""

# No `from __future__ import annotations`: the table is read from the evaluated annotations.
import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Final, final

from osprofile.late import NamedTuple

_EMPTY_MAPPING: Final[Mapping[str, str]] = MappingProxyType({})


@final
class Kind(enum.Enum):
    """What the values of an attribute are."""

    TEXT = enum.auto()
    COUNT = enum.auto()
    """A whole number, not negative."""
    INTEGER = enum.auto()
    """A whole number, which may be negative."""
    SWITCH = enum.auto()
    DURATION = enum.auto()
    """Seconds, or a text: `90m`, `1h30m`, `2d`, `01:30:00`."""
    MEMORY = enum.auto()
    """MiB, or a text with a unit: `512M`, `4G`."""
    WORDS = enum.auto()
    VARIABLES = enum.auto()
    """Environment variables by name."""
    SIGNAL = enum.auto()
    """The name of a signal, and when it is sent: `USR1@5m`; or the time alone."""
    RULES = enum.auto()
    """When the job is submitted again: see `retries`."""
    JOBS = enum.auto()
    """Ids or keys (see `TargetSystem.submit`) of jobs on which this one depends."""


Text = Annotated[str | None, Kind.TEXT]
Count = Annotated[int | None, Kind.COUNT]
Integer = Annotated[int | None, Kind.INTEGER]
Switch = Annotated[bool | None, Kind.SWITCH]
Duration = Annotated[int | str | None, Kind.DURATION]
Memory = Annotated[int | str | None, Kind.MEMORY]
Words = Annotated[Sequence[str], Kind.WORDS]
Variables = Annotated[Mapping[str, str], Kind.VARIABLES]
Signal = Annotated[str | None, Kind.SIGNAL]
Rules = Annotated[str | Sequence[str] | Mapping[str, int | str], Kind.RULES]
Jobs = Annotated[Sequence[str], Kind.JOBS]


@final
class JobField(NamedTuple):
    """A row of the table: the profile's field, what it means, and the option of `job submit` with its value.

    `name` is empty for what is no field. `condition` is the word of the field DEPENDENCY for a kind of dependency.
    """

    name: str
    help: str
    option: str = ""
    condition: str = ""
    kind: Kind = Kind.TEXT

    @property
    def flags(self) -> tuple[str, ...]:
        """The names of the option, the long one first: `--queue`, `-q`."""
        return tuple(word for word in self.option.split() if word.startswith("-"))

    @property
    def metavar(self) -> str:
        """The name of the option's value: `QUEUE`; empty for a switch."""
        words = self.option.split()
        return "" if not words or words[-1].startswith("-") else words[-1]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobDescription:
    """A job, independent of any protocol. None stands for the default of the profile.

    The profile refuses by name what its batch system does not have. The annotation of each attribute says what it is.
    """

    executable: Annotated[
        Text,
        JobField(
            "EXECUTABLE", "The program: a path, relative to where it runs, or a name on the target's PATH."
        ),
    ] = None
    arguments: Annotated[Words, JobField("ARGUMENTS", "The arguments of the program, unquoted.")] = ()
    name: Annotated[Text, JobField("JOB_NAME", "The job's name.", "--name -N NAME")] = None
    queue: Annotated[Text, JobField("QUEUE", "The queue (Slurm: partition).", "--queue -q QUEUE")] = None
    project: Annotated[
        Text, JobField("PROJECT", "The project or account to charge.", "--project -A PROJECT")
    ] = None
    nodes: Annotated[Count, JobField("NODES", "The number of nodes.", "--nodes N")] = None
    processes: Annotated[
        Count, JobField("PROCESSES", "The number of processes on all nodes.", "--processes -n N")
    ] = None
    cpus: Annotated[Count, JobField("CPUS", "The number of CPUs for each process.", "--cpus -c N")] = None
    memory: Annotated[
        Memory,
        JobField(
            "MEMORY", "The memory on each node, as in 4G or 512M; a number alone is MiB.", "--memory SIZE"
        ),
    ] = None
    walltime: Annotated[
        Duration,
        JobField(
            "WALLTIME",
            "The time limit: seconds, or as in 90m, 1h30m, 2d, 01:30:00, 2-12:00:00.",
            "--walltime -t TIME",
        ),
    ] = None
    cputime: Annotated[Duration, JobField("CPUTIME", "The limit of CPU time.", "--cputime TIME")] = None
    gpus: Annotated[Count, JobField("GPUS", "The number of GPUs on each node.", "--gpus -G N")] = None
    gpu_type: Annotated[Text, JobField("GPU_TYPE", "The type of these GPUs.", "--gpu-type NAME")] = None
    qos: Annotated[Text, JobField("QOS", "The quality of service.", "--qos NAME")] = None
    constraint: Annotated[
        Text, JobField("CONSTRAINT", "What the nodes must have.", "--constraint -C EXPRESSION")
    ] = None
    reservation: Annotated[
        Text, JobField("RESERVATION", "The reservation in which the job runs.", "--reservation NAME")
    ] = None
    exclusive: Annotated[
        Switch, JobField("EXCLUSIVE", "Share the nodes with no other job.", "--exclusive")
    ] = None
    priority: Annotated[
        Integer, JobField("PRIORITY", "The priority, as the batch system counts it.", "--priority N")
    ] = None
    start_time: Annotated[
        Text,
        JobField(
            "START_TIME",
            "The earliest start, as YYYY-MM-DDTHH:MM[:SS] in the time zone of the target system.",
            "--start-time TIME",
        ),
    ] = None
    notify: Annotated[
        Text, JobField("NOTIFY", "Mail addresses, separated by commas.", "--notify ADDRESSES")
    ] = None
    notify_events: Annotated[
        Text,
        JobField(
            "NOTIFY_EVENTS",
            "When to send mail: begin, end, fail; separated by commas.",
            "--notify-events EVENTS",
        ),
    ] = None
    requeue: Annotated[
        Switch, JobField("REQUEUE", "Let the batch system run it again if a node fails.", "--requeue")
    ] = None
    signal: Annotated[
        Signal,
        JobField(
            "LIMIT_SIGNAL",
            "Send the program this signal, USR1 without a name, so long before its time limit: USR1@5m, or 5m.",
            "--signal [NAME@]TIME",
        ),
    ] = None
    retry: Annotated[
        Rules,
        JobField(
            "",
            "Submit the job again after an end by this cause, as in 'MEMORY: memory*2, at most 3'; may be repeated.",
            "--retry RULE",
        ),
    ] = ()
    container: Annotated[
        Text,
        JobField("CONTAINER", "The image of a container in which the program runs.", "--container IMAGE"),
    ] = None
    array: Annotated[
        Text,
        JobField(
            "ARRAY",
            "Run the program once for each index, which it finds in GPE_ARRAY_INDEX: as in 1-100%8, at most 8 at a time.",
            "--array INDICES",
        ),
    ] = None
    after_ok: Annotated[
        Jobs,
        JobField(
            "DEPENDENCY",
            "Begin when this job has ended with exit code 0; may be repeated.",
            "--after --after-ok JOB|KEY",
            "afterok",
        ),
    ] = ()
    after_not_ok: Annotated[
        Jobs,
        JobField("DEPENDENCY", "Begin when this job has failed.", "--after-not-ok JOB|KEY", "afternotok"),
    ] = ()
    after_any: Annotated[
        Jobs, JobField("DEPENDENCY", "Begin when this job has ended.", "--after-any JOB|KEY", "afterany")
    ] = ()
    environment: Annotated[
        Variables,
        JobField("ENVIRONMENT", "Set an environment variable; may be repeated.", "--env -e NAME=VALUE"),
    ] = field(default_factory=lambda: _EMPTY_MAPPING)
    stdin: Annotated[Text, JobField("STDIN", "Read standard input from this file.", "--stdin FILE")] = None
    stdout: Annotated[Text, JobField("STDOUT", "Write standard output to this file.", "--stdout FILE")] = None
    stderr: Annotated[Text, JobField("STDERR", "Write standard error to this file.", "--stderr FILE")] = None
    directory: Annotated[
        Text,
        JobField(
            "DIRECTORY",
            "Run the program in this directory [default: the current one; with --host, --input or --fetch, the job's own].",
            "--directory DIR",
        ),
    ] = None
    inputs: Annotated[
        Words,
        JobField(
            "",
            "Copy this file or directory of this machine into the job's working directory; may be repeated.",
            "--input FILE",
        ),
    ] = ()
    fetch: Annotated[
        Words,
        JobField(
            "",
            "Copy the files of the job's working directory that match here when it has ended; may be repeated.",
            "--fetch PATTERN",
        ),
    ] = ()
    fetch_to: Annotated[
        Text,
        JobField(
            "",
            "Copy them into this directory [default: the current one; with --from, KEY in it].",
            "--fetch-to DIR",
        ),
    ] = None
    node_file: Annotated[
        Text,
        JobField(
            "NODE_FILE",
            "Write the names of the nodes to this file, one for each process.",
            "--node-file FILE",
        ),
    ] = None
    tmp_dir: Annotated[
        Text, JobField("TMP_DIR", "Make the job's own TMPDIR in this directory.", "--tmp-dir DIR")
    ] = None
    application: Annotated[
        Text, JobField("", "The application that the job runs (--application) [default: Executable].")
    ] = None
    working_directory: Annotated[
        Text, JobField("", "The directory of the job's own files: absolute, and not that of another job.")
    ] = None
    passed_options: Annotated[
        Words,
        JobField(
            "",
            "Options of the batch system without a field, as in `--nodelist=n1`; only those in the profile's PASSED_OPTIONS.",
        ),
    ] = ()
    fields: Annotated[Variables, JobField("", "Values of further fields of START, by name.")] = field(
        default_factory=lambda: _EMPTY_MAPPING
    )


def _read_table() -> dict[str, JobField]:
    table = {}
    for attribute, annotation in JobDescription.__annotations__.items():
        kind, row = annotation.__metadata__
        table[attribute] = row._replace(kind=kind)
    return table


FIELDS: Final[Mapping[str, JobField]] = MappingProxyType(_read_table())
"""The table, by the attributes of JobDescription.

`working_directory` and `passed_options` go into the context, `application` selects an application; `inputs`, `fetch` and
`fetch_to` are for this machine alone (see `files.trees`), as is `retry` (see `retries`); `fields` has all other fields.
"""


def _group_options(groups: Mapping[str, str]) -> Mapping[str, str]:
    """Return groups of options with those of the table that none of them names, which are resources."""
    grouped = set(" ".join(groups.values()).split())
    others = [row.flags[0] for row in FIELDS.values() if row.flags and row.flags[0] not in grouped]
    return MappingProxyType({**groups, "Resources": " ".join([groups["Resources"], *others])})


OPTION_GROUPS: Final = _group_options(
    {
        "What most jobs need": "--profile --name --walltime --queue --project --nodes --processes --cpus --memory --gpus",
        "What to run": "--env --application --container --set --ignore-directives",
        "Files": "--directory --stdin --stdout --stderr --input --fetch --fetch-to --tmp-dir --node-file",
        "Resources": "--gpu-type --exclusive --constraint --qos --reservation --cputime",
        "When": "--start-time --after --after-not-ok --after-any --priority --signal --requeue --retry --notify --notify-events --wait",
        "Where": "--host --cluster --context --profiles --store",
        "Many jobs": "--array --from --as-array --at-once --key --take-over",
        "Before and after": "--dry-run --test-only --yes --json",
    }
)
"""The options of `job submit`, by what they are about, as its help and a page group them."""
DEPENDENCY_FIELD: Final = "DEPENDENCY"
DEPENDENCY_ATTRIBUTES: Final[Mapping[str, str]] = MappingProxyType(
    {attribute: row.condition for attribute, row in FIELDS.items() if row.condition}
)
"""The conditions in the field DEPENDENCY, by the attributes of JobDescription that name the jobs."""
FIELD_BY_ATTRIBUTE: Final[Mapping[str, str]] = MappingProxyType(
    {attribute: row.name for attribute, row in FIELDS.items() if row.name and not row.condition}
)
"""The profile's field of each attribute of JobDescription that is a field by itself."""
JOB_FIELDS: Final = frozenset(row.name for row in FIELDS.values() if row.name)
"""The fields of a job that mean the same in every profile. A profile refuses those that its START does not use."""
