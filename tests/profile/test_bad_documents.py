# ruff: noqa: E501  # messages stand here whole
"""Bad documents of every kind, and the whole text that a user gets to read: docs/language-differences.md, Error messages."""

from __future__ import annotations

import pytest

from osprofile import InvalidProfileError, Repository
from tests.strategies import IDB, NAMESPACES, application, document, field, invocation, template_of


def in_template(content: str) -> str:
    """Return a document whose fifth line the content is."""
    return document(template_of("T", f"\n{content}\n"))


def in_field(content: str, attributes: str = "") -> str:
    """Return a document whose sixth line the content is."""
    return in_template(f'<idb:Field name="F" {attributes}>\n{content}\n</idb:Field>')


# Hints that several documents get

NAME = "a name begins with a letter or digit and has only letters, digits, _ . -"
FIELD_NAME = "a name begins with a letter or _ and has only letters, digits, _ . - and at most one : inside"
MARKUP = "a bare '<' or '&' in text? put script text into <![CDATA[ ... ]]>, or write &lt; and &amp;"
UTF8 = "save the file as UTF-8"
DECLARE_UTF8 = "save the file as UTF-8 and say so in its first line"
UTF16 = "is it UTF-16? save the file as UTF-8"
ENTITY = "only &lt; &gt; &amp; &quot; &apos; and &#...; exist here"
DOCTYPE = "remove the part in [ ]: entities are not expanded, write the text itself"
NUMBER = "as in 10, -3, 1.5 or 2e6"
ROOT = 'a profile begins <osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" ...'
ABSOLUTE = "begin it with the Delimiter, '/', without leading white space; or with ~/, the user's home"
ATTRIBUTES = (
    "known: ext:directive, ext:pattern, ext:patternField, ext:requires, ext:type, ext:when, isSettable, name"
)
PREFIX = 'declare the prefix in the root element, as in xmlns:idb="http://gpe.intel.com/idb"'
REFERENCE = "XML has no such character: remove the reference"

