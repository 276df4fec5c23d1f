"""`incarnate new`: writes a profile for a site to start from."""

from typing import Annotated, Any

from osprofile.cli import common
from osprofile.cli.options import Argument, JsonOption, Option, OptionGroup, Parameter, ProfilesOption


def _list_batch_system_options() -> list[Parameter]:
    from osprofile.cli.batch_system import list_options

    return list_options()


BatchSystemOptions = Annotated[dict[str, Any], OptionGroup(_list_batch_system_options, dict)]


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
    host: Annotated[
        str | None,
        Option(
            ("--host",),
            "The machine on which it runs scripts, by ssh; a name of ssh's configuration, too.",
            "[USER@]HOST[:PORT]",
        ),
    ] = None,
    workspace: Annotated[
        str | None,
        Option(("--workspace",), "The directory below which jobs work; all nodes must see it.", "DIR"),
    ] = None,
    try_job: Annotated[
        bool,
        Option(("--try",), "Submit a job that shows whether a node sees the workspace, and wait for it."),
    ] = False,
    from_queues: Annotated[
        bool,
        Option(
            ("--from-queues",),
            "List the queues that the batch system has now, with the limits that it reports.",
        ),
    ] = False,
    batch_system: Annotated[
        bool,
        Option(
            ("--batch-system",),
            "Write a profile of a new batch system, from the options that follow. "
            "On a terminal, the command asks for those that are missing.",
        ),
    ] = False,
    facts: BatchSystemOptions,
    json: JsonOption = False,
) -> int:
    """Write a profile to start from, which shows what it may change.

    With --extends, it inherits everything from another profile. With --host or --workspace, it is for your
    account on a cluster, is written to ~/.config/osprofile/profiles, and is tried at once. With --batch-system, it describes a
    batch system that osprofile does not know.

    Examples:
      incarnate new mycluster -e slurm --host me@login --workspace /scratch/me
      incarnate new mysite --extends slurm -o ~/.config/osprofile/profiles
      incarnate new mysite -e slurm --from-queues > profile.xml
      incarnate new pbs --extends pbs > profile.xml
      incarnate new mybatch --batch-system -o ~/.config/osprofile/profiles
    """
    common.check_option(
        "--batch-system",
        batch_system,
        excludes={
            "--extends": extends,
            "--host": host,
            "--workspace": workspace,
            "--from-queues": from_queues,
        },
        needed_by={"an option about a batch system": any(facts.values())},
    )
    if batch_system:
        return _new_batch_system(name, facts, directory=directory, json=json)
    if extends is None:
        raise common.UsageError("no parent is given", hint="use --extends NAME, or --batch-system")
    is_target = host is not None or workspace is not None
    common.check_option("--host or --workspace", is_target, needed_by={"--try": try_job})
    if not (is_target or from_queues):
        return _new_site(name, extends, directory, profiles, json)
    return _new_target(
        name, extends, (host, workspace), directory, profiles,
        from_queues=from_queues, is_tried=is_target, with_job=try_job, json=json,
    )  # fmt: skip


def _new_target(
    name: str,
    extends: str,
    place: tuple[str | None, str | None],
    directory: str | None,
    profiles: list[str],
    *,
    from_queues: bool,
    is_tried: bool,
    with_job: bool,
    json: bool,
) -> int:
    """Write a profile for a host and a workspace, and try it; with `from_queues`, it lists the queues that there are."""
    from osprofile.cli import new_target

    repository = common.open_repository(profiles)
    parent = repository.load(extends)
    document = new_target.render_profile(name, parent, *place)
    if from_queues:
        queues = new_target.list_queues(repository.load_bytes(document.encode(), f"{name}.xml"))
        document = new_target.render_profile(name, parent, *place, queues)
    file = _write(directory or (new_target.get_directory() if is_tried else None), name, document)
    if is_tried and file is not None and not new_target.try_profile(file, with_job=with_job):
        return 1
    if place[1] is None:
        message = f"jobs work below {parent.uspace_root}, which all nodes must see: else give --workspace DIR"
        common.print_message(message)
    _print(document, file, json, {"name": name, "extends": extends})
    return 0


def _new_site(name: str, extends: str, directory: str | None, profiles: list[str], json: bool) -> int:
    """Write a profile that inherits everything."""
    from osprofile.authoring.skeleton import render_skeleton

    parent = common.open_repository(profiles).load(extends)
    document = render_skeleton(name, parent, _find_folder(directory, name))
    file = _write(directory, name, document)
    _print(document, file, json, {"name": name, "extends": extends})
    return 0


def _new_batch_system(name: str, options: dict[str, Any], *, directory: str | None, json: bool) -> int:
    """Write a profile of a batch system, and print what is read from samples of its output."""
    from osprofile.authoring.batch_system import render_batch_system
    from osprofile.cli import batch_system as facts

    _check_target(name, directory)
    given = {name: options[name] for name in facts.FACTS if name != "cancel"}
    system = facts.collect_facts(given, options["cancel"])
    try:
        document = render_batch_system(name, system, _find_folder(directory, name))
    except ValueError as error:
        raise common.UsageError(str(error)) from None
    sample_files = {name: options[name] for name in facts.SAMPLES}
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

    from osprofile.authoring.skeleton import find_folder
    from osprofile.profile.repository import iter_search_path

    return None if directory is None else find_folder(path.expanduser(directory), name, iter_search_path())


def _write(directory: str | None, name: str, document: str) -> str | None:
    """Write the document, if a directory is given, and return its path."""
    from os import path

    from osprofile.authoring.skeleton import write_skeleton

    if directory is None:
        return None
    try:
        return write_skeleton(path.expanduser(directory), name, document)
    except FileExistsError as error:
        raise _file_exists(error.filename) from None


def _check_target(name: str, directory: str | None) -> None:
    """Raise an error, before anything is asked, for a name that is not allowed or a file that exists."""
    from os import path

    from osprofile.authoring.skeleton import check_name

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
