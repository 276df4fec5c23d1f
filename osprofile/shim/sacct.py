"""The stand-in of Slurm's `sacct`. Source: its manual page of Slurm 23.02."""

from __future__ import annotations

import contextlib
import math
import re
import time
from typing import TYPE_CHECKING, Final

from osprofile.job_scripts import quantities
from osprofile.job_scripts.command_line import (
    Option,
    OptionValue,
    UsageError,
    parse_words,
    refuse_options,
)
from osprofile.shim.command import Command, print_lines
from osprofile.shim.facts import Facts, Style, get_state
from osprofile.shim.slurm import (
    filter_entries,
    is_selected,
    parse_ids,
    parse_states,
    refuse_operands,
)
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.shim.client import Client

_SACCT_TABLE: Final = (
    Option("accounts", ("-A", "--accounts"), "NAMES"),
    Option("all_clusters", ("-L", "--allclusters"), "", "there is one in any case"),
    Option("all_users", ("-a", "--allusers")),
    Option("allocations", ("-X", "--allocations"), "", "there are no steps in any case"),
    Option("brief", ("-b", "--brief"), "", "JobID, State, ExitCode"),
    Option("clusters", ("-M", "--clusters", "--cluster"), "NAMES", "there is one in any case"),
    Option("delimiter", ("--delimiter",), "TEXT"),
    Option("duplicates", ("-D", "--duplicates")),
    Option("end", ("-E", "--endtime"), "TIME", "jobs that were submitted before"),
    Option("format", ("-o", "--format", "--fields"), "FIELDS"),
    Option("help_format", ("-e", "--helpformat"), "", "list the fields"),
    Option("jobs", ("-j", "--jobs"), "IDS"),
    Option("json", ("--json",), "", "print a JSON object, as Slurm 23.11 does"),
    Option("local", ("--local",)),
    Option("name", ("--name",), "NAMES"),
    Option("no_convert", ("--noconvert",)),
    Option("no_header", ("-n", "--noheader")),
    Option("parsable", ("-p", "--parsable")),
    Option("parsable2", ("-P", "--parsable2")),
    Option("partition", ("-r", "--partition"), "NAMES"),
    Option("start", ("-S", "--starttime"), "TIME", "as in 2030-12-31T23:59"),
    Option("state", ("-s", "--state"), "STATES"),
    Option("user", ("-u", "--user", "--uid"), "NAMES"),
    Option("units", ("--units",), "K|M|G|T|P", "the unit of ReqMem and MaxRSS"),
    *refuse_options(
        "--associations --batch-script --completion --constraints --env-vars --federation --file --flags"
        " --gid --group --help --long --ncpus --nnodes --nodelist --qos --reason --timelimit-max --timelimit-min"
        " --truncate --usage --use-local-uid --verbose --version --wckeys --whole-hetjob --yaml"
    ),
)


