"""`incarnate new`: writes a profile for a site to start from."""

from typing import Annotated

from osprofile.cli import common
from osprofile.cli.options import Argument, JsonOption, Option, ProfilesOption


def new(
    *,
    name: Annotated[str, Argument("The new profile's name.", "NAME")],
    extends: Annotated[
        str | None,
        Option(("--extends", "-e"), "The profile that it inherits from.", "NAME", "profiles"),
    ] = None,
    directory: Annotated[
        str | None,
        Option(
            ("--directory", "-o"), "Write DIR/NAME/profile.xml, unless it exists [default: stdout].", "DIR"
        ),
    ] = None,
    profiles: ProfilesOption = [],
    batch_system: Annotated[
        bool,
        Option(
            ("--batch-system",),
            "Write a profile of a new batch system, from the options that follow. "
            "On a terminal, the command asks for those that are missing.",
        ),
    ] = False,
    submit: Annotated[
        str | None,
        Option(("--submit",), "The command that submits {script}; {options} is where options go.", "COMMAND"),
    ] = None,
    answer: Annotated[
        str | None,
        Option(("--answer",), "The line that it prints, with {id} in the place of the id.", "TEXT"),
    ] = None,
    id_pattern: Annotated[
        str | None, Option(("--id-pattern",), "What an id looks like [default: [0-9]+].", "REGEX")
    ] = None,
    list_jobs: Annotated[
        str | None, Option(("--list",), "The command that lists the user's jobs.", "COMMAND")
    ] = None,
    line: Annotated[
        str | None,
        Option(
            ("--line",),
            "A line of its output: {id}, {state}, {exit} are columns, any other word is another column. "
            "{script} at the end: the line ends with the script's path.",
            "TEXT",
        ),
    ] = None,
    queued: Annotated[str | None, Option(("--queued",), "Its words for jobs that wait.", "WORD,...")] = None,
    running: Annotated[str | None, Option(("--running",), "... that run.", "WORD,...")] = None,
    held: Annotated[str | None, Option(("--held",), "... that are held.", "WORD,...")] = None,
    done: Annotated[
        str | None, Option(("--done",), "... that ended by themselves, with any exit code.", "WORD,...")
    ] = None,
    failed: Annotated[str | None, Option(("--failed",), "... that failed.", "WORD,...")] = None,
    limit: Annotated[str | None, Option(("--limit",), "... that exceeded a limit.", "WORD,...")] = None,
    removed: Annotated[str | None, Option(("--removed",), "... that were removed.", "WORD,...")] = None,
    cancel: Annotated[
        list[str],
        Option(
            ("--cancel",),
            "The command that removes the job {id}; may be repeated: the first that succeeds counts.",
            "COMMAND",
        ),
    ] = [],
    hold: Annotated[
        str | None, Option(("--hold",), "The command that holds the job {id} [default: none].", "COMMAND")
    ] = None,
    resume: Annotated[
        str | None, Option(("--resume",), "The command that releases it [default: none].", "COMMAND")
    ] = None,
    directive: Annotated[
        str | None,
        Option(
            ("--directive",),
            "How a line with options begins in a script [default: none, options are on the command line].",
            "PREFIX",
        ),
    ] = None,
    own_id: Annotated[
        str | None,
        Option(
            ("--own-id",),
            "What tells a job its own id; without it, {script} in --line.",
            "$VARIABLE|COMMAND",
        ),
    ] = None,
    sample_submit: Annotated[
        str | None,
        Option(("--sample-submit",), "Try --answer on this output of the submit command.", "FILE|-"),
    ] = None,
    sample_list: Annotated[
        str | None, Option(("--sample-list",), "Try --line on this output of the list command.", "FILE|-")
    ] = None,
    json: JsonOption = False,
) -> int:
    """Write a profile to start from, which shows what it may change.

    With --extends, it inherits everything from another profile. With --batch-system, it describes a
    batch system that osprofile does not know.

    Examples:
      incarnate new mysite --extends slurm -o ~/.config/osprofile/profiles
      incarnate new pbs --extends pbs > profile.xml
      incarnate new mybatch --batch-system -o ~/.config/osprofile/profiles
    """
    facts = {
        "submit": submit, "answer": answer, "id_pattern": id_pattern, "list_jobs": list_jobs, "line": line,
        "queued": queued, "running": running, "held": held, "done": done, "failed": failed, "limit": limit,
        "removed": removed, "hold": hold, "resume": resume, "directive": directive, "own_id": own_id,
    }  # fmt: skip
    if batch_system:
        if extends is not None:
            raise common.UsageError("--extends and --batch-system exclude each other")
        sample_files = (sample_submit, sample_list)
        return _new_batch_system(
            name, facts, cancel, sample_files=sample_files, directory=directory, json=json
        )
    if extends is None:
        raise common.UsageError("no parent is given", hint="use --extends NAME, or --batch-system")
    given = [n for n, value in {**facts, "sample": sample_submit or sample_list}.items() if value is not None]
    if given or cancel:
        raise common.UsageError("an option about a batch system needs --batch-system")
    return _new_site(name, extends, directory, profiles, json)


