"""`incarnate schema`: the schemas of profiles, for editors."""

from typing import Annotated

from osprofile.cli import common
from osprofile.cli.options import Argument, JsonOption, Option


def schema(
    *,
    name: Annotated[
        str | None,
        Argument("Print this file, as in osprofile.xsd or catalog.xml.", "[NAME]", "schemas"),
    ] = None,
    directory: Annotated[
        str | None,
        Option(("--directory", "-o"), "Copy the schemas and the catalog to this directory.", "DIR"),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Tell where the schemas are, and what makes VS Code and Emacs use them.

    Examples:
      incarnate schema
      incarnate schema --directory ~/.config/osprofile/schemas
      incarnate schema osprofile.xsd > osprofile.xsd
    """
    from os import path

    from osprofile.profile import data, editors

    if name is not None and (directory is not None or json):
        raise common.UsageError("a NAME prints one file: leave --directory and --json out")
    if name is not None:
        common.put(editors.content(name).decode())
        return 0
    if directory is not None:
        try:
            written = editors.copy(path.expanduser(directory))
        except FileExistsError as error:
            raise common.UsageError(f"{error.filename}: {error.strerror}") from None
        common.tell(f"{len(written)} file{'' if len(written) == 1 else 's'} written")
    where = path.abspath(path.expanduser(directory or data.schemas_directory()))
    catalog = path.join(where, editors.CATALOG)
    if json:
        schemas = {path.join(where, n): namespace for n, namespace in editors.SCHEMAS.items()}
        lines = {"vs_code": editors.vs_code(catalog), "emacs": editors.emacs(catalog)}
        common.put_json({"catalog": catalog, "schemas": schemas, **lines})
        return 0
    common.put(
        "".join(f"{path.join(where, n)}  {known}\n" for n, known in editors.SCHEMAS.items())
        + f"{catalog}\n\n"
        f"VS Code, with the extension XML by Red Hat, in settings.json:\n\n{editors.vs_code(catalog)}\n\n"
        f"Emacs, with the package lsp-mode, in its init file:\n\n{editors.emacs(catalog)}"
    )
    return 0
