"""The schemas for editors: the XSDs, a catalog, and the lines that make an editor use them."""

from __future__ import annotations

import json
import os
from os import path
from typing import TYPE_CHECKING, Final

from osprofile.errors import NotFoundError, nearest, shown
from osprofile.profile.data import schemas_directory
from osprofile.profile.model import EXTENSION, IDB, JSDL, OSP

if TYPE_CHECKING:
    from collections.abc import Mapping

CATALOG: Final = "catalog.xml"
"""An XML catalog (OASIS XML Catalogs 1.1): it finds each schema by its namespace."""

SCHEMAS: Final[Mapping[str, str]] = {
    "osprofile.xsd": OSP,
    "idb.xsd": IDB,
    "jsdl.xsd": JSDL,
    "extension.xsd": EXTENSION,
}
"""The files of the schemas, each with its namespace."""


def files() -> list[str]:
    """Give the names of all files."""
    return [*SCHEMAS, CATALOG]


def content(name: str) -> bytes:
    """Give the bytes of one of the files; raise `NotFoundError`."""
    if name not in files():
        raise NotFoundError(f"there is no schema {shown(name)}", hint=nearest(name, files()))
    with open(path.join(schemas_directory(), name), "rb") as file:
        return file.read()


def copy(directory: str) -> list[str]:
    """Write all files to a directory, which is made; give the paths of those that are new.

    A file that is there already is left alone if it is the same. Raises `FileExistsError` before
    anything is written if it is another, `OSError` where nothing can be written.
    """
    wanted = {path.join(directory, name): content(name) for name in files()}
    missing = [file for file in wanted if not path.lexists(file)]
    for file in wanted.keys() - {*missing}:
        with open(file, "rb") as found:
            if found.read() != wanted[file]:
                raise FileExistsError(
                    17, "another file is there: remove it, or choose another directory", file
                )
    os.makedirs(directory, exist_ok=True)
    for file in missing:
        with open(file, "xb") as new:
            new.write(wanted[file])
    return missing


def vs_code(catalog: str) -> str:
    """Give the three lines for VS Code's `settings.json`; `catalog` is an absolute path.

    The extension XML of Red Hat reads them.
    """
    return (
        f'"xml.catalogs": [{json.dumps(catalog)}],\n'
        '"xml.validation.enabled": true,\n'
        '"xml.validation.schema.enabled": "always",'
    )


def emacs(catalog: str) -> str:
    """Give the three lines for Emacs's init file; `catalog` is an absolute path.

    The package lsp-mode starts the same language server; nXML alone knows no XSD.
    """
    quoted = catalog.replace("\\", "\\\\").replace('"', '\\"')
    return (
        "(require 'lsp-mode)\n"
        f'(setq lsp-xml-catalogs ["{quoted}"])\n'
        "(add-hook 'nxml-mode-hook #'lsp-deferred)"
    )
