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
    list[str],
    Argument("Ids, keys or names of jobs; a key may have * and ?, as in 'sweep-*'.", "JOB...", "jobs"),
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
        list[str],
        Option(
            ("--set", "-s"),
            "Set any field of the profile, a value in its scripts.",
            "NAME=VALUE",
            "assignments",
        ),
    ] = [],
    key: Annotated[
        str | None, Option(("--key",), "A name of your choice: each key is submitted only once.", "KEY")
    ] = None,
    take_over: Annotated[
        bool,
        Option(
            ("--take-over",),
            "With --key: complete here a submission that another host began and did not complete.",
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
        str | None, Option(("--at-once",), "With --as-array: run at most N tasks at a time.", "N")
    ] = None,
    ignore_directives: Annotated[
        bool, Option(("--ignore-directives",), "Submit the script as a program, without its directives.")
    ] = False,
    dry_run: Annotated[
        bool, Option(("--dry-run",), "Print what the job would ask for, and the script; submit nothing.")
    ] = False,
    test_only: Annotated[
        bool,
        Option(
            ("--test-only",), "Print whether the batch system would take the job; submit nothing (Slurm)."
        ),
    ] = False,
    yes: Annotated[
        bool, Option(("--yes",), "Submit a large job, about which the site asks, without a question.")
    ] = False,
    wait: Annotated[
        bool, Option(("--wait",), "Wait for the job, as job wait does, and exit with its exit code.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Submit a job, or one for each line of a file, and print the ids.

    The program runs in the current directory; all words after it are its own. In a script, the lines #SBATCH,
    #PBS, #BSUB and #$ are options, too.

    Examples:
      incarnate job submit -p slurm -n 4 -t 2h ./simulate --steps 1000
      incarnate job submit --host login --input data --fetch 'out*' ./sim.sh
      incarnate job submit --array 1-100%8 --after 4711 ./step.sh
      incarnate job submit -p slurm --from sweep.csv -- ./simulate --rate '{rate}'

    Details:

    A name of a program with a / is relative to the directory in which it runs, the current one or that of
    --directory: ./simulate. Any other name is searched for on the PATH; a file of the current directory is
    used if the PATH has none. -- ends the options before the program. A script that is not executable is
    run by the interpreter of its line #!, or by sh.

    Options of the command line win over the lines of a script. %j, %a and the like work in names of files.
    Directives that do not affect the result are dropped, with a message. One for which the profile has no
    field is passed to the batch system if PASSED_OPTIONS of the profile lists it; otherwise the job is refused.

    Each job has a working directory; ~/.gpe/jobs/PROFILE/ID is a link to it. The job's output is there,
    in stdout and stderr, unless --stdout and --stderr name other files. With --host, or with a profile
    that submits from another machine, the program runs in this directory of that machine, and relative
    paths are relative to it. A program that only this machine has is copied there.

    Inputs are copied into the working directory. With --input or --fetch, the program runs there. What
    --fetch names is copied back by job wait, submit --wait and job fetch.

    If a submission is interrupted, the same command with the same --key completes it.

    --retry 'MEMORY: memory*2, at most 3' submits a job again that used more memory than it may, with twice as much: up to
    three times, at most what the site allows. The causes of an end are those of job show: TIME, MEMORY, NODE and
    others. Without a number, a rule applies once. Who waits for the job submits it again: --wait, job wait.

    With --from, the first row of a CSV file names the columns: name, arguments, walltime and other
    attributes of a job, env:NAME, key, or a field of the profile in capitals. Each line of a .jsonl
    file is a JSON object with such names. The options and the program apply to all jobs; a line's own
    values replace them, and its arguments follow those of the command line. In these, {column} is
    the line's value of that column, which may also be another one than those above; {{ and }} are braces. All lines
    are checked before the first job is submitted. The keys are KEY-1, KEY-2, ...

    With --as-array, the lines become the tasks 1, 2, ... of one array: a single submission, whatever their
    number. They may differ in program, arguments and environment; the options apply to all.

    Exit codes: 0 submitted; 1 refused; 2 wrong usage; 3 invalid profile. With --wait: as job wait.

    More examples:
      incarnate job submit -p pbs --host login --key run-17 --wait make -k
      incarnate job submit -p slurm --from jobs.csv --key sweep ./simulate
      incarnate job submit -p slurm --from jobs.csv --as-array ./simulate
      incarnate job submit -p slurm --dry-run -n 8 sim.sh
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
    is_file_given = job_file is not None
    common.check_option("--from", is_file_given, needed_by={"--as-array": as_array})
    has_fetch = bool(description.fetch) or is_file_given
    common.check_option("--fetch", has_fetch, needed_by={"--fetch-to": description.fetch_to})
    if take_over and (key is None or job_file is not None):
        hint = "incarnate job list shows the keys of interrupted submissions"
        raise common.UsageError("--take-over needs the --key of one job", hint=hint)
    mode = submission.SubmitMode(ignore_directives, dry_run, test_only, yes)
    if job_file is None:
        return submission.submit_job(
            target,
            description,
            key=key,
            wait=wait,
            json=json,
            take_over=take_over,
            mode=mode,
        )
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
            target,
            description,
            job_file,
            at_once=limit,
            key=key,
            wait=wait,
            json=json,
            mode=mode,
        )
    excludes = {"--dry-run": dry_run, "--test-only": test_only}
    common.check_option("--from without --as-array", is_given=True, excludes=excludes)
    return bulk_submission.submit_job_file(
        target, description, job_file, key=key, wait=wait, json=json, mode=mode
    )


def list_(
    *,
    jobs: Annotated[
        list[str],
        Argument(
            "Ids, keys or names of jobs; a key may have * and ?, as in 'sweep-*' [default: all recorded jobs].",
            "[JOB...]",
            "jobs",
        ),
    ] = [],
    watch: Annotated[
        bool, Option(("--watch",), "Update the list until all these jobs have ended; the key q ends it.")
    ] = False,
    tasks: TasksOption = False,
    all: Annotated[  # noqa: A002
        bool, Option(("--all",), "Also list jobs that ended more than a day ago.")
    ] = False,
    state: Annotated[
        str | None,
        Option(("--state",), "List only jobs in these states, as in FAILED,LOST.", "STATE[,STATE]", "states"),
    ] = None,
    failed: Annotated[
        bool,
        Option(("--failed",), "List only jobs that failed, were lost, or exited with a code other than 0."),
    ] = False,
    efficiency: Annotated[
        bool,
        Option(("--efficiency",), "List what the ended jobs of a week used of what they asked for."),
    ] = False,
    by_name: Annotated[
        bool, Option(("--by-name",), "With --efficiency: one line for all jobs of a name.")
    ] = False,
    target: ListedTarget,
    json: JsonOption = False,
) -> int:
    """List recorded jobs, or those that are given, with their current states.

    Without --all or JOB..., jobs that ended more than a day ago are left out. The state of a program that
    exited with an error is DONE; use --failed to find it. JOB may be a job that is not in the record, if
    --profile names its target system.

    States: QUEUED, RUNNING, HELD; DONE (it exited), FAILED (ended by a signal, a limit or the system),
    REMOVED, LOST (it disappeared, with no sign of its end); UNKNOWN (the batch system's state is not in
    the profile). INTERRUPTED: the submission was interrupted; REASON has the command that completes it.
    SUBMITTING: the submission is in progress. An array has one line; REASON counts its tasks by state. If a target system
    does not answer, a message says so, and its last known states are marked, as in RUNNING?; its interrupted submissions are listed
    only with --all.

    --efficiency asks no target system: values that nobody has measured or asked for yet are unknown.
    NEXT TIME has options with which the jobs that succeeded would have had enough.

    With --watch, jobs that have ended are counted after a few seconds, not listed. If standard output is
    not a terminal, each change is one line: the time, the job, the state, how it ended, the reason.

    Exit codes: 0 all target systems answered; 1 one did not; 2 an unknown job or state. With --watch:
    0 all jobs have ended, or q or an interrupt ended the view.

    Examples:
      incarnate job list
      incarnate job list --failed
      incarnate job list --state RUNNING
      incarnate job list --all --profile slurm --json
      incarnate job list 4711 4712
      incarnate job list --watch
      incarnate job list --efficiency --by-name
    """
    from osprofile.cli.job import listing, rows

    own = {"--tasks": tasks, "--all": all, "--state": state, "--failed": failed, "--json": json}
    own["--efficiency"] = efficiency
    common.check_option("--efficiency", efficiency, needed_by={"--by-name": by_name})
    common.check_option("--watch", watch, excludes=own)
    if watch:
        from osprofile.cli.job import live_view

        return live_view.watch_jobs(target, list(dict.fromkeys(jobs)))
    states = None if state is None else rows.parse_states("--state", state)

    def selects(row: "rows.JobRow") -> bool:
        is_in_state = states is None or row.state in states
        return is_in_state and (not failed or row.status.has_failed)

    if efficiency:
        from osprofile.cli.job.efficiency import list_efficiency

        return list_efficiency(
            target, jobs, include_old=all, tasks=tasks, by_name=by_name, selects=selects, json=json
        )
    code = None
    if not jobs:
        code = listing.list_quiet_jobs(target, include_old=all, tasks=tasks, selects=selects, json=json)
    if code is None:
        from osprofile.cli.job import operations

        code = operations.list_jobs(target, jobs, include_old=all, tasks=tasks, selects=selects, json=json)
    return code


def wait(
    *,
    jobs: JobsArgument = [],
    timeout: TimeoutOption = None,
    target: RecordedTarget,
    json: JsonOption = False,
) -> int:
    """Wait for jobs to end, and exit with the job's own exit code.

    For several jobs, exit with the first code that is not 0, in the order of the arguments. If
    standard error is a terminal, it shows the states meanwhile; otherwise, only why a job will not start.
    An interrupt does not end the jobs. A job with --retry is submitted again if a rule asks for it; its exit
    code is that of the last attempt.

    Exit codes: the job's own; 128+n: the job was ended by signal n; 124: the --timeout expired; 125:
    the job has no exit code (removed, lost, over a limit, ended by the system), a task of the
    array did not end with 0, or incarnate failed.

    Examples:
      incarnate job wait 12069-304973-7d90afd1 && echo worked
      incarnate job wait 4711 4712 --timeout 2h --json
    """
    from osprofile.cli.job import waiter
    from osprofile.cli.job.quantities import parse_timeout

    return waiter.wait_for_jobs(
        target, _require_jobs(jobs), timeout=parse_timeout("--timeout", timeout), json=json
    )


def show(
    *,
    jobs: Annotated[
        list[str],
        Argument(
            "Ids of jobs, or working directories of interrupted submissions.", "JOB...", "recorded-jobs"
        ),
    ] = [],
    script: Annotated[bool, Option(("--script",), "Print only the script that was submitted.")] = False,
    target: RecordedTarget,
    json: JsonOption = False,
) -> int:
    """Show everything about jobs.

    The output has the state and its cause, the times (local), the resources used, the files, the fields as
    submitted, and the history of the states. If the target system does not answer, the last known state
    is shown. For a job that failed, the last lines of its error output follow, and the likely cause, if
    they are available.

    Exit codes: 0 shown; 1 a target system did not answer, or has no such file; 2 a job is not known.

    Examples:
      incarnate job show 12069-304973-7d90afd1
      incarnate job show --script 4711
    """
    from osprofile.cli.job import details

    common.check_option("--script", script, excludes={"--json": json})
    return details.show_jobs(target, _require_jobs(jobs), script=script, json=json)


def output(
    *,
    jobs: Annotated[
        list[str],
        Argument("Ids or keys of jobs; a key may have * and ?, as in 'sweep-*'.", "JOB...", "recorded-jobs"),
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

    The standard output is printed, also of jobs on other machines. Several jobs, and the tasks of an
    array, have a line with the id above their output. With --follow, the command waits until a queued job
    starts; an interrupt does not end the jobs.

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


def fetch(
    *,
    words: Annotated[
        list[str],
        Argument(
            "The id of the job, and patterns of files in its directory [default: those of --fetch].",
            "JOB [PATTERN...]",
            "recorded-jobs",
        ),
    ] = [],
    to: Annotated[
        str | None,
        Option(
            ("--to",), "Copy into this directory [default: that of --fetch-to, then the current one].", "DIR"
        ),
    ] = None,
    target: RecordedTarget,
    json: JsonOption = False,
) -> int:
    """Copy files of a job's working directory to this machine.

    The patterns are those of a shell (* ? [abc]), relative to the working directory; quote them. A matching
    directory is copied with its contents, a matching link as the file to which it points. Files that exist
    here are replaced. Nothing is written through a symbolic link on this machine.

    Exit codes: 0 copied; 1 no file matches a pattern, or a target system did not answer; 2 a job is not known.

    Examples:
      incarnate job fetch 4711
      incarnate job fetch 4711 'out*' results --to run-17
    """
    from osprofile.cli.job import files

    job, *patterns = _require_jobs(words)
    return files.fetch_files(target, [job], patterns or None, to, json=json)


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


def rerun(
    *,
    jobs: Annotated[
        list[str], Argument("The ids or keys of ended jobs, or of their tasks.", "[JOB...]", "recorded-jobs")
    ] = [],
    failed: Annotated[
        str | None,
        Option(("--failed",), "Instead of JOB: run the lines of this file again whose jobs failed.", "FILE"),
    ] = None,
    wait: Annotated[
        bool, Option(("--wait",), "Wait for the jobs, as job wait does, and exit with their exit code.")
    ] = False,
    walltime: Annotated[
        str | None,
        Option(
            ("--walltime", "-t"), "Another time limit, as in 90m or 2d; x2 is twice that of the job.", "TIME"
        ),
    ] = None,
    memory: Annotated[
        str | None,
        Option(
            ("--memory",),
            "Another amount of memory on each node, as in 8G; x2 is twice that of the job.",
            "SIZE",
        ),
    ] = None,
    set: Annotated[  # noqa: A002  # the option's name
        list[str],
        Option(("--set", "-s"), "Another value of any field; may be repeated.", "NAME=VALUE", "assignments"),
    ] = [],
    target: RecordedTarget,
    json: JsonOption = False,
) -> int:
    """Submit the recorded requests of ended jobs again, and print the new ids.

    A new job has the same program, arguments, variables, options and target, and a working directory and
    a key of its own: run-17 runs again as run-17~2, then run-17~3. The id of a task runs this task alone.
    If the last run of a job has not ended, its id is printed, and nothing is submitted.

    --failed names a file that job submit --from has submitted. For each of its lines, the last run counts:
    it failed if the program exited with an error, if the job was killed, exceeded a limit, or was lost, or if
    a job that it depends on failed. The requests are those of the record: changes in the file have no effect.
    A job that depends on a job that ran again depends on its last run.

    Exit codes: 0 submitted, or nothing has failed; 1 refused; 2 a job is not known. With --wait: as job wait.

    Examples:
      incarnate job rerun 12069-304973-7d90afd1
      incarnate job rerun --failed sweep.csv --memory x2
      incarnate job rerun 4711_3 4711_8
    """
    from osprofile.cli.job import quantities, reruns

    common.check_option("--failed", failed is not None, excludes={"JOB": jobs})
    jobs = jobs if failed is not None else _require_jobs(jobs)
    given = {"walltime": quantities.parse_factor(walltime), "memory": quantities.parse_factor(memory)}
    factors = {name: factor for name, factor in given.items() if factor is not None}
    amounts = {
        "WALLTIME": quantities.parse_duration("--walltime", None if "walltime" in factors else walltime),
        "MEMORY": quantities.parse_memory("--memory", None if "memory" in factors else memory),
    }
    changes = {name: str(amount) for name, amount in amounts.items() if amount is not None}
    changes |= common.parse_assignments(set, "--set")
    return reruns.rerun_jobs(target, jobs, failed, reruns.Changes(changes, factors), wait=wait, json=json)


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
            ("--older-than",),
            "Instead of JOB: delete all jobs that ended longer ago than this, as in 30d.",
            "TIME",
        ),
    ] = None,
    files: Annotated[
        bool, Option(("--files",), "Also delete the working directories that were made for the jobs.")
    ] = False,
    target: RecordedTarget,
    json: JsonOption = False,
) -> int:
    """Delete ended jobs and interrupted submissions from the record.

    An interrupted submission (INTERRUPTED in the list) may have become a job: check the batch system first.
    Jobs are deleted automatically three months after their end.

    --force is for jobs whose machine or profile is gone. It does not contact the batch system: such a job
    may still run, and its end will not be noticed. JOB may then also be a name of the column PROFILE, for
    all jobs of that target system. A submission in progress is never deleted.

    --files also deletes the working directories that were made for the jobs, with everything in them. It
    keeps those of lost jobs, which may still run, and directories that were chosen at the submission.

    Exit codes: 0 all jobs are deleted; 1 a job has not ended; 2 a job is not known.

    Examples:
      incarnate job forget --older-than 30d --files
      incarnate job forget 12069-304973-7d90afd1
      incarnate job forget --force slurm@old.example.org
      incarnate job forget /var/tmp/ada/1732-55
    """
    from osprofile.cli.job import operations
    from osprofile.cli.job.quantities import parse_duration

    age = parse_duration("--older-than", older_than)
    common.check_option("--older-than", age is not None, excludes={"JOB": jobs})
    jobs = jobs if age is not None else _require_jobs(jobs)
    return operations.forget_jobs(target, jobs, age=age, force=force, files=files, json=json)


def _require_jobs(jobs: list[str]) -> list[str]:
    if not jobs:
        raise common.UsageError("give the id or the key of a job", hint="incarnate job list shows their ids")
    return list(dict.fromkeys(jobs))
