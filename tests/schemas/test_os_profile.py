"""The schemas are those of OS Profile 0.3, completed: nothing of it is lost.

The fragments and the examples stand here as that document prints them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from tests.hunting import rounds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Engine = Callable[[str], list[str]]

XS = "http://www.w3.org/2001/XMLSchema"
OSP = "http://gpe.intel.com/osprs/profile"
IDB = "http://gpe.intel.com/idb"
JSDL = "http://schemas.ggf.org/jsdl/2005/06/jsdl"
EXT = "urn:osprofile:extension"

PROFILE_TYPES = """
<complexType name="ProfileType">
  <sequence>
    <element name="UspaceRoot" type="string"/>
    <element name="Delimiter" type="string"/>
    <element name="Template" type="idb:TemplateType" minOccurs="0" maxOccurs="unbounded"/>
    <element name="Storage" type="tns:StorageTemplateType" minOccurs="0" maxOccurs="unbounded"/>
    <element name="Application" type="tns:ApplicationType" minOccurs="0" maxOccurs="unbounded"/>
  </sequence>
  <attribute name="name" type="string" use="required"/>
  <attribute name="extends" type="string" use="optional"/>
</complexType>

<complexType name="StorageTemplateType">
  <sequence/>
  <attribute name="name" type="string" use="required"/>
  <attribute name="template" type="string" use="required"/>
</complexType>

<complexType name="ApplicationType">
  <sequence>
    <element name="ApplicationName" type="string"/>
    <element name="ApplicationVersion" type="string"/>
    <element name="Description" type="string" minOccurs="0"/>
  </sequence>
  <attribute name="name" type="string" use="required"/>
  <attribute name="template" type="string" use="required"/>
</complexType>
"""

TEMPLATE_TYPES = """
<complexType name="InvocationType">
  <sequence>
    <element name="Description" minOccurs="0" type="string"/>
    <choice>
      <element name="Body" type="string"/>
      <element name="StaticScript" type="idb:StaticScriptType"/>
    </choice>
  </sequence>
  <attribute name="name" type="string" use="optional"/>
</complexType>

<complexType name="StaticScriptType">
  <simpleContent>
    <extension base="string">
      <attribute name="fileName" type="string" use="required"/>
      <attribute name="arguments" type="string" use="required"/>
    </extension>
  </simpleContent>
</complexType>

<complexType name="TagType">
  <simpleContent>
    <extension base="string">
      <attribute name="name" type="string" use="required"/>
    </extension>
  </simpleContent>
</complexType>

<complexType name="FieldType">
  <sequence>
    <element name="Description" minOccurs="0" type="string"/>
    <element name="Min" minOccurs="0" type="double"/>
    <element name="Max" minOccurs="0" type="double"/>
    <element name="Tag" minOccurs="0" maxOccurs="unbounded" type="idb:TagType"/>
    <element name="Default" minOccurs="0" type="string"/>
    <element name="Value" minOccurs="0" type="string"/>
  </sequence>
  <attribute name="name" type="string" use="required"/>
  <attribute name="isSettable" type="boolean"
                 use="optional" default="true"/>
</complexType>

<complexType name="TemplateType">
  <sequence>
    <element name="Description" type="string" minOccurs="0"/>
    <element name="Invocation" type="idb:InvocationType" minOccurs="0" maxOccurs="unbounded"/>
    <element name="Field" type="idb:FieldType" minOccurs="0" maxOccurs="unbounded"/>
  </sequence>
  <attribute name="name" type="string" use="optional"/>
</complexType>
"""

MY_LINUX = """
<osp:Profile
    xmlns:osp="http://gpe.intel.com/osprs/profile"
    name="my-linux"
    extends="linux">
 
  <osp:UspaceRoot>/var/tmp/gpe/uspaces</osp:UspaceRoot>
 
  <osp:Delimiter>/</osp:Delimiter>
 
</osp:Profile>
"""  # noqa: W293  as printed

HELLO = """
<idb:Template name="Hello">
  <idb:Description>Sample Hello script template</idb:Description>
  <idb:Invocation name=""><idb:Body><![CDATA[echo <TEXT>]]></idb:Body></idb:Invocation>
  <idb:Field name="TEXT">
    <idb:Value>Hello</idb:Value>
  </idb:Field>
