"""What is valid and what is not: each engine must say so, and name what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Engine = Callable[[str], list[str]]

START = """
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
             xmlns:jsdl="http://schemas.ggf.org/jsdl/2005/06/jsdl"
             xmlns:ext="urn:osprofile:extension" xmlns:xml="http://www.w3.org/XML/1998/namespace"
             xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" """.strip()
PLACES = "<osp:UspaceRoot>/var/tmp</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>"


def in_profile(content: str, attributes: str = 'name="p"', places: str = PLACES) -> str:
    return f"{START} {attributes}>{places}{content}</osp:Profile>"


def in_template(content: str) -> str:
    return in_profile(f'<idb:Template name="T">{content}</idb:Template>')


def in_invocation(content: str) -> str:
    return in_template(f"<idb:Invocation>{content}</idb:Invocation>")


def in_field(content: str) -> str:
    return in_template(f'<idb:Field name="F">{content}</idb:Field>')


def field(attributes: str) -> str:
    return in_template(f"<idb:Field {attributes}/>")


def application(content: str, attributes: str = 'name="a" template="T"') -> str:
    return in_profile(f"<osp:Application {attributes}>{content}</osp:Application>")


VALID = {
    "least profile": in_profile(""),
    "parent": in_profile("", 'name="p" extends="linux"'),
    "global fields": in_profile('<idb:Template><idb:Field name="F"/></idb:Template>'),
    "empty name": in_profile('<idb:Template name=""/>'),
    "same name twice": in_profile('<idb:Template name="T"/><idb:Template name="T"/>'),
    "templates of both namespaces": in_profile("<osp:Template/><idb:Template/><osp:Template/>"),
    "children of osp:Template": in_profile(
        '<osp:Template><idb:Invocation><idb:Body/></idb:Invocation><idb:Field name="F"/></osp:Template>'
    ),
    "static script": in_invocation(
        "<idb:Description>d</idb:Description>"
        '<idb:StaticScript fileName="a.sh" arguments="">ls</idb:StaticScript>'
    ),
    "whole field": in_field(
        "<idb:Description>d</idb:Description><idb:Min>1</idb:Min><idb:Max> 1e3 </idb:Max>"
        '<idb:Tag name="a">b</idb:Tag><idb:Tag name="c"/><idb:Default>a</idb:Default>'
        "<idb:Value>a</idb:Value>"
    ),
    "no limits": in_field("<idb:Min>-INF</idb:Min><idb:Max>NaN</idb:Max>"),
    "extension": field('name="F" isSettable="0" ext:type="integer" ext:pattern="[0-9]+"'),
    "empty pattern": field('name="F" ext:pattern=""'),
    "storage": in_profile('<osp:Storage name="HOME" template="T"><!-- none --></osp:Storage>'),
    "application of osp": application(
        "<osp:ApplicationName>a</osp:ApplicationName>"
        "<osp:ApplicationVersion>1</osp:ApplicationVersion><osp:Description>d</osp:Description>"
    ),
    "application of jsdl": application(
        "<jsdl:ApplicationName>a</jsdl:ApplicationName>"
        "<jsdl:ApplicationVersion>1</jsdl:ApplicationVersion><jsdl:Description>d</jsdl:Description>"
    ),
    "application of both": application("<osp:ApplicationName/><jsdl:ApplicationVersion/><osp:Description/>"),
    "hint for an editor": in_profile("", 'name="p" xsi:schemaLocation="urn:none nowhere.xsd"'),
    "removals": in_profile(
        '<idb:Template name="T" ext:absent="true"/><osp:Storage name="s" ext:absent="1"/>'
        '<osp:Application name="a" ext:absent="true"><osp:Description/></osp:Application>'
    ),
    "bare template": '<Template xmlns="http://gpe.intel.com/idb"/>',
}


for path in (Path(__file__).parents[2] / "profiles").glob("*/profile.xml"):
    VALID[path.parent.name] = path.read_text(encoding="utf-8")


