"""The options and help of the verbs `incarnate job ...`; the other modules do the work.

These load asyncio, SQLite and, for a terminal, rich, so each is only imported by the verb that needs it.
"""

from typing import Annotated

from osprofile.cli import common
from osprofile.cli.job.option_groups import JobFieldOptions, ListedTarget, RecordedTarget, SubmissionTarget
from osprofile.cli.options import ApplicationOption, Argument, JsonOption, Option

TasksOption = Annotated[bool, Option(("--tasks",), "Print the tasks of arrays, too, one on each line.")]
TimeoutOption = Annotated[
    str | None,
    Option(("--timeout",), "Stop waiting after this time, as in 90, 1.5, 10m; exit with 124.", "TIME"),
]
JobsArgument = Annotated[
    list[str], Argument("The ids of the jobs, as job submit printed them.", "JOB...", "jobs")
]


def submit(
    *,
    command: Annotated[
        list[str],
        Argument(
            "The program, and all its arguments; not with --application, or if a site's profile has one.",
            "[PROGRAM [ARGUMENT...]]",
            takes_rest=True,
        ),
    ] = [],
    target: SubmissionTarget,
    job: JobFieldOptions,
    application: ApplicationOption = None,
    set: Annotated[  # noqa: A002  # the option's name
        list[str], Option(("--set", "-s"), "Set any field of the profile.", "NAME=VALUE", "assignments")
    ] = [],
    key: Annotated[
        str | None, Option(("--key",), "A name of your choice: each key is submitted only once.", "KEY")
    ] = None,
    take_over: Annotated[
        bool,
        Option(
            ("--take-over",),
            "With --key: complete a submission here that another host began; only if it has not submitted the job.",
        ),
    ] = False,
    job_file: Annotated[
        str | None,
        Option(
            ("--from",),
            "Submit a job for each line of this .csv or .jsonl file; - is standard input.",
            "FILE|-",
        ),
    ] = None,
    as_array: Annotated[
        bool, Option(("--as-array",), "With --from: submit one array, with a task for each line.")
    ] = False,
    at_once: Annotated[
        str | None, Option(("--at-once",), "With --as-array: run at most so many tasks at a time.", "N")
    ] = None,
    wait: Annotated[
        bool, Option(("--wait",), "Wait for the job, as job wait does, and exit with its exit code.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Submit a job, or one for each line of a file, and print the ids.

    The program runs in the current directory, or in that of --directory. A name with a / is relative
    to the directory in which it runs: ./simulate. Any other name is searched for on the PATH; a file
    of the current directory is used if the PATH has none. All words after the program are its own; --
    ends the options before it. A script that is not executable is run by the interpreter of its line
    #!, or by sh. #SBATCH lines and other directives in the script are ignored, with a warning.

    Each job has a working directory, to which ~/.gpe/jobs/PROFILE/ID is a link. It has the job's output,
    in stdout and stderr, unless --stdout and --stderr name other files. With --host, or with a profile
    that submits from another machine, the program runs in this directory of that machine, and relative
    paths are relative to it.

    If a submission is interrupted, the same command with the same --key completes it.

    With --from, the first row of a CSV file names the columns: name, arguments, walltime and other
    attributes of a job, env:NAME, key, or a field of the profile in capitals. Each line of a .jsonl
    file is a JSON object with such names. The options and the program hold for all jobs; a line's own
    values replace them, and its arguments come behind those of the command line. All lines are
    checked before the first job is submitted. The keys are KEY-1, KEY-2, ...

    With --as-array, the lines become the tasks 1, 2, ... of one array: a single submission, whatever their
    number. They may differ in their arguments, their variables and the program; the options hold for all.

    Exit codes: 0 submitted; 1 refused; 2 wrong usage; 3 invalid profile. With --wait: as job wait.

    Examples:
      incarnate job submit -p slurm -n 4 -t 2h ./simulate --steps 1000
      incarnate job submit -p pbs --host login --key run-17 --wait make -k
      incarnate job submit --array 1-100%8 --after 4711 ./step.sh
      incarnate job submit -p slurm --from jobs.csv --key sweep ./simulate
      incarnate job submit -p slurm --from jobs.csv --as-array ./simulate
    """
    from osprofile.cli.job import submission
    from osprofile.cli.job.quantities import parse_count
    from osprofile.jobs.fields import JobDescription

    description = JobDescription(
        executable=command[0] if command else None,
        arguments=command[1:],
        application=application,
        fields=common.parse_assignments(set, "--set"),
        **job,
    )
    array = description.array
    if array == "":
        hint = "as in 1-100 or 1-100%8; without indices, leave the option out"
        raise common.UsageError("--array '' has no index", hint=hint)
    if at_once is not None and not as_array:
        hint = "in --array, as in 1-100%8" if array else "as in --from jobs.csv --as-array --at-once 8"
        raise common.UsageError("--at-once needs --as-array", hint=hint)
    _check_take_over(take_over=take_over, key=key, job_file=job_file)
    if job_file is None:
        if as_array:
            raise common.UsageError("--as-array needs --from", hint="as in --from jobs.csv --as-array")
        return submission.submit_job(target, description, key=key, wait=wait, json=json, take_over=take_over)
    if array is not None or "ARRAY" in description.fields:
        hint = "each line is a job of its own: leave --array out"
        raise common.UsageError("--array and --from cannot be used together", hint=hint)
    if "WORKING_DIRECTORY" in target.context and not as_array:
        hint = "each job needs its own: leave it out, or write a column working_directory"
        message = "--context WORKING_DIRECTORY and --from cannot be used together"
        raise common.UsageError(message, hint=hint)
    from osprofile.cli.job import bulk_submission

    if as_array:
        limit = parse_count("--at-once", at_once, "as in 8")
        if limit == 0:
            raise common.UsageError("--at-once 0 runs nothing", hint="give the number of tasks, as in 8")
        return bulk_submission.submit_as_array(
            target, description, job_file, at_once=limit, key=key, wait=wait, json=json
        )
    return bulk_submission.submit_job_file(target, description, job_file, key=key, wait=wait, json=json)


def status(
    *,
    jobs: JobsArgument = [],
    tasks: TasksOption = False,
    target: RecordedTarget,
    json: JsonOption = False,
) -> int:
    """Query and print the states of jobs.

    There is one query for each target system.

    States: QUEUED, RUNNING, HELD; DONE (it exited), FAILED (ended by a signal, a limit or the
    system), REMOVED, LOST (it disappeared, with no sign of its end); UNKNOWN (the batch system's
    state is not in the profile).

    Exit codes: 0 all states are printed; 1 a target system did not answer; 2 a job is not known.

    Examples:
      incarnate job status 12069-304973-7d90afd1
      incarnate job status 4711 4712 --profile slurm --json
    """
    from osprofile.cli.job import operations

    return operations.show_status(
        target,
        _require_jobs(jobs),
        tasks=tasks,
        json=json,
    )


def list_(
    *,
    jobs: Annotated[
        list[str], Argument("Only these jobs, with the tasks of arrays [default: all].", "[JOB...]", "jobs")
    ] = [],
    tasks: TasksOption = False,
    all: Annotated[  # noqa: A002
        bool, Option(("--all",), "Also list jobs that ended more than a day ago.")
    ] = False,
    target: ListedTarget,
    json: JsonOption = False,
) -> int:
    """List the recorded jobs, with their current states.

    Without --all, those that ended more than a day ago are left out.

    INTERRUPTED: the submission was interrupted; REASON has the command that completes it. SUBMITTING: the
    submission is in progress. An array has one line, with the numbers of its tasks in REASON. If a
    target system does not answer, one line says so, and the last known states have a ?, as in RUNNING?;
    its interrupted submissions are listed with --all only.

    Exit codes: 0 all target systems answered; 1 one did not, or a job is not recorded.

    Examples:
      incarnate job list
      incarnate job list --all --profile slurm --json
      incarnate job list 4711
    """
    from osprofile.cli.job import operations

    return operations.list_jobs(
        target,
        jobs,
        include_old=all,
        tasks=tasks,
        json=json,
    )


def wait(
    *,
    jobs: JobsArgument = [],
    timeout: TimeoutOption = None,
    target: RecordedTarget,
    json: JsonOption = False,
) -> int:
    """Wait for jobs to end, and exit with the job's own exit code.

    For several jobs, exit with the first code that is not 0, in the order of the arguments. If
    standard error is a terminal, it shows the states meanwhile, else why a job will not start. An interrupt does not end the jobs.

    Exit codes: the job's own; 128+n: the job was ended by signal n; 124: --timeout is over; 125: the
    job has no exit code (removed, lost, over a limit, ended by the system), a task of the
    array did not end with 0, or incarnate failed.

    Examples:
      incarnate job wait 12069-304973-7d90afd1 && echo worked
      incarnate job wait 4711 4712 --timeout 2h --json
    """
    from osprofile.cli.job import waiter
    from osprofile.cli.job.quantities import parse_timeout

    selection = target
    return waiter.wait_for_jobs(
        selection, _require_jobs(jobs), timeout=parse_timeout("--timeout", timeout), json=json
    )


def show(
    *,
    jobs: Annotated[
        list[str],
        Argument(
            "Ids of jobs, or working directories of interrupted submissions.", "JOB...", "recorded-jobs"
        ),
    ] = [],
    script: Annotated[bool, Option(("--script",), "Print the script that was submitted, as it is.")] = False,
    target: RecordedTarget,
    json: JsonOption = False,
) -> int:
    """Show everything about jobs.

    That is the state, its cause, times, what the job took, its files, the fields as submitted, and the
    history of its states. Times are local ones. If the target system does not answer, the last known
    state is shown.

    Exit codes: 0 shown; 1 a target system did not answer, or has no such file; 2 a job is not known.

    Examples:
      incarnate job show 12069-304973-7d90afd1
      incarnate job show --script 4711
    """
    from osprofile.cli.job import details

    if script and json:
        raise common.UsageError("--script and --json cannot be used together")
    selection = target
    return details.show_jobs(selection, _require_jobs(jobs), script=script, json=json)


def output(
    *,
    jobs: Annotated[
        list[str], Argument("The ids of the jobs, as job submit printed them.", "JOB...", "recorded-jobs")
    ] = [],
    follow: Annotated[
        bool, Option(("--follow", "-f"), "Keep printing new output until the jobs end.")
    ] = False,
    error: Annotated[
        bool, Option(("--error", "--stderr", "-e"), "Print the standard error instead.")
    ] = False,
    tail: Annotated[str | None, Option(("--tail", "-n"), "Print only the last N lines.", "N")] = None,
    target: RecordedTarget,
) -> int:
    """Print what jobs have written.

    It is their standard output, wherever they run. Several jobs, and the tasks of an array, get a line
    with the id above their output. With --follow, a job that waits is waited for; an interrupt does not
    end the jobs.

    Exit codes: 0 printed; 1 there is no such file, or a target system did not answer; 2 a job is
    not known.

    Examples:
      incarnate job output 12069-304973-7d90afd1
      incarnate job output -f --tail 20 4711
      incarnate job output --error 4711_3
    """
    from osprofile.cli.job import outputs
    from osprofile.cli.job.quantities import parse_count

    return outputs.print_output(
        target,
        _require_jobs(jobs),
        stream="stderr" if error else "stdout",
        last_lines=parse_count("--tail", tail, "as in --tail 20"),
        follow=follow,
    )


def watch(
    *,
    jobs: Annotated[
        list[str], Argument("The ids of the jobs [default: all recorded live ones].", "[JOB...]", "jobs")
    ] = [],
    target: RecordedTarget,
) -> int:
    """Follow the states of jobs in a table.

    It ends when all jobs have ended, or with the key q. Jobs that have ended are soon only counted.
    Where standard output is no terminal, each change is a line: the time, the job, the state, how it
    ended, the reason. The jobs are not affected.

    Exit codes: 0 all jobs have ended, or q or an interrupt ended the view; 2 a job is not known.

    Examples:
      incarnate job watch
      incarnate job watch 4711 4712 > states.log
    """
    from osprofile.cli.job import live_view

    selection = target
    return live_view.watch_jobs(selection, list(dict.fromkeys(jobs)))


def hold(
    *,
    jobs: JobsArgument = [],
    target: RecordedTarget,
    json: JsonOption = False,
) -> int:
    """Hold jobs: queued ones do not start, running ones stop.

    Most batch systems hold queued jobs only.

    Exit codes: 0 all jobs are held; 1 the batch system refused one; 2 a job is not known.

    Examples:
      incarnate job hold 12069-304973-7d90afd1
    """
    from osprofile.cli.job import operations

    return operations.control_jobs("hold", target, _require_jobs(jobs), json=json)


def resume(
    *,
    jobs: JobsArgument = [],
    target: RecordedTarget,
    json: JsonOption = False,
) -> int:
    """Release held jobs.

    Exit codes: 0 all jobs are released; 1 the batch system refused one; 2 a job is not known.

    Examples:
      incarnate job resume 12069-304973-7d90afd1
    """
    from osprofile.cli.job import operations

    return operations.control_jobs("resume", target, _require_jobs(jobs), json=json)


def cancel(
    *,
    jobs: JobsArgument = [],
    target: RecordedTarget,
    json: JsonOption = False,
) -> int:
    """Cancel queued and running jobs; their state becomes REMOVED.

    Exit codes: 0 all jobs are cancelled; 1 the batch system refused one (it may have ended already);
    2 a job is not known.

    Examples:
      incarnate job cancel 12069-304973-7d90afd1
    """
    from osprofile.cli.job import operations

    return operations.control_jobs("cancel", target, _require_jobs(jobs), json=json)


def forget(
    *,
    jobs: Annotated[
        list[str], Argument("Ids of jobs, or working directories of interrupted submissions.", "JOB...")
    ] = [],
    force: Annotated[
        bool, Option(("--force",), "Also delete jobs that have not ended; JOB may be a target's name.")
    ] = False,
    older_than: Annotated[
        str | None,
        Option(
            ("--older-than",), "Delete all jobs that ended so long ago, instead of JOB...; as in 30d.", "TIME"
        ),
    ] = None,
    files: Annotated[
        bool, Option(("--files",), "Also delete the directories that were made for the jobs.")
    ] = False,
    target: RecordedTarget,
    json: JsonOption = False,
) -> int:
    """Delete ended jobs and interrupted submissions from the record.

    An interrupted submission (INTERRUPTED in the list) may have become a job: check the batch system first.
    Jobs are deleted automatically three months after their end.

    --force is for jobs that can never be asked again, since their machine or profile is gone. The batch
    system is not told: such a job may still run, and nobody here will know of its end. For JOB, it also
    takes the name in the column PROFILE, for all jobs of that target system. A submission in progress
    is never deleted.

    --files also deletes the working directories that were made for the jobs, with all that the jobs wrote there; it
    keeps those of lost jobs, which may still run, and directories that were chosen at the submission.

    Exit codes: 0 all jobs are deleted; 1 a job has not ended; 2 a job is not known.

    Examples:
      incarnate job forget --older-than 30d --files
      incarnate job forget 12069-304973-7d90afd1
      incarnate job forget --force slurm@old.example.org
      incarnate job forget /var/tmp/ada/1732-55
    """
    from osprofile.cli.job import removal
    from osprofile.cli.job.quantities import parse_duration
    from osprofile.cli.job.session import run_cancellable

    selection = target
    age = parse_duration("--older-than", older_than)
    if age is None:
        jobs = _require_jobs(jobs)
    elif jobs:
        raise common.UsageError(
            "--older-than selects the jobs by itself", hint="leave JOB out, or this option"
        )
    work = removal.forget_jobs(selection, jobs, age=age, force=force, files=files, json=json)
    return run_cancellable(work)


def _require_jobs(jobs: list[str]) -> list[str]:
    if not jobs:
        raise common.UsageError("give the id or the key of a job", hint="incarnate job list shows their ids")
    return list(dict.fromkeys(jobs))


def _check_take_over(*, take_over: bool, key: str | None, job_file: str | None) -> None:
    if take_over and (key is None or job_file is not None):
        hint = "incarnate job list shows the keys of interrupted submissions"
        raise common.UsageError("--take-over needs the --key of one job", hint=hint)
