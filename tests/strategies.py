"""Documents for tests in a line or two, and hypothesis strategies for what they and requests hold."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from hypothesis import strategies as st

from osprofile import Repository

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from osprofile import Profile

OSP = "http://gpe.intel.com/osprs/profile"
IDB = "http://gpe.intel.com/idb"
JSDL = "http://schemas.ggf.org/jsdl/2005/06/jsdl"
EXT = "urn:osprofile:extension"
NAMESPACES = f'xmlns:osp="{OSP}" xmlns:idb="{IDB}" xmlns:jsdl="{JSDL}" xmlns:ext="{EXT}"'

# Work


def calls(function: Callable[[], object]) -> int:
    """Count the calls that a function makes: its work, on a busy machine as on an idle one."""
    made = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal made
        made += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return made


# Documents


def document(
    content: str = "", *, name: str = "p", extends: str | None = None, root: str = "/u", delimiter: str = "/"
) -> str:
    """Return a profile document; the content begins on its fourth line, in the first column."""
    parent = "" if extends is None else f" extends={quoteattr(extends)}"
    return (
        f"<osp:Profile {NAMESPACES} name={quoteattr(name)}{parent}>\n"
        f"<osp:UspaceRoot>{escape(root)}</osp:UspaceRoot>\n"
        f"<osp:Delimiter>{escape(delimiter)}</osp:Delimiter>\n"
        f"{content}\n</osp:Profile>\n"
    )


def read_with_texts(path: Path) -> str:
    """Return a profile's document with the texts of its files in it, as the files are written."""

    def include(match: re.Match[str]) -> str:
        name, before, file, after = match.groups()
        text = "".join((path.parent / name).read_text(encoding="utf-8") for name in file.split())
        text = text.removesuffix("\n") if name == "idb:Value" else text
        return f"<{name}{before}{after}>{cdata(text)}</{name}>"

    attributes = r'(?:[^">]|"[^"]*")*?'
    pattern = rf'<(idb:\w+)({attributes})\s+ext:src="([^"]*)"({attributes})(?:/>|></\1>)'
    return re.sub(pattern, include, path.read_text(encoding="utf-8"))


def cdata(text: str) -> str:
    return f"<![CDATA[{text.replace(']]>', ']]]]><![CDATA[>')}]]>"


def invocation(body: str, name: str = "") -> str:
    named = f" name={quoteattr(name)}" if name else ""
    return f"<idb:Invocation{named}><idb:Body>{cdata(body)}</idb:Body></idb:Invocation>"


def static(body: str, file_name: str = "s.sh", arguments: str = "", name: str = "") -> str:
    named = f" name={quoteattr(name)}" if name else ""
    attributes = f"fileName={quoteattr(file_name)} arguments={quoteattr(arguments)}"
    script = f"<idb:StaticScript {attributes}>{cdata(body)}</idb:StaticScript>"
    return f"<idb:Invocation{named}>{script}</idb:Invocation>"


def field(name: str, content: str = "", attributes: str = "") -> str:
    return f"<idb:Field name={quoteattr(name)} {attributes}>{content}</idb:Field>"


def default(value: str) -> str:
    return f"<idb:Default>{escape(value)}</idb:Default>"


def fixed(value: str) -> str:
    return f"<idb:Value>{escape(value)}</idb:Value>"


def tag(name: str, value: str) -> str:
    return f"<idb:Tag name={quoteattr(name)}>{escape(value)}</idb:Tag>"


def template(name: str, body: str, *fields: str) -> str:
    """Return a template with a default variation only."""
    return template_of(name, invocation(body), *fields)


def template_of(name: str, *content: str) -> str:
    named = f" name={quoteattr(name)}" if name else ""
    return f"<idb:Template{named}>{''.join(content)}</idb:Template>"


def application(name: str, application_name: str, version: str, runs: str = "T") -> str:
    return (
        f"<osp:Application name={quoteattr(name)} template={quoteattr(runs)}>"
        f"<osp:ApplicationName>{escape(application_name)}</osp:ApplicationName>"
        f"<osp:ApplicationVersion>{escape(version)}</osp:ApplicationVersion></osp:Application>"
    )


def profile(*content: str, name: str = "p", root: str = "/u", delimiter: str = "/") -> Profile:
    """Return the resolved profile of a document without parents, called `p.xml` in messages."""
    text = document("\n".join(content), name=name, root=root, delimiter=delimiter)
    return Repository(use_standard_path=False).load_bytes(text.encode(), "p.xml")


# What any text of a document can hold: Unicode without surrogates and what XML has not.
XML_CHARACTERS = st.characters(
    codec="utf-8", exclude_characters="".join(map(chr, {*range(32)} - {9, 10})) + "\ufffe\uffff\r"
)
xml_texts = st.text(XML_CHARACTERS, max_size=40)

# What a request can set without being refused: anything but NUL and lone surrogates.
values = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30) | st.sampled_from(
    ["", "<A>", "<A/x/y>", "'", "\\", "$HOME", "`id`", "-rf", "a b", "\n", "\r", "\x85", "\u2028", "%s"]
)
names = st.from_regex(re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,8}(:[A-Za-z0-9_.-]{1,4})?"), fullmatch=True)

_PIECES = [
    "<",
    ">",
    "/",
    "\\",
    "A",
    "B:C",
    "x",
    "\n",
    "<A>",
    "<A/",
    "/y>",
    "\\>",
    "\\/",
    "<<",
    " ",
    "\u00e9",
    "\U0001f40d",
]
bodies = st.lists(st.sampled_from(_PIECES) | xml_texts, max_size=25).map("".join)
"""Texts that are often almost a replacement."""
