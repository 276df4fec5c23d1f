"""The schemas for editors: the catalog names each schema, and the lines are what editors read."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from osprofile.authoring import editors
from osprofile.profile.data_directories import get_schemas_directory

SCHEMAS = Path(get_schemas_directory())
NAMESPACE = "{urn:oasis:names:tc:entity:xmlns:xml:catalog}"


def test_the_catalog_names_every_schema_by_its_namespace() -> None:
    from lxml import etree

    entries = etree.fromstring(SCHEMAS.joinpath(editors.CATALOG_NAME).read_bytes())
    assert entries.tag == f"{NAMESPACE}catalog"
    found = {e.get("uri"): e.get("name") for e in entries.iter(f"{NAMESPACE}uri")}
    assert found == editors.SCHEMA_NAMESPACES
    assert {p.name for p in SCHEMAS.iterdir()} == {*editors.SCHEMA_NAMESPACES, editors.CATALOG_NAME}
    for file, namespace in editors.SCHEMA_NAMESPACES.items():
        assert etree.fromstring(SCHEMAS.joinpath(file).read_bytes()).get("targetNamespace") == namespace


PROBE = """
import sys
from lxml import etree
parser = etree.XMLParser(no_network=True)
for namespace in sys.argv[1:]:
    assert etree.parse(namespace, parser).getroot().get("targetNamespace") == namespace
"""


def test_a_real_reader_of_catalogs_finds_the_schemas(tmp_path: Path) -> None:
    """libxml2 loads each schema by its namespace, from copies, with no network."""
    shutil.copytree(SCHEMAS, tmp_path / "a b")
    catalog = (tmp_path / "a b" / editors.CATALOG_NAME).as_uri()
    ended = subprocess.run(
        [sys.executable, "-c", PROBE, *editors.SCHEMA_NAMESPACES.values()],
        env=os.environ | {"XML_CATALOG_FILES": catalog},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stderr == ""
    assert ended.returncode == 0


@pytest.mark.parametrize("name", ["/x/catalog.xml", '/a "b"/c\\d/é.xml'])
def test_the_lines(name: str) -> None:
    lines = editors.format_vs_code_settings(name)
    assert json.loads("{" + lines.removesuffix(",") + "}")["xml.catalogs"] == [name]
    assert len(lines.splitlines()) == 3
    lisp = editors.format_emacs_settings(name).splitlines()
    assert len(lisp) == 3
    quoted = lisp[1].removeprefix("(setq lsp-xml-catalogs [").removesuffix("])")
    assert ast.literal_eval(quoted) == name