def _new_site(name: str, extends: str, directory: str | None, profiles: list[str], json: bool) -> int:
    """Write a profile that inherits everything."""
    from osprofile.profile.skeleton import render_skeleton

    parent = common.open_repository(profiles).load(extends)
    document = render_skeleton(name, parent, _find_folder(directory, name))
    file = _write(directory, name, document)
    _print(document, file, json, {"name": name, "extends": extends})
    return 0


def _new_batch_system(
    name: str,
    given: dict[str, str | None],
    cancel: list[str],
    *,
    sample_files: tuple[str | None, str | None],
    directory: str | None,
    json: bool,
) -> int:
    """Write a profile of a batch system, and tell what is read from samples of its output."""
    from osprofile.cli import batch_system as facts
    from osprofile.profile.batch_system import render_batch_system

    _check_target(name, directory)
    system = facts.collect_facts(given, cancel)
    try:
        document = render_batch_system(name, system, _find_folder(directory, name))
    except ValueError as error:
        raise common.UsageError(str(error)) from None
    samples = facts.read_samples(system, *facts.ask_for_samples(system, sample_files))
    file = _write(directory, name, document)
    found = {name: [reading._asdict() for reading in readings] for name, readings in samples.items()}
    if not json:
        for text in facts.format_readings(samples):
            common.print_message(text)
    warnings = [f"{program} is not found on this machine" for program in facts.find_missing_programs(system)]
    told = (facts.format_unknown_states(samples), facts.format_missing_exit_codes(system, samples))
    warnings += filter(None, told)
    for text in warnings:
        common.print_message(f"warning: {text}")
    _print(document, file, json, {"name": name, "extends": "batch", "samples": found})
    return 0


def _find_folder(directory: str | None, name: str) -> str | None:
    """Return the new profile's folder if a command does not find it by its name."""
    from os import path

    from osprofile.profile.repository import iter_search_path
    from osprofile.profile.skeleton import find_folder

    return None if directory is None else find_folder(path.expanduser(directory), name, iter_search_path())


def _write(directory: str | None, name: str, document: str) -> str | None:
    """Write the document, if a directory is given, and return its path."""
    from os import path

    from osprofile.profile.skeleton import write_skeleton

    if directory is None:
        return None
    try:
        return write_skeleton(path.expanduser(directory), name, document)
    except FileExistsError as error:
        raise _file_exists(error.filename) from None


def _check_target(name: str, directory: str | None) -> None:
    """Raise an error, before anything is asked, for a name that is not allowed or a file that exists."""
    from os import path

    from osprofile.profile.skeleton import check_name

    check_name(name)
    file = None if directory is None else path.join(path.expanduser(directory), name, "profile.xml")
    if file is not None and path.lexists(file):
        raise _file_exists(file)


def _file_exists(file: str) -> common.UsageError:
    hint = "it was not changed: choose another name or directory"
    return common.UsageError(f"{file} exists", hint=hint)


def _print(document: str, file: str | None, json: bool, result: dict[str, object]) -> None:
    if json:
        common.print_json({**result, "file": file, "text": document})
    else:
        common.print_result(document if file is None else file)
