"""`incarnate new`: writes a profile for a site to start from."""

from typing import Annotated

from osprofile.cli import common
from osprofile.cli.options import Argument, JsonOption, Option, ProfilesOption


def new(
    *,
    name: Annotated[str, Argument("The new profile's name.", "NAME")],
    extends: Annotated[
        str, Option(("--extends", "-e"), "The profile that it inherits from.", "NAME", "profiles")
    ],
    directory: Annotated[
        str | None,
        Option(
            ("--directory", "-o"), "Write DIR/NAME/profile.xml, unless it exists [default: stdout].", "DIR"
        ),
    ] = None,
    profiles: ProfilesOption = [],
    json: JsonOption = False,
) -> int:
    """Write a profile to start from: it inherits everything, and shows what it may change.

    Examples:
      incarnate new mysite --extends slurm --directory ~/.config/osprofile/profiles
      incarnate new pbs --extends pbs > profile.xml
    """
    from os import path

    from osprofile.profile.repository import iter_search_path
    from osprofile.profile.skeleton import find_folder, render_skeleton, write_skeleton

    parent = common.open_repository(profiles).load(extends)
    folder = file = None
    if directory is not None:
        directory = path.expanduser(directory)
        folder = find_folder(directory, name, iter_search_path())
    document = render_skeleton(name, parent, folder)
    if directory is not None:
        try:
            file = write_skeleton(directory, name, document)
        except FileExistsError as error:
            hint = "it was not changed: choose another name or directory"
            raise common.UsageError(f"{error.filename} exists", hint=hint) from None
    if json:
        common.print_json({"name": name, "extends": extends, "file": file, "text": document})
    else:
        common.print_result(document if file is None else file)
    return 0