</idb:Template>
"""

# One document with every element and attribute of OS Profile 0.3, and one with ours besides.
WHOLE = f"""
<osp:Profile xmlns:osp="{OSP}" xmlns:idb="{IDB}" xmlns:jsdl="{JSDL}" xmlns:ext="{EXT}"
             name="whole" extends="linux">
  <osp:UspaceRoot>/</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <osp:Template name="T">
    <idb:Description>d</idb:Description>
    <idb:Invocation name="A"><idb:Description>d</idb:Description><idb:Body>b</idb:Body>
    </idb:Invocation>
    <idb:Invocation><idb:StaticScript fileName="f" arguments="">s</idb:StaticScript>
    </idb:Invocation>
    <idb:Field name="F" isSettable="false">
      <idb:Description>d</idb:Description><idb:Min>1</idb:Min><idb:Max>2</idb:Max>
      <idb:Tag name="t">1</idb:Tag><idb:Default>1</idb:Default><idb:Value>1</idb:Value>
    </idb:Field>
    <idb:Field name="G"/>
  </osp:Template>
  <osp:Storage name="S" template="T"/>
  <osp:Application name="A" template="T">
    <osp:ApplicationName>a</osp:ApplicationName>
    <osp:ApplicationVersion>1</osp:ApplicationVersion>
    <osp:Description>d</osp:Description>
  </osp:Application>
