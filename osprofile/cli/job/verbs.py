"""The verbs `incarnate job ...`: their options and help; what they do is in the other modules.

Those load asyncio, SQLite and, for a terminal, rich; so each is imported where it is needed.
"""

from typing import TYPE_CHECKING, Annotated

from osprofile.cli import common
from osprofile.cli.options import (
    ApplicationOption,
    Argument,
    ContextOption,
    JsonOption,
    Option,
    ProfileOption,
    ProfilesOption,
)

if TYPE_CHECKING:
    from osprofile.cli.job.session import TargetSelection

RecordedProfileOption = Annotated[
    str | None,
    Option(
        ("--profile", "-p"),
        "The profile of the jobs' target system [default: as recorded, then $OSPROFILE_PROFILE].",
        "NAME|PATH",
        "profiles",
    ),
]
HostOption = Annotated[
    str | None,
    Option(
        ("--host",),
        "Another machine, by ssh; short for --context SSH:HOST=... and SSH:PORT=...",
        "[USER@]HOST[:PORT]",
    ),
]
StoreOption = Annotated[
    str | None,
    Option(
        ("--store",),
        "The record of the jobs [default: osprofile/jobs.db in $XDG_STATE_HOME, ~/.local/state].",
        "FILE",
        "",
        "OSPROFILE_STORE",
    ),
]
TimeoutOption = Annotated[
    str | None,
    Option(
        ("--timeout",), "Wait no longer; then exit with 124. As in 90, 1.5, 10m, 2h30m.", "TIME"
    ),
]
JobsArgument = Annotated[
    list[str], Argument("The jobs' ids, as submit printed them.", "JOB...", "jobs")
]


