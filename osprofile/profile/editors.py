"""Provide the schemas for editors: the XSDs, a catalog, and the settings that an editor needs."""

from __future__ import annotations

import errno
import json
import os
from os import path
from typing import TYPE_CHECKING, Final

from osprofile.errors import NotFoundError
from osprofile.profile.data_directories import get_schemas_directory
from osprofile.profile.model import EXTENSION_NAMESPACE, IDB_NAMESPACE, JSDL_NAMESPACE, PROFILE_NAMESPACE
from osprofile.text import quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Mapping

CATALOG_NAME: Final = "catalog.xml"
"""An XML catalog (OASIS XML Catalogs 1.1), which maps each namespace to its schema."""

SCHEMA_NAMESPACES: Final[Mapping[str, str]] = {
    "osprofile.xsd": PROFILE_NAMESPACE,
    "idb.xsd": IDB_NAMESPACE,
    "jsdl.xsd": JSDL_NAMESPACE,
    "extension.xsd": EXTENSION_NAMESPACE,
}
"""The files of the schemas and their namespaces."""


def list_schema_files() -> list[str]:
    """Return the names of the schemas and of the catalog."""
    return [*SCHEMA_NAMESPACES, CATALOG_NAME]


def read_schema_file(name: str) -> bytes:
    """Return the content of a schema or of the catalog. Raises `NotFoundError` for another name."""
    if name not in list_schema_files():
        raise NotFoundError(
            f"there is no schema {quote_value(name)}", hint=suggest_names(name, list_schema_files())
        )
    with open(path.join(get_schemas_directory(), name), "rb") as file:
        return file.read()


def copy_schema_files(directory: str) -> list[str]:
    """Write the schemas and the catalog to a directory; return the paths of the new files.

    The directory is created if it is missing. Files with the same content are kept. Raises
    `FileExistsError` for a file with different content, before anything is written, and `OSError`.
    """
    contents = {path.join(directory, name): read_schema_file(name) for name in list_schema_files()}
    missing = [file for file in contents if not path.lexists(file)]
    for file in contents.keys() - {*missing}:
        with open(file, "rb") as existing_file:
            if existing_file.read() != contents[file]:
                raise FileExistsError(
                    errno.EEXIST, "a different file exists: remove it, or choose another directory", file
                )
    os.makedirs(directory, exist_ok=True)
    for file in missing:
        with open(file, "xb") as new_file:
            new_file.write(contents[file])
    return missing


def format_vs_code_settings(catalog: str) -> str:
    """Return the three lines for VS Code's `settings.json`; `catalog` is an absolute path.

    Red Hat's XML extension reads them.
    """
    return (
        f'"xml.catalogs": [{json.dumps(catalog)}],\n'
        '"xml.validation.enabled": true,\n'
        '"xml.validation.schema.enabled": "always",'
    )


def format_emacs_settings(catalog: str) -> str:
    """Return the three lines for Emacs's init file; `catalog` is an absolute path.

    The package lsp-mode starts the same language server; nXML itself does not support XSD.
    """
    quoted = catalog.replace("\\", "\\\\").replace('"', '\\"')
    return (
        "(require 'lsp-mode)\n"
        f'(setq lsp-xml-catalogs ["{quoted}"])\n'
        "(add-hook 'nxml-mode-hook #'lsp-deferred)"
    )
