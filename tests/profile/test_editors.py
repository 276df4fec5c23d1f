"""The schemas for editors: the catalog names each schema, and the lines are what editors read."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from osprofile.errors import NotFoundError
from osprofile.profile import editors
from osprofile.profile.data_directories import get_schemas_directory

NAMESPACE = "{urn:oasis:names:tc:entity:xmlns:xml:catalog}"


def test_the_catalog_names_every_schema_by_its_namespace() -> None:
    from lxml import etree

    entries = etree.fromstring(editors.read_schema_file(editors.CATALOG_NAME))
    assert entries.tag == f"{NAMESPACE}catalog"
    found = {e.get("uri"): e.get("name") for e in entries.iter(f"{NAMESPACE}uri")}
    assert found == editors.SCHEMA_NAMESPACES
    assert {p.name for p in Path(get_schemas_directory()).iterdir()} == set(editors.list_schema_files())
    for file, namespace in editors.SCHEMA_NAMESPACES.items():
        assert etree.fromstring(editors.read_schema_file(file)).get("targetNamespace") == namespace


PROBE = """
import sys
from lxml import etree
parser = etree.XMLParser(no_network=True)
for namespace in sys.argv[1:]:
    assert etree.parse(namespace, parser).getroot().get("targetNamespace") == namespace
"""


def test_a_real_reader_of_catalogs_finds_the_schemas(tmp_path: Path) -> None:
    """libxml2 loads each schema by its namespace, from copies, with no network."""
    editors.copy_schema_files(str(tmp_path / "a b"))
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


@pytest.mark.parametrize("name", editors.list_schema_files())
def test_content(name: str) -> None:
    assert editors.read_schema_file(name) == Path(get_schemas_directory(), name).read_bytes()


@pytest.mark.parametrize("name", ["", "nope.xsd", "../schemas/idb.xsd", "/etc/passwd", "idb"])
def test_no_other_file(name: str) -> None:
    with pytest.raises(NotFoundError) as error:
        editors.read_schema_file(name)
    assert error.value.message == f"there is no schema {name!r}"


def test_copy(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b"
    assert len(editors.copy_schema_files(str(target))) == 5
    assert editors.copy_schema_files(str(target)) == []
    (target / "idb.xsd").unlink()
    assert editors.copy_schema_files(str(target)) == [str(target / "idb.xsd")]


def test_copy_changes_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "jsdl.xsd").write_text("mine")
    with pytest.raises(FileExistsError) as error:
        editors.copy_schema_files(str(tmp_path))
    assert error.value.filename == str(tmp_path / "jsdl.xsd")
    assert [p.name for p in tmp_path.iterdir()] == ["jsdl.xsd"]
    assert (tmp_path / "jsdl.xsd").read_text() == "mine"


@pytest.mark.parametrize("name", ["/x/catalog.xml", '/a "b"/c\\d/é.xml'])
def test_the_lines(name: str) -> None:
    lines = editors.format_vs_code_settings(name)
    assert json.loads("{" + lines.removesuffix(",") + "}")["xml.catalogs"] == [name]
    assert len(lines.splitlines()) == 3
    lisp = editors.format_emacs_settings(name).splitlines()
    assert len(lisp) == 3
    quoted = lisp[1].removeprefix("(setq lsp-xml-catalogs [").removesuffix("])")
    assert ast.literal_eval(quoted) == name
