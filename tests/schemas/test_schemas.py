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


@pytest.mark.parametrize("name", ["extension.xsd", "idb.xsd", "jsdl.xsd", "osprofile.xsd"])
def test_each_compiles_from_any_directory(name: str, schemas: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(schemas, tmp_path / "a b#%20é")
    etree.XMLSchema(file=copy / name)
    assert xmlschema.XMLSchema10((copy / name).as_uri()).built


@pytest.mark.parametrize("where", DECLARATIONS)
def test_it_is_documented_with_its_section_and_its_default(where: str) -> None:
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
    for example in re.findall(r'Example: ([\w:]+=".*?")', text):
        assert etree.fromstring(f"<x {BINDINGS} {example}/>") is not None


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