BAD: dict[str, tuple[str | bytes, str, str]] = {
    # the document, the first line of what is told, the hint
    # Not well-formed
    "empty": (b"", "1:1: error OSP102 not well-formed XML: no element found", ""),
    "text": (b"profile", "1:1: error OSP102 not well-formed XML: syntax error", ""),
    "json": (b'{"a": 1}', "1:1: error OSP102 not well-formed XML: not well-formed (invalid token)", MARKUP),
    "unclosed": (
        document().replace("</osp:Profile>", ""),
        "6:1: error OSP102 not well-formed XML: no element found",
        "<Profile> was opened at f.xml:1:1; is it closed, and is a '<' of a script inside CDATA?",
    ),
    "mismatched": (
        document("<idb:Template></idb:Templat>"),
        "4:17: error OSP102 not well-formed XML: mismatched tag",
        "<Template> was opened at f.xml:4:1; is it closed, and is a '<' of a script inside CDATA?",
    ),
    "two roots": (document() + "<a/>", "6:1: error OSP102 not well-formed XML: junk after document element", ""),
    "text behind": (document() + "x", "6:1: error OSP102 not well-formed XML: junk after document element", ""),
    "bare <": (
        in_template("<idb:Invocation><idb:Body>a < b</idb:Body></idb:Invocation>"),
        "5:30: error OSP102 not well-formed XML: not well-formed (invalid token)", MARKUP,
    ),
    "bare &": (
        in_template("<idb:Invocation><idb:Body>a && b</idb:Body></idb:Invocation>"),
        "5:30: error OSP102 not well-formed XML: not well-formed (invalid token)", MARKUP,
    ),
    "script with <A>": (
        in_template("<idb:Invocation><idb:Body>\necho <A> é\n</idb:Body></idb:Invocation>"),
        "7:3: error OSP102 not well-formed XML: mismatched tag",
        "<A> was opened at f.xml:6:6; is it closed, and is a '<' of a script inside CDATA?",
    ),
    "unknown entity": (
        in_template("<idb:Description>\n&nbsp;</idb:Description>"),
        "6:1: error OSP102 not well-formed XML: undefined entity",
        "only &lt; &gt; &amp; &quot; &apos; and &#...; exist here",
    ),
    "unclosed CDATA": (
        in_template("<idb:Invocation><idb:Body><![CDATA[x</idb:Body>"),
        "8:1: error OSP102 not well-formed XML: unclosed CDATA section", "close the section with ]]>",
    ),
    "unclosed comment": (
        document("<!-- x"),
        "4:1: error OSP102 not well-formed XML: unclosed token",
        "<Profile> was opened at f.xml:1:1; is it closed, and is a '<' of a script inside CDATA?",
    ),
    "-- in a comment": (
        document("<!-- x -- y -->"),
        "4:10: error OSP102 not well-formed XML: not well-formed (invalid token)",
        "a comment cannot contain --",
    ),
    "duplicate attribute": (
        in_template('<idb:Field name="A" name="B"/>'),
        "5:21: error OSP102 not well-formed XML: duplicate attribute", "give it once",
    ),
    "attribute without quotes": (
        in_template("<idb:Field name=A/>"),
        "5:17: error OSP102 not well-formed XML: not well-formed (invalid token)", MARKUP,
    ),
    "< in an attribute": (
        in_template('<idb:Field name="<A>"/>'),
        "5:18: error OSP102 not well-formed XML: not well-formed (invalid token)", MARKUP,
    ),
    "unbound prefix": (document("<x:Template/>"), "4:1: error OSP102 not well-formed XML: unbound prefix", PREFIX),
    "unbound prefix of an attribute": (
        in_template('<idb:Field name="F" x:type="integer"/>'),
        "5:1: error OSP102 not well-formed XML: unbound prefix", PREFIX,
    ),
    "NUL": (document("\0"), "4:1: error OSP101 a profile is UTF-8 text, and this is a NUL byte", UTF16),
    "reference to a control": (
        in_template("<idb:Description>&#1;</idb:Description>"),
        "5:18: error OSP102 not well-formed XML: reference to invalid character number", REFERENCE,
    ),
    "reference to a surrogate": (
        in_template("<idb:Description>&#xD800;</idb:Description>"),
        "5:18: error OSP102 not well-formed XML: reference to invalid character number", REFERENCE,
    ),
    "U+FFFE": (
        document("\ufffe"),
        "4:1: error OSP102 not well-formed XML: not well-formed (invalid token)",
        "XML cannot contain the character U+FFFE: remove it",
    ),
    "declaration not first": (
        "\n<?xml version='1.0'?>" + document(),
        "2:1: error OSP102 not well-formed XML: XML or text declaration not at start of entity", "",
    ),
    "bad version": ("<?xml version='2.0'?>" + document(), "1:1: error OSP102 not readable by libxml2: Unsupported version '2.0'", ""),
    # Encodings
    "latin-1 bytes": (document("<!-- é -->").encode("latin-1"), "4:6: error OSP101 a profile is UTF-8, and this byte is not", UTF8),
    "EBCDIC declared": (
        '<?xml version="1.0" encoding="cp037"?>' + document(),
        "1:1: error OSP101 a profile is UTF-8, not 'cp037'", DECLARE_UTF8,
    ),
    "utf-16 declared": (
        '<?xml version="1.0" encoding="utf-16"?>' + document(),
        "1:1: error OSP101 a profile is UTF-8, not 'utf-16'", DECLARE_UTF8,
    ),
    "unknown encoding": (
        '<?xml version="1.0" encoding="x-nope"?>' + document(),
        "1:1: error OSP101 a profile is UTF-8, not 'x-nope'", DECLARE_UTF8,
    ),
    "utf-16-le": (document().encode("utf-16-le"), "1:2: error OSP101 a profile is UTF-8 text, and this is a NUL byte", UTF16),
    "utf-16-be": (document().encode("utf-16-be"), "1:1: error OSP101 a profile is UTF-8 text, and this is a NUL byte", UTF16),
    "utf-32": (document().encode("utf-32"), "1:1: error OSP101 a profile is UTF-8 text, and this is a NUL byte", UTF16),
    "cut in a character": (
        document("<!-- é -->").encode()[: document("<!-- é -->").encode().index("é".encode()) + 1],
        "4:6: error OSP101 a profile is UTF-8, and this byte is not", UTF8,
    ),
    "surrogate bytes": (
        document("<!-- X -->").encode().replace(b"X", b"\xed\xa0\x80"),
        "4:6: error OSP101 a profile is UTF-8, and this byte is not", UTF8,
    ),
    "overlong": (
        document("<!-- X -->").encode().replace(b"X", b"\xc0\xaf"),
        "4:6: error OSP101 a profile is UTF-8, and this byte is not", UTF8,
    ),
    # Document types
    "doctype": (
        "<!DOCTYPE x []>\n" + document(),
        "1:1: error OSP103 declarations in <!DOCTYPE ... [ ]> are not allowed in a profile", DOCTYPE,
    ),
    "second doctype": (
        "<!DOCTYPE x>\n<!DOCTYPE x>\n" + document(),
        "2:1: error OSP103 declarations in <!DOCTYPE ... [ ]> are not allowed in a profile", DOCTYPE,
    ),
    "laughs": (
        '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>\n' + document("&b;"),
        "1:1: error OSP103 declarations in <!DOCTYPE ... [ ]> are not allowed in a profile", DOCTYPE,
    ),
    "external": (
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n' + document("&a;"),
        "1:1: error OSP103 declarations in <!DOCTYPE ... [ ]> are not allowed in a profile", DOCTYPE,
    ),
    "entity of an external subset": (
        '<!DOCTYPE x SYSTEM "http://example.org/x.dtd">\n' + document("<!-- --> &a;"),
        "5:10: error OSP102 not well-formed XML: undefined entity", ENTITY,
    ),
    "entity of an external subset in an attribute": (
        '<!DOCTYPE x SYSTEM "http://example.org/x.dtd">\n' + document('<idb:Template name="&a;"/>'),
        "5:1: error OSP102 not well-formed XML: undefined entity", ENTITY,
    ),
    "parameter": (
        '<!DOCTYPE x [<!ENTITY % a SYSTEM "http://example.org/x"> %a;]>\n' + document(),
        "1:1: error OSP103 declarations in <!DOCTYPE ... [ ]> are not allowed in a profile", DOCTYPE,
    ),
    # The root
    "no namespace": ('<Profile name="p"/>', "1:1: error OSP104 the root element is <Profile> of namespace ''", ROOT),
    "other root": (
        f'<Template xmlns="{IDB}"/>',
        "1:1: error OSP104 the root element is <Template> of namespace 'http://gpe.intel.com/idb'", ROOT,
    ),
    "html": ("<html><body/></html>", "1:1: error OSP104 the root element is <html> of namespace ''", ROOT),
    # Names and places
    "no name": (document().replace(' name="p"', ""), "1:1: error OSP104 in <Profile>: missing required attribute 'name'", ""),
    "empty name": (document(name=""), "1:194: error OSP108 profile name '' is not allowed", NAME),
    "dot name": (document(name=".."), "1:194: error OSP108 profile name '..' is not allowed", NAME),
    "blank name": (document(name=" p"), "1:194: error OSP108 profile name ' p' is not allowed", NAME),
    "no UspaceRoot": (
        document().replace("<osp:UspaceRoot>/u</osp:UspaceRoot>\n", ""),
        "2:1: error OSP104 <Delimiter> is not expected here, in <Profile>", "allowed here: osp:UspaceRoot",
    ),
    "no Delimiter": (
        document().replace("<osp:Delimiter>/</osp:Delimiter>\n", ""),
        "1:1: error OSP104 <Profile> ends too early", "it needs osp:Delimiter",
    ),
    "empty root element": (
        f"<osp:Profile {NAMESPACES} name='p'/>",
        "1:1: error OSP104 <Profile> ends too early", "it needs osp:UspaceRoot",
    ),
    "relative root": (document(root="var/tmp"), "2:17: error OSP106 UspaceRoot 'var/tmp' is not an absolute path", ABSOLUTE),
    "blank root": (document(root=" /u"), "2:17: error OSP106 UspaceRoot ' /u' is not an absolute path", ABSOLUTE),
    "blank behind root": (
        document(root="/u\n"),
        "2:17: error OSP106 UspaceRoot '/u\\n' has white space at its end",
        "it would be a part of every working directory's name: remove it",
    ),
    "empty root": (document(root=""), "2:17: error OSP106 UspaceRoot '' is not an absolute path", ABSOLUTE),
    "empty delimiter": (
        document(delimiter=""),
        "3:1: error OSP106 Delimiter is empty", "it joins the parts of paths: / on any POSIX system",
    ),
    "wrong delimiter": (
        document(delimiter="\\"),
        "2:17: error OSP106 UspaceRoot '/u' is not an absolute path",
        "begin it with the Delimiter, '\\\\', without leading white space; or with ~\\, the user's home",
    ),
    # The schema's rules
    "unknown element": (
        in_template("<idb:Feild/>"),
        "5:1: error OSP104 <Feild> is not expected here, in <Template>",
        "did you mean Field? allowed here: idb:Description, idb:Invocation, idb:Field",
    ),
    "unknown in profile": (
        document("<osp:Tempalte/>"),
        "4:1: error OSP104 <Tempalte> is not expected here, in <Profile>",
        "did you mean Template? allowed here: osp:Template, idb:Template, osp:Storage, osp:Application",
    ),
    "wrong order": (
        in_field("<idb:Default>a</idb:Default>\n<idb:Min>1</idb:Min>"),
        "7:1: error OSP104 <Min> is not expected here, in <Field>",
        "the order is wrong: idb:Min comes before idb:Default",
    ),
    "wrong ns": (
        in_field("<osp:Default/>"),
        "6:1: error OSP104 <Default> is not expected here, in <Field>: its namespace is 'http://gpe.intel.com/osprs/profile'",
        "allowed here: idb:Description, idb:Min, idb:Max, idb:Tag, idb:Default, idb:Value",
    ),
    "no ns": (
        document("<Template/>"),
        "4:1: error OSP104 <Template> is not expected here, in <Profile>: its namespace is ''",
        "allowed here: osp:Template, idb:Template, osp:Storage, osp:Application",
    ),
    "no field name": (in_template("<idb:Field/>"), "5:1: error OSP104 in <Field>: missing required attribute 'name'", ""),
    "bad field name": (in_template('<idb:Field name="A B"/>'), "5:18: error OSP108 field name 'A B' is not allowed", FIELD_NAME),
    "digit field": (in_template('<idb:Field name="2A"/>'), "5:18: error OSP108 field name '2A' is not allowed", FIELD_NAME),
    "empty field name": (in_template('<idb:Field name=""/>'), "5:18: error OSP108 field name '' is not allowed", FIELD_NAME),
    "unknown attribute": (
        in_template('<idb:Field name="F" settable="true"/>'),
        "5:31: error OSP104 <Field> has no attribute settable", "did you mean isSettable?",
    ),
    "our attribute bare": (
        in_template('<idb:Field name="F" pattern="x"/>'),
        "5:30: error OSP104 <Field> has no attribute pattern",
        "did you mean ext:pattern or ext:patternField?",
    ),
    "ext:patern": (
        in_template('<idb:Field name="F"\n ext:patern="x"/>'),
        "6:14: error OSP104 <Field> has no attribute ext:patern",
        "did you mean ext:pattern, ext:patternField or ext:when?",
    ),
    "foreign attribute": (
        in_template('<idb:Field name="F" xmlns:x="urn:x" x:y="1"/>'),
        "5:42: error OSP104 <Field> has no attribute {urn:x}y", ATTRIBUTES,
    ),
    "xml:lang": (
        in_template('<idb:Field name="F" xml:lang="en"/>'),
        "5:31: error OSP104 <Field> has no attribute {http://www.w3.org/XML/1998/namespace}lang", ATTRIBUTES,
    ),
    "bad type": (
        in_template('<idb:Field name="F" ext:type="int"/>'),
        "5:31: error OSP104 attribute type='int': value must be one of ['integer', 'number', 'text']", "",
    ),
    "bad boolean": (
        in_template('<idb:Field name="F" isSettable="yes"/>'),
        "5:33: error OSP104 attribute isSettable='yes': 'yes' is not a boolean value", "write true or false",
    ),
    "bad min": (in_field("<idb:Min>few</idb:Min>"), "6:10: error OSP104 <Min> is 'few', which is not a number", NUMBER),
    "1e": (in_field("<idb:Min>1e</idb:Min>"), "6:10: error OSP104 <Min> is '1e', which is not a number", NUMBER),
    "empty max": (in_field("<idb:Max/>"), "6:11: error OSP104 <Max> is '', which is not a number", NUMBER),
    "nan": (in_field("<idb:Max>NaN</idb:Max>"), "6:10: error OSP104 Max is NaN, which cannot be a limit", ""),
    "hex": (in_field("<idb:Max>0x10</idb:Max>"), "6:10: error OSP104 <Max> is '0x10', which is not a number", NUMBER),
    "blank in number": (in_field("<idb:Max>\n1 0</idb:Max>"), "6:10: error OSP104 <Max> is '\\n1 0', which is not a number", NUMBER),
    "stray text": (in_template("text"), "5:1: error OSP104 in <Template>: character data between child elements not allowed", ""),
    "text in field": (in_field("text"), "6:1: error OSP104 in <Field>: character data between child elements not allowed", ""),
    "text in storage": (
        document('<osp:Storage name="s" template="T">x</osp:Storage>'),
        "4:36: error OSP104 in <Storage>: character data is not allowed because content is empty", "",
    ),
    "nbsp": (
        document("\u00a0"),
        "4:1: error OSP104 Element 'osp:Profile': Character content other than whitespace is not allowed because the content type is 'element-only'.",
        "",
    ),
    "child in text": (
        in_field("<idb:Value><b/></idb:Value>"),
        "6:1: error OSP104 in <Value>: a simple content element can't have child elements", "",
    ),
    "no body": (
        in_template("<idb:Invocation name='a'/>"),
        "5:1: error OSP104 <Invocation> ends too early",
        "it needs idb:Description, idb:Body, idb:StaticScript",
    ),
    "two bodies": (
        in_template("<idb:Invocation><idb:Body/><idb:Body/></idb:Invocation>"),
        "5:28: error OSP104 <Body> is not expected here, in <Invocation>", "allowed here: nothing else",
    ),
    "body and script": (
        in_template(
            '<idb:Invocation><idb:Body/>\n<idb:StaticScript fileName="a" arguments=""/></idb:Invocation>'
        ),
        "6:1: error OSP104 <StaticScript> is not expected here, in <Invocation>",
        "allowed here: nothing else",
    ),
    "script without arguments": (
        in_template('<idb:Invocation><idb:StaticScript fileName="a"/></idb:Invocation>'),
        "5:17: error OSP104 in <StaticScript>: missing required attribute 'arguments'", "",
    ),
    "script file ../x": (
        in_template('<idb:Invocation><idb:StaticScript fileName="../x" arguments=""/></idb:Invocation>'),
        "5:45: error OSP107 static script file name '../x' is not allowed", NAME,
    ),
    "script file -x": (
        in_template('<idb:Invocation><idb:StaticScript fileName="-x" arguments=""/></idb:Invocation>'),
        "5:45: error OSP107 static script file name '-x' is not allowed", NAME,
    ),
    "script file empty": (
        in_template('<idb:Invocation><idb:StaticScript fileName="" arguments=""/></idb:Invocation>'),
        "5:45: error OSP107 static script file name '' is not allowed", NAME,
    ),
    "tag without name": (in_field("<idb:Tag>a</idb:Tag>"), "6:1: error OSP104 in <Tag>: missing required attribute 'name'", ""),
    "storage no template": (
        document('<osp:Storage name="s"/>'),
        "4:1: error OSP104 in <Storage>: missing required attribute 'template'", "",
    ),
    "app no version": (
        document(
            '<osp:Application name="a" template="T"><osp:ApplicationName>x</osp:ApplicationName></osp:Application>'
        ),
        "4:1: error OSP104 <Application> ends too early",
        "it needs osp:ApplicationVersion, jsdl:ApplicationVersion",
    ),
    # What no schema says
    "two templates": (
        document(template_of("T") + "\n" + template_of("T")),
        "5:21: error OSP105 duplicate template T", "first defined at f.xml:4:1; remove or rename one of them",
    ),
    "two applications of one version": (
        document(
            "\n".join(
                f'<osp:Application name="{name}" template="T"><osp:ApplicationName>x</osp:ApplicationName>'
                "<osp:ApplicationVersion>1</osp:ApplicationVersion></osp:Application>"
                for name in "ab"
            )
        ),
        "5:1: error OSP105 two applications are x 1: no request can name the second",
        "the first is at f.xml:4:1; give one another ApplicationName or ApplicationVersion",
    ),
    "a value for a field of the engine": (
        in_template('<idb:Field name="PROFILE_NAME" isSettable="false"><idb:Value>x</idb:Value></idb:Field>'),
        "5:18: error OSP108 field PROFILE_NAME has a value, but the engine supplies another one",
        "rename the field, or remove its Default and Value",
    ),
    "a default for a field of the engine": (
        in_template('<idb:Field name="USPACE_ROOT"><idb:Default>x</idb:Default></idb:Field>'),
        "5:18: error OSP108 field USPACE_ROOT has a value, but the engine supplies another one",
        "rename the field, or remove its Default and Value",
    ),
    "two unnamed": (
        document(template_of("") + "\n" + "<idb:Template name=''/>"),
        "5:21: error OSP105 duplicate template without a name",
        "first defined at f.xml:4:1; remove or rename one of them",
    ),
    "two invocations": (
        in_template(invocation("a") + "\n" + invocation("b")),
        "6:1: error OSP105 duplicate variation without a name",
        "first defined at f.xml:5:1; remove or rename one of them",
    ),
    "two named": (
        in_template(invocation("a", "X") + "\n" + invocation("b", "X")),
        "6:23: error OSP105 duplicate variation X",
        "first defined at f.xml:5:1; remove or rename one of them",
    ),
    "two fields": (
        in_template(field("F") + "\n" + field("F")),
        "6:18: error OSP105 duplicate field F", "first defined at f.xml:5:1; remove or rename one of them",
    ),
    "two storages": (
        document('<osp:Storage name="s" template="T"/>\n<osp:Storage name="s" template="T"/>'),
        "5:20: error OSP105 duplicate storage s", "first defined at f.xml:4:1; remove or rename one of them",
    ),
    "two apps": (
        document(application("a", "x", "1") + "\n" + application("a", "y", "1")),
        "5:24: error OSP105 duplicate application a",
        "first defined at f.xml:4:1; remove or rename one of them",
    ),
    "global invocations": (
        document(template_of("", invocation("x"))),
        "4:15: error OSP108 the unnamed template holds the profile's global fields and has no invocations",
        "give the template a name",
    ),
    "dangling storage": (
        document(template_of("HOMES") + '<osp:Storage name="s" template="HOME"/>'),
        "4:75: error OSP203 Storage s names template 'HOME', which profile p (f.xml:1:1) does not have",
        "did you mean HOMES?",
    ),
    "dangling app": (
        document(application("a", "x", "1", "RUN")),
        "4:37: error OSP203 Application a names template 'RUN', which profile p (f.xml:1:1) does not have",
        "",
    ),
    "xsi type": (
        in_template(
            '<idb:Field name="F" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="idb:Nope"/>'
        ),
        "5:1: error OSP104 Element 'idb:Field', attribute '{http://www.w3.org/2001/XMLSchema-instance}type': The QName value 'idb:Nope' of the xsi:type attribute does not resolve to a type definition.",
        "",
    ),
    "bad URI": (
        document('<idb:Template xmlns:x="a b"/>'),
        "4:1: error OSP102 not readable by libxml2: xmlns:x: 'a b' is not a valid URI", "",
    ),
}  # fmt: skip