@pytest.mark.parametrize("document", VALID.values(), ids=VALID)
def test_valid(document: str, engine: Engine) -> None:
    assert engine(document) == []


# What is wrong: the document, and the words with which each engine must name it.
NAMELESS, CHILDLESS = ("required", "name"), "xpected"
INVALID: dict[str, tuple[str, tuple[str, ...]]] = {
    # Attributes that must be there.
    "profile without name": (in_profile("", ""), NAMELESS),
    "field without name": (field(""), NAMELESS),
    "tag without name": (in_field("<idb:Tag/>"), NAMELESS),
    "storage without name": (in_profile('<osp:Storage template="T"/>'), NAMELESS),
    "application without name": (
        application("<osp:ApplicationName/><osp:ApplicationVersion/>", 'template="T"'), NAMELESS,
    ),
    "static script without fileName": (
        in_invocation('<idb:StaticScript arguments=""/>'), ("required", "fileName"),
    ),
    "static script without arguments": (
        in_invocation('<idb:StaticScript fileName="a"/>'), ("required", "arguments"),
    ),
    # Elements that must be there, their order and their number.
    "no UspaceRoot": (
        in_profile("", places="<osp:Delimiter>/</osp:Delimiter>"), ("Delimiter", CHILDLESS, "UspaceRoot"),
    ),
    "no Delimiter": (in_profile("", places="<osp:UspaceRoot/>"), ("Delimiter", CHILDLESS)),
    "empty profile": (in_profile("", places=""), ("UspaceRoot", CHILDLESS)),
    "template after storage": (
        in_profile('<osp:Storage name="s" template="T"/><idb:Template/>'), ("Template", CHILDLESS),
    ),
    "storage after application": (
        in_profile(
            '<osp:Application name="a" template="T"><osp:ApplicationName/>'
            '<osp:ApplicationVersion/></osp:Application><osp:Storage name="s" template="T"/>'
        ),
        ("Storage", CHILDLESS),
    ),
    "invocation after field": (
        in_template('<idb:Field name="F"/><idb:Invocation><idb:Body/></idb:Invocation>'),
        ("Invocation", CHILDLESS),
    ),
    "default before tag": (in_field('<idb:Default>a</idb:Default><idb:Tag name="a"/>'), ("Tag", CHILDLESS)),
    "max before min": (in_field("<idb:Max>1</idb:Max><idb:Min>1</idb:Min>"), ("Min", CHILDLESS)),
    "two defaults": (in_field("<idb:Default/><idb:Default/>"), ("Default", CHILDLESS)),
    "two bodies": (in_invocation("<idb:Body/><idb:Body/>"), ("Body", CHILDLESS)),
    "body and static script": (
        in_invocation('<idb:Body/><idb:StaticScript fileName="a" arguments=""/>'),
        ("StaticScript", CHILDLESS),
    ),
    "invocation without body": (in_invocation(""), ("Body", "StaticScript", CHILDLESS)),
    "application without version": (application("<osp:ApplicationName/>"), ("ApplicationVersion", CHILDLESS)),
    "application with two names": (
        application("<osp:ApplicationName/><jsdl:ApplicationName/><osp:ApplicationVersion/>"),
        ("ApplicationName", CHILDLESS),
    ),
    # What is not known.
    "unknown element": (in_field("<idb:Unit>s</idb:Unit>"), ("Unit", CHILDLESS)),
    "element of the wrong namespace": (in_field("<osp:Default/>"), ("Default", CHILDLESS)),
    "element of no namespace": (in_profile("<Template/>"), ("Template", CHILDLESS)),
    "template of jsdl": (in_profile("<jsdl:Template/>"), ("Template", CHILDLESS)),
    "child in a text": (in_field("<idb:Value><b/></idb:Value>"), ("Value", "content")),
    "unknown attribute": (field('name="F" unit="s"'), ("unit", "not allowed")),
    "our attribute without its prefix": (field('name="F" pattern=".*"'), ("pattern", "not allowed")),
    "unknown attribute of ours": (field('name="F" ext:patern=".*"'), ("patern", "not allowed")),
    "xml:lang": (field('name="F" xml:lang="en"'), ("lang", "not allowed")),
    **{
        f"ext:pattern on {name}": (document, ("pattern", "not allowed"))
        for name, document in {
            "Profile": in_profile("", 'name="p" ext:pattern=""'),
            "Template": in_profile('<idb:Template ext:pattern=""/>'),
            "osp:Template": in_profile('<osp:Template ext:pattern=""/>'),
            "Invocation": in_template('<idb:Invocation ext:pattern=""><idb:Body/></idb:Invocation>'),
            "StaticScript": in_invocation('<idb:StaticScript fileName="a" arguments="" ext:pattern=""/>'),
            "Tag": in_field('<idb:Tag name="a" ext:pattern=""/>'),
            "Storage": in_profile('<osp:Storage name="s" template="T" ext:pattern=""/>'),
            "Application": application(
                "<osp:ApplicationName/><osp:ApplicationVersion/>", 'name="a" template="T" ext:pattern=""'
            ),
        }.items()
    },
    "ext:absent on Field": (field('name="F" ext:absent="true"'), ("absent", "not allowed")),
    "ext:absent yes": (in_profile('<idb:Template name="T" ext:absent="yes"/>'), ("absent", "yes")),
    "ext:directive on Tag": (in_field('<idb:Tag name="a" ext:directive="#"/>'), ("directive", "not allowed")),
    "ext:patternField on Tag": (
        in_field('<idb:Tag name="a" ext:patternField="F"/>'), ("patternField", "not allowed"),
    ),
    "ext:type on Body": (in_invocation('<idb:Body ext:type="text"/>'), ("Body", "type")),
    # Values.
    "ext:type float": (field('name="F" ext:type="float"'), ("type", "float")),
    "ext:type in capitals": (field('name="F" ext:type="Integer"'), ("type", "Integer")),
    "ext:type with a blank": (field('name="F" ext:type=" text"'), ("type", " text")),
    "bad boolean": (field('name="F" isSettable="yes"'), ("isSettable", "yes")),
    "boolean in capitals": (field('name="F" isSettable="True"'), ("isSettable", "True")),
    "limit that is no number": (in_field("<idb:Min>few</idb:Min>"), ("Min", "few")),
    "limit with a unit": (in_field("<idb:Max>10s</idb:Max>"), ("Max", "10s")),
    "empty limit": (in_field("<idb:Max/>"), ("Max",)),
    "limit in hexadecimal": (in_field("<idb:Max>0x10</idb:Max>"), ("Max", "0x10")),
    # Text where elements are expected.
    "text in a profile": (in_profile("text"), ("Profile", "character")),
    "text in a template": (in_template("text"), ("Template", "character")),
    "text in an invocation": (in_invocation("echo<idb:Body/>"), ("Invocation", "character")),
    "text in a field": (in_field("text"), ("Field", "character")),
    "text in a storage": (
        in_profile('<osp:Storage name="s" template="T">HOME</osp:Storage>'), ("Storage", "character"),
    ),
    "line end in a storage": (
        in_profile('<osp:Storage name="s" template="T">\n</osp:Storage>'), ("Storage", "character"),
    ),
    # Roots.
    "profile of no namespace": ('<Profile name="p"/>', ("Profile",)),
    "osp:Template as a root": ('<Template xmlns="http://gpe.intel.com/osprs/profile"/>', ("Template",)),
    "field as a root": ('<Field xmlns="http://gpe.intel.com/idb" name="F"/>', ("Field",)),
}  # fmt: skip


@pytest.mark.parametrize(("document", "words"), INVALID.values(), ids=INVALID)
def test_invalid(document: str, words: tuple[str, ...], engine: Engine) -> None:
    assert (told := "\n".join(engine(document)).casefold())
    assert [word for word in words if word.casefold() not in told] == []


def test_all_that_is_wrong_is_told(engine: Engine) -> None:
    told = engine(field('isSettable="yes" ext:type="float"'))
    assert len(told) == len(["name", "isSettable", "ext:type"])
