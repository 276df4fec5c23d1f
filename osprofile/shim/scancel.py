"""The stand-in of Slurm's `scancel`. Source: its manual page of Slurm 23.02."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile.errors import JobNotFoundError, OSProfileError
from osprofile.job_scripts.command_line import (
    CommandLine,
    Option,
    UsageError,
    parse_words,
    refuse_options,
)
from osprofile.shim.command import (
    Command,
    print_error,
)
from osprofile.shim.facts import get_state
from osprofile.shim.job_request import parse_signal
from osprofile.shim.slurm import (
    filter_entries,
    is_selected,
    parse_ids,
    parse_states,
)
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.shim.client import Client

_SCANCEL_TABLE: Final = (
    Option("me", ("--me",)),
    Option("name", ("-n", "--name", "--jobname"), "NAME"),
    Option("partition", ("-p", "--partition"), "NAME"),
    Option("quiet", ("-Q", "--quiet")),
    Option("signal", ("-s", "--signal"), "SIGNAL", "send it, in place of the removal"),
    Option("state", ("-t", "--state"), "STATE"),
    Option("user", ("-u", "--user"), "NAME"),
    Option("verbose", ("-v", "--verbose"), "", "print the job on standard error"),
    Option("clusters", ("-M", "--clusters", "--cluster"), "NAMES", "there is one in any case"),
    Option("without_effect", ("--ctld",), "", "changes nothing"),
    Option("without_effect", ("-H", "--hurry"), "", "changes nothing"),
    *refuse_options(
        "--account --batch --full --help --interactive --nodelist --qos"
        " --reservation --sibling --usage --version --wckey"
    ),
)


def _run_scancel(client: Client, words: Sequence[str]) -> int:
    line = parse_words(_SCANCEL_TABLE, words, ends_at_operand=False)
    ids = parse_ids("job", (part for word in line.operands for part in word.split(",")))
    signal = line.get("signal")
    number = parse_signal(signal.text) if signal is not None else None
    if signal is not None and number is None:
        raise UsageError(
            f"{signal.flag}: {quote_value(signal.text)} is not a signal", hint="as in USR1, SIGUSR1 or 10"
        )
    selects = any(name in line for name in ("me", "name", "state", "user"))
    if not ids and not selects:
        raise UsageError("no job is given", hint="give ids of jobs, or --user, --name, --state or --me")
    if selects:
        ids = _select_ids(client, line, ids)
    code = 0
    for job, index in ids:
        name = f"{job}" if index is None else f"{job}_{index}"
        if "verbose" in line:
            action = "Terminating job" if number is None else f"Signal {number[1]} to job"
            print_error("scancel", f"{action} {name}")
        error, job_code = _cancel_job(client, job, index, None if number is None else number[1])
        code = code or job_code
        if error and not ("quiet" in line and job_code == 0):
            print_error("scancel", f"error: Kill job error on job id {name}: {error}")
    return code


def _select_ids(
    client: Client, line: CommandLine, ids: Sequence[tuple[int, int | None]]
) -> list[tuple[int, int | None]]:
    """Return the ids of the jobs that have not ended and meet all conditions."""
    states = parse_states(line.get("state"))
    entries = [entry for entry in client.list_recent(0.0) if not entry.status.state.is_terminal]
    return [
        (entry.number, entry.index)
        for entry in filter_entries(client, entries, line)
        if (not ids or is_selected(entry, ids)) and (states is None or get_state(entry.status) in states)
    ]


def _cancel_job(client: Client, number: int, index: int | None, signal: int | None) -> tuple[str, int]:
    """Remove a job or send it a signal; return the error, empty for none, and the exit code."""
    try:
        if signal is not None:
            job_id = client.find_id(number, index)
            client.run(lambda target: target.signal(job_id, signal))
        elif not client.remove_job(number, index):
            return "Job/step already completing or completed", 0
    except JobNotFoundError:
        return "Invalid job id specified", 1
    except OSProfileError as error:
        return f"{error}", 1
    return "", 0


SCANCEL: Final = Command(_SCANCEL_TABLE, "[ID...]", _run_scancel)