def refuse(text: str | bytes) -> InvalidProfileError:
    """Return the error of a document that is called `f.xml`."""
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(InvalidProfileError) as caught:
        Repository(use_standard_path=False).load_bytes(data, "f.xml")
    assert caught.value.exit_code == 3
    assert str(caught.value).startswith(str(caught.value.location))
    return caught.value


@pytest.mark.parametrize(("text", "told", "hint"), BAD.values(), ids=BAD)
def test_bad_document(text: str | bytes, told: str, hint: str) -> None:
    message, _line, caret, *rest = str(refuse(text)).split("\n")
    assert message == f"f.xml:{told}"
    assert caret.strip() == "^"
    assert rest == ([f"    hint: {hint}"] if hint else [])


# The whole text, with the lines of the document: one problem and several.
WHOLE: dict[str, tuple[str | bytes, str]] = {
    "blank": (
        b" \n",
        """
f.xml:2:1: error OSP102 not well-formed XML: no element found

    ^
""",
    ),
    "control": (
        document("\x01"),
        """
f.xml:4:1: error OSP102 not well-formed XML: not well-formed (invalid token)
    �
    ^
    hint: XML cannot contain the character U+0001: remove it
""",
    ),
    "utf-16": (
        document().encode("utf-16")[:-1],
        """
f.xml:1:1: error OSP101 a profile is UTF-8, and this byte is not
    ��<�o�s�p�:�P�r�o�f�i�l�e� �x�m�l�n�s�:�o�s�p�=�"�h�t�t�p�:�/�/�g�p�e�.�i�n�t�e�l�.�c�o�m�/�o�s�p�r�...
    ^
    hint: save the file as UTF-8
""",
    ),
    "bad name": (
        document(name="a/b"),
        """
f.xml:1:194: error OSP108 profile name 'a/b' is not allowed
    ...mlns:jsdl="http://schemas.ggf.org/jsdl/2005/06/jsdl" xmlns:ext="urn:osprofile:extension" name="a/b">
                                                                                                      ^
    hint: a name begins with a letter or digit and has only letters, digits, _ . -
""",
    ),
    "three unnamed": (
        document("<idb:Template/>\n<idb:Template/>\n<idb:Template/>"),
        """
f.xml:5:1: error OSP105 duplicate template without a name
    <idb:Template/>
    ^
    hint: first defined at f.xml:4:1; remove or rename one of them
f.xml:6:1: error OSP105 duplicate template without a name
    <idb:Template/>
    ^
    hint: first defined at f.xml:4:1; remove or rename one of them
""",
    ),
    "many": (
        in_field("<idb:Min>x</idb:Min>\n<idb:Foo/>", 'ext:type="int"').replace("/u<", "u<"),
        """
f.xml:2:17: error OSP106 UspaceRoot 'u' is not an absolute path
    <osp:UspaceRoot>u</osp:UspaceRoot>
                    ^
    hint: begin it with the Delimiter, '/', without leading white space; or with ~/, the user's home
f.xml:5:31: error OSP104 attribute type='int': value must be one of ['integer', 'number', 'text']
    <idb:Field name="F" ext:type="int">
                                  ^
f.xml:6:10: error OSP104 <Min> is 'x', which is not a number
    <idb:Min>x</idb:Min>
             ^
    hint: as in 10, -3, 1.5 or 2e6
f.xml:7:1: error OSP104 <Foo> is not expected here, in <Field>
    <idb:Foo/>
    ^
    hint: allowed here: idb:Max, idb:Tag, idb:Default, idb:Value
""",
    ),
}


@pytest.mark.parametrize(("text", "told"), WHOLE.values(), ids=WHOLE)
def test_whole_text_of_a_bad_document(text: str | bytes, told: str) -> None:
    assert [line.rstrip() for line in str(refuse(text)).split("\n")] == told[1:-1].split("\n")
