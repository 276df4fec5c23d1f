# ruff: noqa: E501  # messages stand here whole
"""Bad documents of every kind, and the whole text that a user gets to read: docs/language.md, Errors and their places."""

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


BAD: dict[str, tuple[str | bytes, str]] = {
    # Not well-formed
    "empty": (
        b"",
        """
f.xml:1:1: error OSP102 not well-formed XML: no element found

    ^
""",
    ),
    "blank": (
        b" \n",
        """
f.xml:2:1: error OSP102 not well-formed XML: no element found

    ^
""",
    ),
    "text": (
        b"profile",
        """
f.xml:1:1: error OSP102 not well-formed XML: syntax error
    profile
    ^
""",
    ),
    "json": (
        b'{"a": 1}',
        """
f.xml:1:1: error OSP102 not well-formed XML: not well-formed (invalid token)
    {"a": 1}
    ^
    hint: a bare '<' or '&' in text? put script text into <![CDATA[ ... ]]>, or write &lt; and &amp;
""",
    ),
    "unclosed": (
        document().replace("</osp:Profile>", ""),
        """
f.xml:6:1: error OSP102 not well-formed XML: no element found

    ^
    hint: <Profile> was opened at f.xml:1:1; is it closed, and is a '<' of a script inside CDATA?
""",
    ),
    "mismatched": (
        document("<idb:Template></idb:Templat>"),
        """
f.xml:4:17: error OSP102 not well-formed XML: mismatched tag
    <idb:Template></idb:Templat>
                    ^
    hint: <Template> was opened at f.xml:4:1; is it closed, and is a '<' of a script inside CDATA?
""",
    ),
    "two roots": (
        document() + "<a/>",
        """
f.xml:6:1: error OSP102 not well-formed XML: junk after document element
    <a/>
    ^
""",
    ),
    "text behind": (
        document() + "x",
        """
f.xml:6:1: error OSP102 not well-formed XML: junk after document element
    x
    ^
""",
    ),
    "bare <": (
        in_template("<idb:Invocation><idb:Body>a < b</idb:Body></idb:Invocation>"),
        """
f.xml:5:30: error OSP102 not well-formed XML: not well-formed (invalid token)
    <idb:Invocation><idb:Body>a < b</idb:Body></idb:Invocation>
                                 ^
    hint: a bare '<' or '&' in text? put script text into <![CDATA[ ... ]]>, or write &lt; and &amp;
""",
    ),
    "bare &": (
        in_template("<idb:Invocation><idb:Body>a && b</idb:Body></idb:Invocation>"),
        """
f.xml:5:30: error OSP102 not well-formed XML: not well-formed (invalid token)
    <idb:Invocation><idb:Body>a && b</idb:Body></idb:Invocation>
                                 ^
    hint: a bare '<' or '&' in text? put script text into <![CDATA[ ... ]]>, or write &lt; and &amp;
""",
    ),
    "script with <A>": (
        in_template("<idb:Invocation><idb:Body>\necho <A> é\n</idb:Body></idb:Invocation>"),
        """
f.xml:7:3: error OSP102 not well-formed XML: mismatched tag
    </idb:Body></idb:Invocation>
      ^
    hint: <A> was opened at f.xml:6:6; is it closed, and is a '<' of a script inside CDATA?
""",
    ),
    "unknown entity": (
        in_template("<idb:Description>\n&nbsp;</idb:Description>"),
        """
f.xml:6:1: error OSP102 not well-formed XML: undefined entity
    &nbsp;</idb:Description>
    ^
    hint: only &lt; &gt; &amp; &quot; &apos; and &#...; exist here
""",
    ),
    "unclosed CDATA": (
        in_template("<idb:Invocation><idb:Body><![CDATA[x</idb:Body>"),
        """
f.xml:8:1: error OSP102 not well-formed XML: unclosed CDATA section

    ^
    hint: close the section with ]]>
""",
    ),
    "unclosed comment": (
        document("<!-- x"),
        """
f.xml:4:1: error OSP102 not well-formed XML: unclosed token
    <!-- x
    ^
    hint: <Profile> was opened at f.xml:1:1; is it closed, and is a '<' of a script inside CDATA?
""",
    ),
    "-- in a comment": (
        document("<!-- x -- y -->"),
        """
f.xml:4:10: error OSP102 not well-formed XML: not well-formed (invalid token)
    <!-- x -- y -->
             ^
    hint: a comment cannot contain --
""",
    ),
    "duplicate attribute": (
        in_template('<idb:Field name="A" name="B"/>'),
        """
f.xml:5:21: error OSP102 not well-formed XML: duplicate attribute
    <idb:Field name="A" name="B"/>
                        ^
    hint: give it once
""",
    ),
    "attribute without quotes": (
        in_template("<idb:Field name=A/>"),
        """
f.xml:5:17: error OSP102 not well-formed XML: not well-formed (invalid token)
    <idb:Field name=A/>
                    ^
    hint: a bare '<' or '&' in text? put script text into <![CDATA[ ... ]]>, or write &lt; and &amp;
""",
    ),
    "< in an attribute": (
        in_template('<idb:Field name="<A>"/>'),
        """
f.xml:5:18: error OSP102 not well-formed XML: not well-formed (invalid token)
    <idb:Field name="<A>"/>
                     ^
    hint: a bare '<' or '&' in text? put script text into <![CDATA[ ... ]]>, or write &lt; and &amp;
""",
    ),
    "unbound prefix": (
        document("<x:Template/>"),
        """
f.xml:4:1: error OSP102 not well-formed XML: unbound prefix
    <x:Template/>
    ^
    hint: declare the prefix in the root element, as in xmlns:idb="http://gpe.intel.com/idb"
""",
    ),
    "unbound prefix of an attribute": (
        in_template('<idb:Field name="F" x:type="integer"/>'),
        """
f.xml:5:1: error OSP102 not well-formed XML: unbound prefix
    <idb:Field name="F" x:type="integer"/>
    ^
    hint: declare the prefix in the root element, as in xmlns:idb="http://gpe.intel.com/idb"
""",
    ),
    "NUL": (
        document("\0"),
        """
f.xml:4:1: error OSP101 a profile is UTF-8 text, and this is a NUL byte
    �
    ^
    hint: is it UTF-16? save the file as UTF-8
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
    "reference to a control": (
        in_template("<idb:Description>&#1;</idb:Description>"),
        """
f.xml:5:18: error OSP102 not well-formed XML: reference to invalid character number
    <idb:Description>&#1;</idb:Description>
                     ^
    hint: XML has no such character: remove the reference
""",
    ),
    "reference to a surrogate": (
        in_template("<idb:Description>&#xD800;</idb:Description>"),
        """
f.xml:5:18: error OSP102 not well-formed XML: reference to invalid character number
    <idb:Description>&#xD800;</idb:Description>
                     ^
    hint: XML has no such character: remove the reference
""",
    ),
    "U+FFFE": (
        document("\ufffe"),
        """
f.xml:4:1: error OSP102 not well-formed XML: not well-formed (invalid token)
    �
    ^
    hint: XML cannot contain the character U+FFFE: remove it
""",
    ),
    "declaration not first": (
        "\n<?xml version='1.0'?>" + document(),
        """
f.xml:2:1: error OSP102 not well-formed XML: XML or text declaration not at start of entity
    <?xml version='1.0'?><osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://g...
    ^
""",
    ),
    "bad version": (
        "<?xml version='2.0'?>" + document(),
        """
f.xml:1:1: error OSP102 not readable by libxml2: Unsupported version '2.0'
    <?xml version='2.0'?><osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://g...
    ^
""",
    ),
    # Encodings
    "latin-1 bytes": (
        document("<!-- é -->").encode("latin-1"),
        """
f.xml:4:6: error OSP101 a profile is UTF-8, and this byte is not
    <!-- � -->
         ^
    hint: save the file as UTF-8
""",
    ),
    "latin-1 declared": (
        '<?xml version="1.0" encoding="ISO-8859-1"?>' + document(),
        """
f.xml:1:1: error OSP101 a profile is UTF-8, not 'ISO-8859-1'
    <?xml version="1.0" encoding="ISO-8859-1"?><osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profil...
    ^
    hint: save the file as UTF-8 and say so in its first line
""",
    ),
    "unknown encoding": (
        '<?xml version="1.0" encoding="x-nope"?>' + document(),
        """
f.xml:1:1: error OSP101 a profile is UTF-8, not 'x-nope'
    <?xml version="1.0" encoding="x-nope"?><osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" x...
    ^
    hint: save the file as UTF-8 and say so in its first line
""",
    ),
    "utf-16": (
        document().encode("utf-16"),
        """
f.xml:1:1: error OSP101 a profile is UTF-8, and this byte is not
    ��<�o�s�p�:�P�r�o�f�i�l�e� �x�m�l�n�s�:�o�s�p�=�"�h�t�t�p�:�/�/�g�p�e�.�i�n�t�e�l�.�c�o�m�/�o�s�p�r�...
    ^
    hint: save the file as UTF-8
""",
    ),
    "utf-16-le": (
        document().encode("utf-16-le"),
        """
f.xml:1:2: error OSP101 a profile is UTF-8 text, and this is a NUL byte
    <�o�s�p�:�P�r�o�f�i�l�e� �x�m�l�n�s�:�o�s�p�=�"�h�t�t�p�:�/�/�g�p�e�.�i�n�t�e�l�.�c�o�m�/�o�s�p�r�s�...
     ^
    hint: is it UTF-16? save the file as UTF-8
""",
    ),
    "utf-16-be": (
        document().encode("utf-16-be"),
        """
f.xml:1:1: error OSP101 a profile is UTF-8 text, and this is a NUL byte
    �<�o�s�p�:�P�r�o�f�i�l�e� �x�m�l�n�s�:�o�s�p�=�"�h�t�t�p�:�/�/�g�p�e�.�i�n�t�e�l�.�c�o�m�/�o�s�p�r�s...
    ^
    hint: is it UTF-16? save the file as UTF-8
""",
    ),
    "utf-32": (
        document().encode("utf-32"),
        """
f.xml:1:1: error OSP101 a profile is UTF-8, and this byte is not
    ����<���o���s���p���:���P���r���o���f���i���l���e��� ���x���m���l���n���s���:���o���s���p���=���"���...
    ^
    hint: save the file as UTF-8
""",
    ),
    "cut in a character": (
        document("<!-- é -->").encode()[: document("<!-- é -->").encode().index("é".encode()) + 1],
        """
f.xml:4:6: error OSP101 a profile is UTF-8, and this byte is not
    <!-- �
         ^
    hint: save the file as UTF-8
""",
    ),
    "surrogate bytes": (
        document("<!-- X -->").encode().replace(b"X", b"\xed\xa0\x80"),
        """
f.xml:4:6: error OSP101 a profile is UTF-8, and this byte is not
    <!-- ��� -->
         ^
    hint: save the file as UTF-8
""",
    ),
    "overlong": (
        document("<!-- X -->").encode().replace(b"X", b"\xc0\xaf"),
        """
f.xml:4:6: error OSP101 a profile is UTF-8, and this byte is not
    <!-- �� -->
         ^
    hint: save the file as UTF-8
""",
    ),
    # Document types
    "doctype": (
        "<!DOCTYPE x>\n" + document(),
        """
f.xml:1:1: error OSP103 a document type declaration is not allowed in a profile
    <!DOCTYPE x>
    ^
    hint: remove the <!DOCTYPE ...>: entities are not expanded, write the text itself
""",
    ),
    "laughs": (
        '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>\n' + document("&b;"),
        """
f.xml:1:1: error OSP103 a document type declaration is not allowed in a profile
    <!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>
    ^
    hint: remove the <!DOCTYPE ...>: entities are not expanded, write the text itself
""",
    ),
    "external": (
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n' + document("&a;"),
        """
f.xml:1:1: error OSP103 a document type declaration is not allowed in a profile
    <!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>
    ^
    hint: remove the <!DOCTYPE ...>: entities are not expanded, write the text itself
""",
    ),
    "external subset": (
        '<!DOCTYPE x SYSTEM "http://example.org/x.dtd">\n' + document(),
        """
f.xml:1:1: error OSP103 a document type declaration is not allowed in a profile
    <!DOCTYPE x SYSTEM "http://example.org/x.dtd">
    ^
    hint: remove the <!DOCTYPE ...>: entities are not expanded, write the text itself
""",
    ),
    "parameter": (
        '<!DOCTYPE x [<!ENTITY % a SYSTEM "http://example.org/x"> %a;]>\n' + document(),
        """
f.xml:1:1: error OSP103 a document type declaration is not allowed in a profile
    <!DOCTYPE x [<!ENTITY % a SYSTEM "http://example.org/x"> %a;]>
    ^
    hint: remove the <!DOCTYPE ...>: entities are not expanded, write the text itself
""",
    ),
    # The root
    "no namespace": (
        '<Profile name="p"/>',
        """
f.xml:1:1: error OSP104 the root element is <Profile> of namespace ''
    <Profile name="p"/>
    ^
    hint: a profile begins <osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" ...
""",
    ),
    "other root": (
        f'<Template xmlns="{IDB}"/>',
        """
f.xml:1:1: error OSP104 the root element is <Template> of namespace 'http://gpe.intel.com/idb'
    <Template xmlns="http://gpe.intel.com/idb"/>
    ^
    hint: a profile begins <osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" ...
""",
    ),
    "html": (
        "<html><body/></html>",
        """
f.xml:1:1: error OSP104 the root element is <html> of namespace ''
    <html><body/></html>
    ^
    hint: a profile begins <osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" ...
""",
    ),
    # Names and places
    "no name": (
        document().replace(' name="p"', ""),
        """
f.xml:1:1: error OSP104 in <Profile>: missing required attribute 'name'
    <osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb" xml...
    ^
""",
    ),
    "empty name": (
        document(name=""),
        """
f.xml:1:194: error OSP108 profile name '' is not allowed
    ..." xmlns:jsdl="http://schemas.ggf.org/jsdl/2005/06/jsdl" xmlns:ext="urn:osprofile:extension" name="">
                                                                                                         ^
    hint: a name begins with a letter or digit and has only letters, digits, _ . -
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
    "dot name": (
        document(name=".."),
        """
f.xml:1:194: error OSP108 profile name '..' is not allowed
    ...xmlns:jsdl="http://schemas.ggf.org/jsdl/2005/06/jsdl" xmlns:ext="urn:osprofile:extension" name="..">
                                                                                                       ^
    hint: a name begins with a letter or digit and has only letters, digits, _ . -
""",
    ),
    "blank name": (
        document(name=" p"),
        """
f.xml:1:194: error OSP108 profile name ' p' is not allowed
    ...xmlns:jsdl="http://schemas.ggf.org/jsdl/2005/06/jsdl" xmlns:ext="urn:osprofile:extension" name=" p">
                                                                                                       ^
    hint: a name begins with a letter or digit and has only letters, digits, _ . -
""",
    ),
    "no UspaceRoot": (
        document().replace("<osp:UspaceRoot>/u</osp:UspaceRoot>\n", ""),
        """
f.xml:2:1: error OSP104 <Delimiter> is not expected here, in <Profile>
    <osp:Delimiter>/</osp:Delimiter>
    ^
    hint: allowed here: osp:UspaceRoot
""",
    ),
    "no Delimiter": (
        document().replace("<osp:Delimiter>/</osp:Delimiter>\n", ""),
        """
f.xml:1:1: error OSP104 <Profile> ends too early
    <osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb" xml...
    ^
    hint: it needs osp:Delimiter
""",
    ),
    "empty root element": (
        f"<osp:Profile {NAMESPACES} name='p'/>",
        """
f.xml:1:1: error OSP104 <Profile> ends too early
    <osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb" xml...
    ^
    hint: it needs osp:UspaceRoot
""",
    ),
    "relative root": (
        document(root="var/tmp"),
        """
f.xml:2:17: error OSP106 UspaceRoot 'var/tmp' is not an absolute path
    <osp:UspaceRoot>var/tmp</osp:UspaceRoot>
                    ^
    hint: begin it with the Delimiter, '/', without leading white space
""",
    ),
    "blank root": (
        document(root=" /u"),
        """
f.xml:2:17: error OSP106 UspaceRoot ' /u' is not an absolute path
    <osp:UspaceRoot> /u</osp:UspaceRoot>
                    ^
    hint: begin it with the Delimiter, '/', without leading white space
""",
    ),
    "blank behind root": (
        document(root="/u\n"),
        """
f.xml:2:17: error OSP106 UspaceRoot '/u\\n' has white space at its end
    <osp:UspaceRoot>/u
                    ^
    hint: it would be a part of every working directory's name: remove it
""",
    ),
    "empty root": (
        document(root=""),
        """
f.xml:2:17: error OSP106 UspaceRoot '' is not an absolute path
    <osp:UspaceRoot></osp:UspaceRoot>
                    ^
    hint: begin it with the Delimiter, '/', without leading white space
""",
    ),
    "empty delimiter": (
        document(delimiter=""),
        """
f.xml:3:1: error OSP106 Delimiter is empty
    <osp:Delimiter></osp:Delimiter>
    ^
    hint: it joins the parts of paths: / on any POSIX system
""",
    ),
    "wrong delimiter": (
        document(delimiter="\\"),
        """
f.xml:2:17: error OSP106 UspaceRoot '/u' is not an absolute path
    <osp:UspaceRoot>/u</osp:UspaceRoot>
                    ^
    hint: begin it with the Delimiter, '\\\\', without leading white space
""",
    ),
    # The schema's rules
    "unknown element": (
        in_template("<idb:Feild/>"),
        """
f.xml:5:1: error OSP104 <Feild> is not expected here, in <Template>
    <idb:Feild/>
    ^
    hint: did you mean Field? allowed here: idb:Description, idb:Invocation, idb:Field
""",
    ),
    "unknown in profile": (
        document("<osp:Tempalte/>"),
        """
f.xml:4:1: error OSP104 <Tempalte> is not expected here, in <Profile>
    <osp:Tempalte/>
    ^
    hint: did you mean Template? allowed here: osp:Template, idb:Template, osp:Storage, osp:Application
""",
    ),
    "wrong order": (
        in_field("<idb:Default>a</idb:Default>\n<idb:Min>1</idb:Min>"),
        """
f.xml:7:1: error OSP104 <Min> is not expected here, in <Field>
    <idb:Min>1</idb:Min>
    ^
    hint: the order is wrong: idb:Min comes before idb:Default
""",
    ),
    "wrong ns": (
        in_field("<osp:Default/>"),
        """
f.xml:6:1: error OSP104 <Default> is not expected here, in <Field>: its namespace is 'http://gpe.intel.com/osprs/profile'
    <osp:Default/>
    ^
    hint: allowed here: idb:Description, idb:Min, idb:Max, idb:Tag, idb:Default, idb:Value
""",
    ),
    "no ns": (
        document("<Template/>"),
        """
f.xml:4:1: error OSP104 <Template> is not expected here, in <Profile>: its namespace is ''
    <Template/>
    ^
    hint: allowed here: osp:Template, idb:Template, osp:Storage, osp:Application
""",
    ),
    "no field name": (
        in_template("<idb:Field/>"),
        """
f.xml:5:1: error OSP104 in <Field>: missing required attribute 'name'
    <idb:Field/>
    ^
""",
    ),
    "bad field name": (
        in_template('<idb:Field name="A B"/>'),
        """
f.xml:5:18: error OSP108 field name 'A B' is not allowed
    <idb:Field name="A B"/>
                     ^
    hint: a name begins with a letter or _ and has only letters, digits, _ . - and at most one : inside
""",
    ),
    "digit field": (
        in_template('<idb:Field name="2A"/>'),
        """
f.xml:5:18: error OSP108 field name '2A' is not allowed
    <idb:Field name="2A"/>
                     ^
    hint: a name begins with a letter or _ and has only letters, digits, _ . - and at most one : inside
""",
    ),
    "empty field name": (
        in_template('<idb:Field name=""/>'),
        """
f.xml:5:18: error OSP108 field name '' is not allowed
    <idb:Field name=""/>
                     ^
    hint: a name begins with a letter or _ and has only letters, digits, _ . - and at most one : inside
""",
    ),
    "unknown attribute": (
        in_template('<idb:Field name="F" settable="true"/>'),
        """
f.xml:5:31: error OSP104 <Field> has no attribute settable
    <idb:Field name="F" settable="true"/>
                                  ^
    hint: did you mean isSettable?
""",
    ),
    "our attribute bare": (
        in_template('<idb:Field name="F" pattern="x"/>'),
        """
f.xml:5:30: error OSP104 <Field> has no attribute pattern
    <idb:Field name="F" pattern="x"/>
                                 ^
    hint: did you mean ext:pattern or ext:patternField?
""",
    ),
    "ext:patern": (
        in_template('<idb:Field name="F"\n ext:patern="x"/>'),
        """
f.xml:6:14: error OSP104 <Field> has no attribute ext:patern
     ext:patern="x"/>
                 ^
    hint: did you mean ext:pattern, ext:patternField or ext:when?
""",
    ),
    "foreign attribute": (
        in_template('<idb:Field name="F" xmlns:x="urn:x" x:y="1"/>'),
        """
f.xml:5:42: error OSP104 <Field> has no attribute {urn:x}y
    <idb:Field name="F" xmlns:x="urn:x" x:y="1"/>
                                             ^
    hint: known: ext:directive, ext:pattern, ext:patternField, ext:requires, ext:type, ext:when, isSettable, name
""",
    ),
    "xml:lang": (
        in_template('<idb:Field name="F" xml:lang="en"/>'),
        """
f.xml:5:31: error OSP104 <Field> has no attribute {http://www.w3.org/XML/1998/namespace}lang
    <idb:Field name="F" xml:lang="en"/>
                                  ^
    hint: known: ext:directive, ext:pattern, ext:patternField, ext:requires, ext:type, ext:when, isSettable, name
""",
    ),
    "bad type": (
        in_template('<idb:Field name="F" ext:type="int"/>'),
        """
f.xml:5:31: error OSP104 attribute type='int': value must be one of ['integer', 'number', 'text']
    <idb:Field name="F" ext:type="int"/>
                                  ^
""",
    ),
    "bad boolean": (
        in_template('<idb:Field name="F" isSettable="yes"/>'),
        """
f.xml:5:33: error OSP104 attribute isSettable='yes': 'yes' is not a boolean value
    <idb:Field name="F" isSettable="yes"/>
                                    ^
    hint: write true or false
""",
    ),
    "bad min": (
        in_field("<idb:Min>few</idb:Min>"),
        """
f.xml:6:10: error OSP104 <Min> is 'few', which is not a number
    <idb:Min>few</idb:Min>
             ^
    hint: as in 10, -3, 1.5 or 2e6
""",
    ),
    "1e": (
        in_field("<idb:Min>1e</idb:Min>"),
        """
f.xml:6:10: error OSP104 <Min> is '1e', which is not a number
    <idb:Min>1e</idb:Min>
             ^
    hint: as in 10, -3, 1.5 or 2e6
""",
    ),
    "empty max": (
        in_field("<idb:Max/>"),
        """
f.xml:6:11: error OSP104 <Max> is '', which is not a number
    <idb:Max/>
              ^
    hint: as in 10, -3, 1.5 or 2e6
""",
    ),
    "nan": (
        in_field("<idb:Max>NaN</idb:Max>"),
        """
f.xml:6:10: error OSP104 Max is NaN, which cannot be a limit
    <idb:Max>NaN</idb:Max>
             ^
""",
    ),
    "hex": (
        in_field("<idb:Max>0x10</idb:Max>"),
        """
f.xml:6:10: error OSP104 <Max> is '0x10', which is not a number
    <idb:Max>0x10</idb:Max>
             ^
    hint: as in 10, -3, 1.5 or 2e6
""",
    ),
    "blank in number": (
        in_field("<idb:Max>\n1 0</idb:Max>"),
        """
f.xml:6:10: error OSP104 <Max> is '\\n1 0', which is not a number
    <idb:Max>
             ^
    hint: as in 10, -3, 1.5 or 2e6
""",
    ),
    "stray text": (
        in_template("text"),
        """
f.xml:5:1: error OSP104 in <Template>: character data between child elements not allowed
    text
    ^
""",
    ),
    "text in field": (
        in_field("text"),
        """
f.xml:6:1: error OSP104 in <Field>: character data between child elements not allowed
    text
    ^
""",
    ),
    "text in storage": (
        document('<osp:Storage name="s" template="T">x</osp:Storage>'),
        """
f.xml:4:36: error OSP104 in <Storage>: character data is not allowed because content is empty
    <osp:Storage name="s" template="T">x</osp:Storage>
                                       ^
""",
    ),
    "nbsp": (
        document("\u00a0"),
        """
f.xml:4:1: error OSP104 Element 'osp:Profile': Character content other than whitespace is not allowed because the content type is 'element-only'.
    �
    ^
""",
    ),
    "child in text": (
        in_field("<idb:Value><b/></idb:Value>"),
        """
f.xml:6:1: error OSP104 in <Value>: a simple content element can't have child elements
    <idb:Value><b/></idb:Value>
    ^
""",
    ),
    "no body": (
        in_template("<idb:Invocation name='a'/>"),
        """
f.xml:5:1: error OSP104 <Invocation> ends too early
    <idb:Invocation name='a'/>
    ^
    hint: it needs idb:Description, idb:Body, idb:StaticScript
""",
    ),
    "two bodies": (
        in_template("<idb:Invocation><idb:Body/><idb:Body/></idb:Invocation>"),
        """
f.xml:5:28: error OSP104 <Body> is not expected here, in <Invocation>
    <idb:Invocation><idb:Body/><idb:Body/></idb:Invocation>
                               ^
    hint: allowed here: nothing else
""",
    ),
    "body and script": (
        in_template(
            '<idb:Invocation><idb:Body/>\n<idb:StaticScript fileName="a" arguments=""/></idb:Invocation>'
        ),
        """
f.xml:6:1: error OSP104 <StaticScript> is not expected here, in <Invocation>
    <idb:StaticScript fileName="a" arguments=""/></idb:Invocation>
    ^
    hint: allowed here: nothing else
""",
    ),
    "script without arguments": (
        in_template('<idb:Invocation><idb:StaticScript fileName="a"/></idb:Invocation>'),
        """
f.xml:5:17: error OSP104 in <StaticScript>: missing required attribute 'arguments'
    <idb:Invocation><idb:StaticScript fileName="a"/></idb:Invocation>
                    ^
""",
    ),
    "script file ../x": (
        in_template('<idb:Invocation><idb:StaticScript fileName="../x" arguments=""/></idb:Invocation>'),
        """
f.xml:5:45: error OSP107 static script file name '../x' is not allowed
    <idb:Invocation><idb:StaticScript fileName="../x" arguments=""/></idb:Invocation>
                                                ^
    hint: a name begins with a letter or digit and has only letters, digits, _ . -
""",
    ),
    "script file -x": (
        in_template('<idb:Invocation><idb:StaticScript fileName="-x" arguments=""/></idb:Invocation>'),
        """
f.xml:5:45: error OSP107 static script file name '-x' is not allowed
    <idb:Invocation><idb:StaticScript fileName="-x" arguments=""/></idb:Invocation>
                                                ^
    hint: a name begins with a letter or digit and has only letters, digits, _ . -
""",
    ),
    "script file empty": (
        in_template('<idb:Invocation><idb:StaticScript fileName="" arguments=""/></idb:Invocation>'),
        """
f.xml:5:45: error OSP107 static script file name '' is not allowed
    <idb:Invocation><idb:StaticScript fileName="" arguments=""/></idb:Invocation>
                                                ^
    hint: a name begins with a letter or digit and has only letters, digits, _ . -
""",
    ),
    "tag without name": (
        in_field("<idb:Tag>a</idb:Tag>"),
        """
f.xml:6:1: error OSP104 in <Tag>: missing required attribute 'name'
    <idb:Tag>a</idb:Tag>
    ^
""",
    ),
    "storage no template": (
        document('<osp:Storage name="s"/>'),
        """
f.xml:4:1: error OSP104 in <Storage>: missing required attribute 'template'
    <osp:Storage name="s"/>
    ^
""",
    ),
    "app no version": (
        document(
            '<osp:Application name="a" template="T"><osp:ApplicationName>x</osp:ApplicationName></osp:Application>'
        ),
        """
f.xml:4:1: error OSP104 <Application> ends too early
    <osp:Application name="a" template="T"><osp:ApplicationName>x</osp:ApplicationName></osp:Application...
    ^
    hint: it needs osp:ApplicationVersion, jsdl:ApplicationVersion
""",
    ),
    # What no schema says
    "two templates": (
        document(template_of("T") + "\n" + template_of("T")),
        """
f.xml:5:21: error OSP105 duplicate template T
    <idb:Template name="T"></idb:Template>
                        ^
    hint: first defined at f.xml:4:1; remove or rename one of them
""",
    ),
    "two unnamed": (
        document(template_of("") + "\n" + "<idb:Template name=''/>"),
        """
f.xml:5:21: error OSP105 duplicate template without a name
    <idb:Template name=''/>
                        ^
    hint: first defined at f.xml:4:1; remove or rename one of them
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
    "two invocations": (
        in_template(invocation("a") + "\n" + invocation("b")),
        """
f.xml:6:1: error OSP105 duplicate variation without a name
    <idb:Invocation><idb:Body><![CDATA[b]]></idb:Body></idb:Invocation>
    ^
    hint: first defined at f.xml:5:1; remove or rename one of them
""",
    ),
    "two named": (
        in_template(invocation("a", "X") + "\n" + invocation("b", "X")),
        """
f.xml:6:23: error OSP105 duplicate variation X
    <idb:Invocation name="X"><idb:Body><![CDATA[b]]></idb:Body></idb:Invocation>
                          ^
    hint: first defined at f.xml:5:1; remove or rename one of them
""",
    ),
    "two fields": (
        in_template(field("F") + "\n" + field("F")),
        """
f.xml:6:18: error OSP105 duplicate field F
    <idb:Field name="F" ></idb:Field>
                     ^
    hint: first defined at f.xml:5:1; remove or rename one of them
""",
    ),
    "two storages": (
        document('<osp:Storage name="s" template="T"/>\n<osp:Storage name="s" template="T"/>'),
        """
f.xml:5:20: error OSP105 duplicate storage s
    <osp:Storage name="s" template="T"/>
                       ^
    hint: first defined at f.xml:4:1; remove or rename one of them
""",
    ),
    "two apps": (
        document(application("a", "x", "1") + "\n" + application("a", "y", "1")),
        """
f.xml:5:24: error OSP105 duplicate application a
    <osp:Application name="a" template="T"><osp:ApplicationName>y</osp:ApplicationName><osp:ApplicationV...
                           ^
    hint: first defined at f.xml:4:1; remove or rename one of them
""",
    ),
    "global invocations": (
        document(template_of("", invocation("x"))),
        """
f.xml:4:15: error OSP108 the unnamed template holds the profile's global fields and has no invocations
    <idb:Template><idb:Invocation><idb:Body><![CDATA[x]]></idb:Body></idb:Invocation></idb:Template>
                  ^
    hint: give the template a name
""",
    ),
    "dangling storage": (
        document(template_of("HOMES") + '<osp:Storage name="s" template="HOME"/>'),
        """
f.xml:4:75: error OSP203 Storage s names template 'HOME', which profile p (f.xml:1:1) does not have
    <idb:Template name="HOMES"></idb:Template><osp:Storage name="s" template="HOME"/>
                                                                              ^
    hint: did you mean HOMES?
""",
    ),
    "dangling app": (
        document(application("a", "x", "1", "RUN")),
        """
f.xml:4:37: error OSP203 Application a names template 'RUN', which profile p (f.xml:1:1) does not have
    <osp:Application name="a" template="RUN"><osp:ApplicationName>x</osp:ApplicationName><osp:Applicatio...
                                        ^
""",
    ),
    "xsi type": (
        in_template(
            '<idb:Field name="F" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="idb:Nope"/>'
        ),
        """
f.xml:5:1: error OSP104 Element 'idb:Field', attribute '{http://www.w3.org/2001/XMLSchema-instance}type': The QName value 'idb:Nope' of the xsi:type attribute does not resolve to a type definition.
    <idb:Field name="F" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="idb:Nope"/>
    ^
""",
    ),
    "bad URI": (
        document('<idb:Template xmlns:x="a b"/>'),
        """
f.xml:4:1: error OSP102 not readable by libxml2: xmlns:x: 'a b' is not a valid URI
    <idb:Template xmlns:x="a b"/>
    ^
""",
    ),
    "many": (
        in_field("<idb:Min>x</idb:Min>\n<idb:Foo/>", 'ext:type="int"').replace("/u<", "u<"),
        """
f.xml:2:17: error OSP106 UspaceRoot 'u' is not an absolute path
    <osp:UspaceRoot>u</osp:UspaceRoot>
                    ^
    hint: begin it with the Delimiter, '/', without leading white space
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


@pytest.mark.parametrize(("text", "told"), BAD.values(), ids=BAD)
def test_bad_document(text: str | bytes, told: str) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(InvalidProfileError) as caught:
        Repository(use_standard_path=False).load_bytes(data, "f.xml")
    assert [line.rstrip() for line in str(caught.value).split("\n")] == told[1:-1].split("\n")
    assert caught.value.exit_code == 3
    assert str(caught.value).startswith(str(caught.value.location))