def submit(
    *,
    command: Annotated[
        list[str],
        Argument(
            "The program and its arguments; options too, from here on [default: the profile's].",
            "[EXECUTABLE [ARGUMENT...]]",
            takes_rest=True,
        ),
    ] = [],
    profile: ProfileOption = None,
    host: HostOption = None,
    name: Annotated[str | None, Option(("--name", "-N"), "The job's name.", "NAME")] = None,
    queue: Annotated[str | None, Option(("--queue", "-q"), "The queue.", "QUEUE")] = None,
    project: Annotated[
        str | None, Option(("--project", "-A"), "The project or account that pays.", "PROJECT")
    ] = None,
    nodes: Annotated[str | None, Option(("--nodes",), "How many machines.", "N")] = None,
    processes: Annotated[
        str | None, Option(("--processes", "-n"), "How many processes, over all nodes.", "N")
    ] = None,
    cpus: Annotated[
        str | None, Option(("--cpus", "-c"), "How many processors for each process.", "N")
    ] = None,
    memory: Annotated[str | None, Option(("--memory",), "Memory on each node.", "MIB")] = None,
    walltime: Annotated[
        str | None,
        Option(
            ("--walltime", "-t"),
            "How long it may take: seconds, or as in 90m, 1h30m, 2d, 01:30:00, 2-12:00:00.",
            "TIME",
        ),
    ] = None,
    cputime: Annotated[
        str | None, Option(("--cputime",), "How much processor time it may use.", "TIME")
    ] = None,
    env: Annotated[
        list[str],
        Option(("--env", "-e"), "Set a variable of its environment; may repeat.", "NAME=VALUE"),
    ] = [],
    stdin: Annotated[
        str | None, Option(("--stdin",), "Read standard input from this file.", "FILE")
    ] = None,
    stdout: Annotated[
        str | None, Option(("--stdout",), "Write standard output to this file.", "FILE")
    ] = None,
    stderr: Annotated[
        str | None, Option(("--stderr",), "Write standard error to this file.", "FILE")
    ] = None,
    directory: Annotated[
        str | None,
        Option(("--directory",), "The working directory there [default: a fresh one].", "PATH"),
    ] = None,
    application: ApplicationOption = None,
    set: Annotated[  # noqa: A002  # the option's name
        list[str],
        Option(("--set", "-s"), "Set any field of the profile.", "NAME=VALUE", "assignments"),
    ] = [],
    context: ContextOption = [],
    profiles: ProfilesOption = [],
    key: Annotated[
        str | None,
        Option(("--key",), "Your own name for it: with the same key it is submitted once.", "KEY"),
    ] = None,
    store: StoreOption = None,
    wait: Annotated[
        bool, Option(("--wait",), "Wait for its end, as job wait does; exit with its exit code.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Submit a job and print its id.

    Files that it reads and writes are on the target system; relative paths begin at its working
    directory. Where a submission is cut off, the same command with the same --key completes it.

    Exit codes: 0 submitted; 1 refused; 2 wrong usage, 3 bad profile. With --wait: as job wait.

    Examples:
      incarnate job submit -p slurm -n 4 -t 2h ./simulate --steps 1000
      incarnate job submit -p pbs --host login.example.org --key run-17 --wait make -k
    """
    from osprofile.cli.job import submission
    from osprofile.cli.job.quantities import parse_count, parse_duration
    from osprofile.jobs.description import JobDescription

    description = JobDescription(
        executable=command[0] if command else None,
        arguments=command[1:],
        environment=common.parse_assignments(env, "--env"),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        directory=directory,
        name=name,
        queue=queue,
        project=project,
        nodes=parse_count("--nodes", nodes),
        processes=parse_count("--processes", processes),
        cpus=parse_count("--cpus", cpus),
        memory=parse_count("--memory", memory, "as in --memory 4096: it counts MiB"),
        walltime=parse_duration("--walltime", walltime),
        cputime=parse_duration("--cputime", cputime),
        application=application,
        fields=common.parse_assignments(set, "--set"),
    )
    given = _select_target(profile, host, context, profiles, store)
    return submission.submit_job(given, description, key=key, wait=wait, json=json)


def status(
    *,
    jobs: JobsArgument = [],
    profile: RecordedProfileOption = None,
    host: HostOption = None,
    context: ContextOption = [],
    profiles: ProfilesOption = [],
    store: StoreOption = None,
    json: JsonOption = False,
) -> int:
    """Ask for the states of jobs now, by one query for each target system.

    States: QUEUED RUNNING HELD; DONE (ended by itself), FAILED (by a signal, a limit, the system),
    REMOVED, LOST (vanished without a trace); UNKNOWN (a word that the profile does not know).

    Exit codes: 0 all are told; 1 a target system did not answer; 2 a job is not known.

    Examples:
      incarnate job status 12069-304973-7d90afd1
      incarnate job status 4711 4712 --profile slurm --json
    """
    from osprofile.cli.job import operations

    return operations.show_status(
        _select_target(profile, host, context, profiles, store), _require_jobs(jobs), json=json
    )


def list_(
    *,
    all: Annotated[  # noqa: A002
        bool, Option(("--all",), "Those that ended more than a day ago, too.")
    ] = False,
    profile: Annotated[
        str | None,
        Option(("--profile", "-p"), "Only jobs of this profile.", "NAME|PATH", "profiles"),
    ] = None,
    host: HostOption = None,
    context: ContextOption = [],
    profiles: ProfilesOption = [],
    store: StoreOption = None,
    json: JsonOption = False,
) -> int:
    """List the recorded jobs that live, or ended within the last day, with their states now.

    CUT: its submission was cut off; REASON says what completes it. SUBMITTING: it is under way.
    Of a target system that cannot be asked, the last known states are shown.

    Exit codes: 0 all were asked; 1 a target system could not be asked.

    Examples:
      incarnate job list
      incarnate job list --all --profile slurm --json
    """
    from osprofile.cli.job import operations

    return operations.list_jobs(
        _select_target(profile, host, context, profiles, store), include_old=all, json=json
    )


def wait(
    *,
    jobs: JobsArgument = [],
    timeout: TimeoutOption = None,
    profile: RecordedProfileOption = None,
    host: HostOption = None,
    context: ContextOption = [],
    profiles: ProfilesOption = [],
    store: StoreOption = None,
    json: JsonOption = False,
) -> int:
    """Wait for the end of jobs, and exit with the job's own exit code.

    Of several, with the first code, in the order given, that is not 0. On a terminal their states
    are shown meanwhile, on standard error. An interrupt ends the waiting only.

    Exit codes: the job's own; 128+n: ended by signal n; 124: not ended within --timeout; 125: it
    has none (removed, lost, over a limit, failed by the system), or an error of ours.

    Examples:
      incarnate job wait 12069-304973-7d90afd1 && echo worked
      incarnate job wait 4711 4712 --timeout 2h --json
    """
    from osprofile.cli.job import waiter
    from osprofile.cli.job.quantities import parse_timeout

    given = _select_target(profile, host, context, profiles, store)
    return waiter.wait_for_jobs(
        given, _require_jobs(jobs), timeout=parse_timeout("--timeout", timeout), json=json
    )


def hold(
    *,
    jobs: JobsArgument = [],
    profile: RecordedProfileOption = None,
    host: HostOption = None,
    context: ContextOption = [],
    profiles: ProfilesOption = [],
    store: StoreOption = None,
    json: JsonOption = False,
) -> int:
    """Keep waiting jobs from starting, or stop running ones, as the target system can.

    Exit codes: 0 all are held; 1 one is not, in the batch system's words; 2 one is not known.

    Examples:
      incarnate job hold 12069-304973-7d90afd1
    """
    from osprofile.cli.job import operations

    return operations.control_jobs(
        "hold",
        _select_target(profile, host, context, profiles, store),
        _require_jobs(jobs),
        json=json,
    )


def resume(
    *,
    jobs: JobsArgument = [],
    profile: RecordedProfileOption = None,
    host: HostOption = None,
    context: ContextOption = [],
    profiles: ProfilesOption = [],
    store: StoreOption = None,
    json: JsonOption = False,
) -> int:
    """Let held jobs go on.

    Exit codes: 0 all go on; 1 one does not, in the batch system's words; 2 one is not known.

    Examples:
      incarnate job resume 12069-304973-7d90afd1
    """
    from osprofile.cli.job import operations

    return operations.control_jobs(
        "resume",
        _select_target(profile, host, context, profiles, store),
        _require_jobs(jobs),
        json=json,
    )


def abort(
    *,
    jobs: JobsArgument = [],
    profile: RecordedProfileOption = None,
    host: HostOption = None,
    context: ContextOption = [],
    profiles: ProfilesOption = [],
    store: StoreOption = None,
    json: JsonOption = False,
) -> int:
    """Remove jobs, those that wait and those that run. They end as REMOVED.

    Exit codes: 0 all are removed; 1 one is not, in the batch system's words (it may have ended
    already); 2 one is not known.

    Examples:
      incarnate job abort 12069-304973-7d90afd1
    """
    from osprofile.cli.job import operations

    return operations.control_jobs(
        "abort",
        _select_target(profile, host, context, profiles, store),
        _require_jobs(jobs),
        json=json,
    )


def forget(
    *,
    jobs: Annotated[
        list[str],
        Argument("The jobs' ids, or the working directories of cut submissions.", "JOB..."),
    ] = [],
    profile: RecordedProfileOption = None,
    host: HostOption = None,
    context: ContextOption = [],
    profiles: ProfilesOption = [],
    store: StoreOption = None,
    json: JsonOption = False,
) -> int:
    """Remove jobs from the record that have ended, and submissions that were cut off.

    A submission that was cut off (CUT in the list) may have become a job: look there first. Jobs
    that ended three months ago are forgotten by themselves.

    Exit codes: 0 all are forgotten; 1 one has not ended; 2 one is not known.

    Examples:
      incarnate job forget 12069-304973-7d90afd1
      incarnate job forget /home/ada/.gpe/uspace/ada/1732-55
    """
    from osprofile.cli.job import removal

    given = _select_target(profile, host, context, profiles, store)
    return removal.forget_jobs(given, _require_jobs(jobs), json=json)


def _select_target(
    profile: str | None,
    host: str | None,
    context: list[str],
    profiles: list[str],
    store: str | None,
) -> "TargetSelection":
    from osprofile.cli.job.session import TargetSelection
    from osprofile.jobs.target_names import parse_host_context

    special = common.parse_assignments(context, "--context")
    if host is not None:
        special |= parse_host_context(host)
        if not special["SSH:HOST"]:
            raise common.UsageError(f"--host {host!r}: a host is needed")
    return TargetSelection(profile, special, profiles, store)


def _require_jobs(jobs: list[str]) -> list[str]:
    if not jobs:
        raise common.UsageError("which job?", hint="incarnate job list shows their ids")
    return list(dict.fromkeys(jobs))
