"""What an editor needs to check profiles: the schemas and the catalog, and its settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from osprofile.profile.model import EXTENSION_NAMESPACE, IDB_NAMESPACE, JSDL_NAMESPACE, PROFILE_NAMESPACE

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
