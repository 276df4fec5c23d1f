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
    from osprofile.cli import new_profile

    if batch_system:
        return new_profile.describe_batch_system(name, facts, directory, json=json)
    if extends is None:
        raise common.UsageError("no parent is given", hint="use --extends NAME, or --batch-system")
    is_target = host is not None or workspace is not None
    common.check_option("--host or --workspace", is_target, needed_by={"--try": try_job})
    repository = common.open_repository(profiles)
    parent = repository.load(extends)
    if not (is_target or from_queues):
        return new_profile.write_site(name, parent, extends, directory, json=json)
    return new_profile.write_target(
        name, repository, extends, (host, workspace), directory,
        from_queues=from_queues, is_tried=is_target, with_job=try_job, json=json,
    )  # fmt: skip