_STYLE: Final = Style("", quantities.format_days)
_EMPTY_FIELDS: Final = (
    "AveCPU AveCPUFreq AveDiskRead AveDiskWrite AvePages AveRSS AveVMSize MaxDiskRead MaxDiskReadNode MaxDiskReadTask"
    " MaxDiskWrite MaxDiskWriteNode MaxDiskWriteTask MaxPages MaxPagesNode MaxPagesTask MaxRSSNode MaxRSSTask MaxVMSize"
    " MaxVMSizeNode MaxVMSizeTask MinCPU MinCPUNode MinCPUTask NTasks Layout"
    " AdminComment BlockID Comment Container Flags McsLabel SubmitLine SystemComment WCKey"
)
"""Those of steps are empty for a job itself, and jobs have no steps."""
_SACCT_FIELDS: Final[dict[str, str]] = {
    **dict.fromkeys(_EMPTY_FIELDS.split(), ""),
    "Account": "{account}",
    "AllocCPUS": "{allocated_cpus}",
    "AllocNodes": "{allocated_nodes}",
    "AllocTRES": "{allocated_tres}",
    "Cluster": "{cluster}",
    "ConsumedEnergy": "{energy}",
    "ConsumedEnergyRaw": "{energy}",
    "Constraints": "{constraint}",
    "CPUTime": "{cpu_seconds}",
    "CPUTimeRAW": "{raw_cpu_seconds}",
    "DerivedExitCode": "0:0",
    "Elapsed": "{elapsed}",
    "ElapsedRaw": "{raw_elapsed}",
    "Eligible": "{submitted:Unknown}",
    "End": "{ended:Unknown}",
    "ExitCode": "{exit_code}",
    "GID": "{group_id}",
    "JobID": "{id}",
    "JobIDRaw": "{number}",
    "JobName": "{name}",
    "MaxRSS": "{max_memory}",
    "NCPUS": "{cpus}",
    "NNodes": "{nodes}",
    "NodeList": "{known_hosts:None assigned}",
    "Partition": "{queue}",
    "Planned": "{waited}",
    "QOS": "{qos}",
    "Reason": "{reason}",
    "ReqCPUS": "{cpus}",
    "ReqMem": "{memory:0}M",
    "ReqNodes": "{nodes}",
    "ReqTRES": "{tres}",
    "Reservation": "{reservation}",
    "Reserved": "{waited}",
    "Start": "{started:Unknown}",
    "State": "{state}",
    "Submit": "{submitted:Unknown}",
    "Suspended": "00:00:00",
    "Timelimit": "{limit:UNLIMITED}",
    "TimelimitRaw": "{limit_in_minutes:UNLIMITED}",
    "TotalCPU": "{cpu_time}",
    "UID": "{user_id}",
    "User": "{user}",
    "WorkDir": "{directory}",
}
_SACCT_FORMAT: Final = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"
_BRIEF_FORMAT: Final = "JobID,State,ExitCode"
_STEP: Final = re.compile(r"[0-9_]+\.(?:[0-9]+|batch|extern|interactive)")
_SACCT_FIELD: Final = re.compile(r"([A-Za-z]+)(?:%(-?)([0-9]{1,4}))?")
_SACCT_WIDTHS: Final = {"JobID": 12, "JobIDRaw": 12, "ExitCode": 8, "JobName": 10}


def _run_sacct(client: Client, words: Sequence[str]) -> int:
    line = parse_words(_SACCT_TABLE, words, ends_at_operand=False)
    refuse_operands(line)
    if "help_format" in line:
        names = sorted(_SACCT_FIELDS, key=str.lower)
        print_lines(" ".join(f"{name:19}" for name in names[i : i + 4]) for i in range(0, len(names), 4))
        return 0
    default = _BRIEF_FORMAT if "brief" in line else _SACCT_FORMAT
    fields = _parse_sacct_fields(line.get("format") or OptionValue("--format", default))
    unit = _parse_unit(line.get("units"))
    states, jobs = parse_states(line.get("state")), line.get("jobs")
    since, before = (
        None if (moment := line.get(name)) is None else _parse_time(moment) for name in ("start", "end")
    )
    if jobs is not None:
        words_of_jobs = (
            word for word in jobs.text.split(",") if not _STEP.fullmatch(word)
        )  # no job has steps
        ids = parse_ids(jobs.flag, words_of_jobs)
        entries = [e for e in client.query_jobs(number for number, _ in ids) if is_selected(e, ids)]
    else:
        midnight = time.mktime((*time.localtime()[:3], 0, 0, 0, 0, 0, -1))
        since = midnight if since is None else since
        entries = client.list_recent(max(0.0, time.time() - since))
    if since is not None:
        entries = [e for e in entries if (e.status.ended or math.inf) >= since]
    if before is not None:
        entries = [e for e in entries if (e.record.status.submitted or 0.0) <= before]
    entries = [
        e for e in filter_entries(client, entries, line) if states is None or get_state(e.status) in states
    ]
    if "json" in line:
        from osprofile.shim import slurm_json

        slurm_json.print_jobs(client, entries, slurm_json.describe_accounted_job)
        return 0
    rows = [
        [_format_field(name, facts, unit) for name, _ in fields]
        for facts in (Facts(client, e) for e in entries)
    ]
    header = [] if "no_header" in line else [[name for name, _ in fields]]
    if "parsable" in line or "parsable2" in line:
        delimiter = line.get_text("delimiter") or "|"
        tail = "" if "parsable2" in line else delimiter
        print_lines(delimiter.join(row) + tail for row in header + rows)
        return 0
    widths = [width for _, width in fields]
    rule = [["-" * abs(width) for width in widths]] if header else []
    print_lines(" ".join(map(_fit, row, widths)) + " " for row in header + rule + rows)
    return 0