</osp:Profile>
"""
EXTENDED = (
    WHOLE.replace("osp:Template", "idb:Template")
    .replace("osp:ApplicationName", "jsdl:ApplicationName")
    .replace("osp:Description", "jsdl:Description")
    .replace('name="G"', 'name="G" ext:type="text" ext:pattern=".*"')
    .replace('fileName="f"', 'fileName="f" ext:src="s.sh"')
    .replace("<idb:Value>", '<idb:Value ext:src="v">')
    .replace("<idb:Body>", '<idb:Body ext:src="scripts/b.sh">')
)
EXAMPLES = {
    "my-linux": MY_LINUX,
    "Hello in my-linux": MY_LINUX.replace("</osp:Profile>", f"{HELLO}</osp:Profile>").replace(
        "<osp:Profile", f'<osp:Profile xmlns:idb="{IDB}"'
    ),
    "Hello alone": HELLO.replace("<idb:Template", f'<idb:Template xmlns:idb="{IDB}"'),
    "all of OS Profile 0.3": WHOLE,
    "all of ours": EXTENDED,
}


@pytest.mark.parametrize("document", EXAMPLES.values(), ids=EXAMPLES)
def test_the_examples_are_valid(document: str, engine: Engine) -> None:
    assert engine(document) == []


# -- the fragments ----------------------------------------------------------------------------


def make_schema(types: str, namespace: str, more: str = "") -> str:
    """Return a schema of the fragments of OS Profile 0.3 that can be compiled."""
    return (
        f'<schema xmlns="{XS}" xmlns:idb="{IDB}" xmlns:tns="{OSP}" targetNamespace="{namespace}" '
        f'elementFormDefault="qualified">{more}{types}</schema>'
    )


ORIGINAL_IDB = make_schema(TEMPLATE_TYPES, IDB)
ORIGINAL_OSP = make_schema(
    PROFILE_TYPES,
    OSP,
    f'<import namespace="{IDB}" schemaLocation="idb.xsd"/><element name="Profile" type="tns:ProfileType"/>',
)


def described(node: etree._Element, occurs: tuple[str, str] = ("1", "1")) -> tuple[object, ...]:
    """Describe a part of a type so that equal descriptions mean the same to a document's author.

    A choice between elements of one local name is described as that element: it only adds a
    namespace. Documentation, and attributes of ours, are left out.
    """
    kind = etree.QName(node).localname
    least, most = node.get("minOccurs", occurs[0]), node.get("maxOccurs", occurs[1])
    children = [child for child in node if not str(child.tag).endswith("}annotation")]
    if kind == "choice" and len({local_name(child) for child in children}) == 1:
        return described(children[0], (least, most))
    parts = [described(child) for child in children if not child.get("ref", "").startswith("ext:")]
    facts = sorted((name, node.get(name, "")) for name in ("use", "default"))
    types = [expanded(node, name) for name in ("type", "base")]
    return (kind, local_name(node), *types, least, most, *facts, *parts)


def local_name(node: etree._Element) -> str:
    return (node.get("name") or node.get("ref") or "").rpartition(":")[2]


def expanded(node: etree._Element, name: str) -> str:
    """Return the type that an attribute names, its prefix replaced by the namespace.

    TextType is a string with an attribute of ours.
    """
    prefix, _, local = node.get(name, "").rpartition(":")
    if local == "TextType":
        return f"{{{XS}}}string"
    return f"{{{node.nsmap[prefix or None]}}}{local}" if local else ""


FRAGMENTS = {
    (stem, fragment.attrib["name"]): described(fragment)
    for stem, text in (("idb", ORIGINAL_IDB), ("osprofile", ORIGINAL_OSP))
    for fragment in etree.fromstring(text).iter(f"{{{XS}}}complexType")
}


def tighten(our_type: etree._Element) -> etree._Element:
    """Require again what only an element with ext:absent may lack: the reader requires it in all others."""
    for attribute in our_type.findall(f"{{{XS}}}attribute[@name='template']"):
        attribute.set("use", "required")
    for sequence in our_type.findall(f"{{{XS}}}sequence/{{{XS}}}sequence[@minOccurs='0']"):
        for child in reversed(sequence):
            sequence.addnext(child)
        delete(sequence, sequence)
    return our_type


def lacks_required(document: str) -> bool:
    """Return whether an element lacks what only one with ext:absent may lack."""
    entities = [*etree.fromstring(document).iter(f"{{{OSP}}}Storage", f"{{{OSP}}}Application")]
    return any(
        "template" not in e.attrib or (e.tag == f"{{{OSP}}}Application" and len(e) < 2) for e in entities
    )


@pytest.mark.parametrize(("stem", "name"), FRAGMENTS)
def test_a_fragment_is_reproduced(stem: str, name: str, schemas: Path) -> None:
    ours = etree.parse(schemas / f"{stem}.xsd").getroot()
    (our_type,) = ours.findall(f"{{{XS}}}complexType[@name='{name}']")
    assert described(tighten(our_type)) == FRAGMENTS[stem, name]


def test_every_complex_type_is_of_os_profile(schemas: Path) -> None:
    for stem in ("idb", "osprofile"):
        types = etree.parse(schemas / f"{stem}.xsd").getroot().findall(f"{{{XS}}}complexType")
        assert {(stem, our_type.attrib["name"]) for our_type in types} <= FRAGMENTS.keys() | {
            ("idb", "TextType")
        }


# -- what the schema of OS Profile 0.3 accepts -------------------------------------------------------------


@pytest.fixture(scope="module")
def original_schema(tmp_path_factory: pytest.TempPathFactory) -> etree.XMLSchema:
    """Compile the schema of OS Profile 0.3: its fragments, and Profile as the root."""
    folder = tmp_path_factory.mktemp("original")
    (folder / "idb.xsd").write_text(ORIGINAL_IDB)
    (folder / "osprofile.xsd").write_text(ORIGINAL_OSP)
    return etree.XMLSchema(file=folder / "osprofile.xsd")


def delete(node: etree._Element, _other: etree._Element) -> None:
    if (parent := node.getparent()) is not None:
        parent.remove(node)


def repeat(node: etree._Element, _other: etree._Element) -> None:
    if node.getparent() is not None:
        node.addnext(etree.fromstring(etree.tostring(node, with_tail=False)))


def move(node: etree._Element, other: etree._Element) -> None:
    if node.getparent() is not None and node not in other.iterancestors() and node is not other:
        other.append(node)


def write(node: etree._Element, other: etree._Element) -> None:
    node.text = other.text


def rename(node: etree._Element, other: etree._Element) -> None:
    node.tag = other.tag


def change_namespace(node: etree._Element, other: etree._Element) -> None:
    node.tag = f"{{{etree.QName(other).namespace}}}{etree.QName(node).localname}"


def exchange_attributes(node: etree._Element, other: etree._Element) -> None:
    mine, theirs = dict(node.attrib), dict(other.attrib)
    for target, attributes in ((node, theirs), (other, mine)):
        target.attrib.clear()
        target.attrib.update(attributes)


MUTATIONS = [delete, repeat, move, write, rename, change_namespace, exchange_attributes]


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Draw a whole document with up to three changes, so that every third is still valid."""
    root = etree.fromstring(draw(st.sampled_from([WHOLE, EXTENDED, EXAMPLES["Hello in my-linux"]])))
    for mutate in draw(st.lists(st.sampled_from(MUTATIONS), max_size=3)):
        nodes = st.sampled_from(list(root.iter("*")))
        mutate(draw(nodes), draw(nodes))
    return etree.tostring(root, encoding="unicode")


def has_additions(document: str) -> bool:
    root = etree.fromstring(document)
    attributes = {name for node in root.iter("*") for name in node.attrib}
    return (
        any(str(name).startswith(f"{{{EXT}}}") for name in attributes)
        or next(root.iter(f"{{{IDB}}}Template", f"{{{JSDL}}}*"), None) is not None
    )


@settings(max_examples=rounds(300, 60), deadline=None)
@given(document=documents())
def test_what_is_valid_by_os_profile_is_valid(
    document: str, original_schema: etree.XMLSchema, engines: dict[str, Engine]
) -> None:
    verdicts = {name: not engine(document) for name, engine in engines.items()}
    valid = verdicts["libxml2"]
    assert verdicts["xmlschema"] is valid  # neither is stricter than the other
    by_original = original_schema.validate(etree.fromstring(document))
    assert valid or not by_original  # nothing is lost
    # and only what we name is added
    assert by_original or not valid or has_additions(document) or lacks_required(document)
