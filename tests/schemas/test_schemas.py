"""The schemas themselves: they compile anywhere, and an editor can explain every part of them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import xmlschema
from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMAS = sorted((Path(__file__).parents[2] / "schemas").glob("*.xsd"))
XS = "{http://www.w3.org/2001/XMLSchema}"
DECLARED = [f"{XS}{kind}" for kind in ("element", "attribute", "complexType", "simpleType")]
BINDINGS = (
    'xmlns:idb="http://gpe.intel.com/idb" xmlns:osp="http://gpe.intel.com/osprs/profile" '
    'xmlns:ext="urn:osprofile:extension"'
)


def documentation(declaration: etree._Element) -> str:
    """Return what an editor shows for a declaration, the blanks of its layout apart."""
    text = declaration.findtext(f"{XS}annotation/{XS}documentation", "")
    return " ".join(text.split())


def declarations() -> list[tuple[str, etree._Element]]:
    """Return all that the schemas declare, with a path to tell it by; references are not among it."""
    found = []
    for schema in SCHEMAS:
        for node in etree.parse(schema).iter(*DECLARED, f"{XS}enumeration"):
            steps = [*reversed([*node.iterancestors()]), node]
            names = [step.get("name") or step.get("value") for step in steps]
            if names[-1] is not None:
                kind = etree.QName(node).localname
                found.append((f"{schema.stem}:{kind}:{'/'.join(filter(None, names))}", node))
    return found


DECLARATIONS = dict(declarations())


def test_the_schemas_are_these_four() -> None:
    assert [schema.stem for schema in SCHEMAS] == ["extension", "idb", "jsdl", "osprofile"]
    assert len(DECLARATIONS) > 50


@pytest.mark.parametrize("name", [schema.name for schema in SCHEMAS])
def test_each_compiles_from_any_directory(name: str, schemas: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(schemas, tmp_path / "a b#%20é")
    etree.XMLSchema(file=copy / name)
    assert xmlschema.XMLSchema10((copy / name).as_uri()).built


def test_imports_are_siblings(schemas: Path) -> None:
    for schema in SCHEMAS:
        for imported in etree.parse(schema).iter(f"{XS}import"):
            assert (schemas / imported.attrib["schemaLocation"]).parent == schemas
            assert (schemas / imported.attrib["schemaLocation"]).is_file()


@pytest.mark.parametrize("where", DECLARATIONS)
def test_what_the_documentation_has(where: str) -> None:
    """A sentence, the section of OS Profile, and the default of what may be absent."""
    declaration = DECLARATIONS[where]
    text = documentation(declaration)
    assert len(text) >= len("Any text.")
    assert text.endswith((".", ">", '"', ")")) or "Example:" in text
    assert where.startswith("extension:") or re.search(r"OS Profile 0\.3, \d", text)
    optional = declaration.get("minOccurs") == "0" and "maxOccurs" not in declaration.attrib
    if optional or declaration.get("use") == "optional" or where.startswith("extension:attribute"):
        assert "Default: " in text
    if (default := declaration.get("default")) is not None:
        assert f"Default: {default}." in text


def test_examples_in_the_documentation_are_valid(engine: Callable[[str], list[str]]) -> None:
    shown = 0
    for declaration in DECLARATIONS.values():
        text = declaration.findtext(f"{XS}annotation/{XS}documentation", "")
        for name, rest in re.findall(r"\n\n\s+<(?:osp|idb):(Profile|Template)(.*)\Z", text, re.DOTALL):
            prefix = "osp" if name == "Profile" else "idb"
            bound = rest if "xmlns:" in rest else f" {BINDINGS}{rest}"
            assert engine(f"<{prefix}:{name}{bound}".strip()) == []
            shown += 1
    assert shown == len(["Profile", "Template"])


ATTRIBUTE_EXAMPLES = [
    example
    for declaration in DECLARATIONS.values()
    for example in re.findall(r'Example: ([\w:]+=".*?")', documentation(declaration))
]


@pytest.mark.parametrize("example", ATTRIBUTE_EXAMPLES)
def test_examples_of_attributes_are_well_formed(example: str) -> None:
    assert etree.fromstring(f"<x {BINDINGS} {example}/>") is not None
