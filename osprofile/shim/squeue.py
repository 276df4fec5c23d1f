"""`squeue`. Sources: its manual page of Slurm 23.02; what is printed for no value is what Slurm 22.05 printed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from osprofile.job_scripts import quantities
from osprofile.job_scripts.command_line import Option, parse_words, refuse_options
from osprofile.shim.columns import ColumnTable, format_rows
from osprofile.shim.command import (
    MEMORY_OF_ENDED_JOBS,
    Command,
    is_known,
    print_error,
    print_lines,
)
from osprofile.shim.facts import LIVE_STATES, Facts, Style, get_state
from osprofile.shim.slurm import (
    filter_entries,
    is_selected,
    parse_ids,
    parse_states,
    refuse_operands,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.shim.client import Client, Entry

_TABLE: Final = (
    Option("accounts", ("-A", "--accounts", "--account"), "NAMES"),
    Option("all", ("-a", "--all")),
    Option("array", ("-r", "--array"), "", "tasks have a line each in any case"),
    Option("clusters", ("-M", "--clusters"), "NAMES", "there is one in any case"),
    Option("long_format", ("-O", "--Format"), "FORMAT", "as in JobID:12,State"),
    Option("format", ("-o", "--format"), "FORMAT", "as in '%i %.2t'"),
    Option("hide", ("--hide",)),
    Option("jobs", ("-j", "--jobs"), "IDS"),
    Option("json", ("--json",), "", "print a JSON object, as Slurm 23.11 does"),
    Option("local", ("--local",)),
    Option("me", ("--me",)),
    Option("name", ("-n", "--name"), "NAMES"),
    Option("no_convert", ("--noconvert",), "", "sizes are not converted to G"),
    Option("no_header", ("-h", "--noheader")),
    Option("partition", ("-p", "--partitions"), "NAMES"),
    Option("states", ("-t", "--states"), "STATES", "all, or as in PD,R"),
    Option("user", ("-u", "--users", "--user"), "NAMES"),
    Option("verbose", ("-v", "--verbose")),
    *refuse_options(
        "--array-unique --federation --help --iterate --licenses --long --node --nodelist --nodes"
        " --priority --qos --reservation --sib --sibling --sort --start --steps --usage --version --yaml"
    ),
)
_STYLE: Final = Style("(null)", quantities.format_elapsed)
_COLUMNS: Final = ColumnTable(
    """
account a ACCOUNT {account}
allocnodes - ALLOC_NODES {submit_host}
arrayjobid F ARRAY_JOB_ID {number}
arraytaskid K ARRAY_TASK_ID {index:N/A}
batchflag - BATCH_FLAG 1
batchhost B EXEC_HOST {batch_host:n/a}
command o COMMAND (null)
comment k COMMENT (null)
contiguous O CONTIGUOUS 0
cores I CORES_PER_SOCKET *
corespec X CORE_SPEC N/A
cpus-per-task - CPUS_PER_TASK {cpus_per_task}
cpuspertask - CPUS_PER_TASK {cpus_per_task}
dependency E DEPENDENCY (null)
endtime e END_TIME {expected_end:N/A}
exit_code - EXIT_CODE {short_exit_code}
feature f FEATURES {constraint}
gres - TRES_PER_NODE {gpus:N/A}
groupid G GROUP {group_id}
groupname g GROUP {group}
jobarrayid i JOBID {id}
jobid A JOBID {number}
licenses W LICENSES (null)
mincpus c MIN_CPUS {cpus_per_task}
minmemory m MIN_MEMORY {short_memory}
mintmpdisk d MIN_TMP_DISK 0
name j NAME {name}
nice y NICE 0
nodelist N NODELIST {hosts}
numcpus C CPUS {cpus}
numnodes D NODES {nodes}
numtasks - TASKS {tasks}
oversubscribe h OVER_SUBSCRIBE {sharing}
partition P PARTITION {queue}
priority p PRIORITY {normal_priority}
prioritylong Q PRIORITY {priority}
qos q QOS {qos}
reason r REASON {reason}
reasonlist R NODELIST(REASON) {hosts_or_reason}
reqnodes n REQ_NODES
reservation v RESERVATION {reservation}
schednodes Y SCHEDNODES (null)
sct z S:C:T *:*:*
selectjobinfo s
sockets H SOCKETS_PER_NODE *
starttime S START_TIME {started:N/A}
state T STATE {state}
statecompact t ST {code}
submittime V SUBMIT_TIME {submitted:N/A}
threads J THREADS_PER_CORE *
timeleft L TIME_LEFT {left:UNLIMITED}
timelimit l TIME_LIMIT {limit:UNLIMITED}
timeused M TIME {elapsed}
tres-per-node b TRES_PER_NODE {gpus:N/A}
userid U UID {user_id}
username u USER {user}
wckey w WCKEY (null)
workdir Z WORK_DIR {directory}
"""
)
_DEFAULT_FORMAT: Final = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"


def _run_squeue(client: Client, words: Sequence[str]) -> int:
    line = parse_words(_TABLE, words, ends_at_operand=False)
    refuse_operands(line)
    columns = _COLUMNS.choose(line, _DEFAULT_FORMAT)
    states = parse_states(line.get("states")) if "states" in line else frozenset(LIVE_STATES)
    jobs = line.get("jobs")
    entries: list[Entry]
    if jobs is None:
        entries = client.list_recent(MEMORY_OF_ENDED_JOBS)
    else:
        ids = parse_ids(jobs.flag, jobs.text.split(","))
        since = time.time() - MEMORY_OF_ENDED_JOBS
        known = [e for e in client.query_jobs(number for number, _ in ids) if is_known(e.status, since)]
        entries = [entry for entry in known if is_selected(entry, ids)]
        if len(ids) == 1 and not entries:
            # The text and the exit code by which programs know that a job is gone.
            print_error("slurm_load_jobs error", "Invalid job id specified")
            return 1
    if states is not None:
        entries = [entry for entry in entries if get_state(entry.status) in states]
    selected = filter_entries(client, entries, line)
    if "json" in line:
        from osprofile.shim import slurm_json

        slurm_json.print_jobs(client, selected, slurm_json.describe_live_job)
        return 0
    rows = [Facts(client, entry) for entry in selected]
    print_lines(format_rows(columns, _STYLE, rows, has_header="no_header" not in line))
    return 0


SQUEUE: Final = Command(_TABLE, "", _run_squeue)