def _fit(text: str, width: int) -> str:
    text = text if len(text) <= abs(width) else f"{text[: abs(width) - 1]}+"
    return text.rjust(width) if width > 0 else text.ljust(-width)


def _parse_sacct_fields(option: OptionValue) -> list[tuple[str, int]]:
    """Return the names and widths of the fields in a format; negative for those that are aligned to the left."""
    names = {name.lower(): name for name in _SACCT_FIELDS}
    fields = []
    for word in filter(None, option.text.split(",")):
        match = _SACCT_FIELD.fullmatch(word)
        name = names.get(match[1].lower()) if match else None
        if match is None or name is None:
            hint = f"supported are {', '.join(_SACCT_FIELDS)}"
            raise UsageError(f"{option.flag}: the field {quote_value(word)} is not supported", hint=hint)
        width = int(match[3] or 0) or _SACCT_WIDTHS.get(name, 10)
        fields.append((name, -width if match[2] else width))
    return fields


_UNITS: Final = "KMGTP"
_PERIODS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_PERIOD: Final = re.compile(r"(?:now)?([+-])([0-9]{1,9})(second|minute|hour|day|week|)s?")
_TIME_FORMATS: Final = (
    "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d", "%m/%d/%y-%H:%M:%S", "%m/%d/%y-%H:%M", "%m/%d/%y", "%m.%d.%y",
    "%m%d%y",
)  # fmt: skip
_TIMES_OF_TODAY: Final = {"midnight": "00:00", "today": "00:00", "noon": "12:00"}


def _parse_time(option: OptionValue) -> float:
    """Return a time as sacct reads it: a date, a time of today, `now`, or `now-2days`."""
    text = option.text.lower()
    if text == "now":
        return time.time()
    if match := _PERIOD.fullmatch(text):
        return time.time() + int(f"{match[1]}{match[2]}") * _PERIODS[match[3] or "second"]
    text = _TIMES_OF_TODAY.get(text, option.text)
    text = f"{time.strftime('%Y-%m-%d')}T{text}" if re.fullmatch("[0-9:]+:[0-9]+", text) else text
    for form in _TIME_FORMATS:
        with contextlib.suppress(ValueError, OverflowError):
            return time.mktime(time.strptime(text, form))
    message = f"{option.flag}: {quote_value(option.text)} is not a time"
    raise UsageError(message, hint="as in 2030-12-31T23:59, 12:30 or now-2days")


def _parse_unit(option: OptionValue | None) -> str:
    """Return the unit of sizes; empty for the one that each has."""
    unit = "" if option is None else option.text.upper()
    if option is not None and (len(unit) != 1 or unit not in _UNITS):
        raise UsageError(f"{option}: {quote_value(option.text)} is not a unit", hint="K, M, G, T or P")
    return unit


def _format_field(name: str, facts: Facts, unit: str) -> str:
    text = _STYLE.fill(_SACCT_FIELDS[name], facts)
    if not unit or name not in {"ReqMem", "MaxRSS"} or not text:
        return text
    size = int(text[:-1]) * 1024.0 ** (_UNITS.index(text[-1]) - _UNITS.index(unit))
    return f"{size:.2f}".removesuffix(".00") + unit


SACCT: Final = Command(_SACCT_TABLE, "", _run_sacct)
