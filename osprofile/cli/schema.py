"""`incarnate schema`: the XML schemas of profiles, for editors."""

from typing import Annotated

from osprofile.cli import common
from osprofile.cli.options import Argument, JsonOption, Option
from osprofile.text import pluralize


def schema(
    *,
    name: Annotated[
        str | None, Argument("Print this file, as in osprofile.xsd or catalog.xml.", "[NAME]", "schemas")
    ] = None,
    directory: Annotated[
        str | None,
        Option(("--directory", "-o"), "Copy the schemas and the catalog to this directory.", "DIR"),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Show where the XML schemas are, and how editors use them.

    Examples:
      incarnate schema
      incarnate schema --directory ~/.config/osprofile/schemas
      incarnate schema osprofile.xsd > osprofile.xsd
    """
    from os import path

    from osprofile.profile import data_directories, editors

    if name is not None and (directory is not None or json):
        raise common.UsageError("NAME cannot be used with --directory or --json")
    if name is not None:
        common.print_result(editors.read_schema_file(name).decode())
        return 0
    if directory is not None:
        try:
            written = editors.copy_schema_files(path.expanduser(directory))
        except FileExistsError as error:
            raise common.UsageError(f"{error.filename}: {error.strerror}") from None
        common.print_message(f"{pluralize(len(written), 'file')} written")
    where = path.abspath(path.expanduser(directory or data_directories.get_schemas_directory()))
    catalog = path.join(where, editors.CATALOG_NAME)
    if json:
        schemas = {path.join(where, n): namespace for n, namespace in editors.SCHEMA_NAMESPACES.items()}
        lines = {
            "vs_code": editors.format_vs_code_settings(catalog),
            "emacs": editors.format_emacs_settings(catalog),
        }
        common.print_json({"catalog": catalog, "schemas": schemas, **lines})
        return 0
    common.print_result(
        "".join(f"{path.join(where, n)}  {namespace}\n" for n, namespace in editors.SCHEMA_NAMESPACES.items())
        + f"{catalog}\n\n"
        f"VS Code, with the extension XML by Red Hat, in settings.json:\n\n{editors.format_vs_code_settings(catalog)}\n\n"
        f"Emacs, with the package lsp-mode, in its init file:\n\n{editors.format_emacs_settings(catalog)}"
    )
    return 0
