"""What a user with a bad profile sees: place, remedy, exit code; no traceback.

Each case is run as a real process, in an empty directory in which nothing may be written.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import run_process

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
 xmlns:idb="http://gpe.intel.com/idb" xmlns:ext="urn:osprofile:extension" name="{}"{}>
<osp:UspaceRoot>/var/tmp</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
"""
BODY = '<idb:Template name="T"><idb:Invocation><idb:Body><![CDATA[{}]]></idb:Body></idb:Invocation>{}</idb:Template>'
TAIL = "\n</osp:Profile>"
LAUGHS = (
    '<!DOCTYPE l [<!ENTITY a "lol">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + "]>"
)


def a_profile(name: str = "p", attributes: str = "", body: str = "x", fields: str = "") -> str:
    """Return a document with one template T."""
    return HEAD.format(name, attributes) + BODY.format(body, fields) + TAIL


CASES = {
    # what: (documents, words behind T, exit code, begin of the message, a piece of the hint)
    "malformed": (["<a><b></a>"], [], 3, "p.xml:1:9: error OSP102 not well-formed XML", "is it closed"),
    "no XML at all": (["hello"], [], 3, "p.xml:1:1: error OSP102", ""),
    "empty": ([""], [], 3, "p.xml:1:1: error OSP102", ""),
    "schema": (
        [a_profile().replace("<osp:Delimiter>/</osp:Delimiter>", "")], [], 3,
        "p.xml:4:1: error OSP104 <Template> is not expected here", "allowed here: osp:Delimiter",
    ),
    "DTD": (["<!DOCTYPE p [<!ELEMENT p ANY>]>" + a_profile()], [], 3, "p.xml:1:1: error OSP103", "remove the"),
    "billion laughs": ([LAUGHS + a_profile(body="&i;")], [], 3, "p.xml:1:1: error OSP103", "remove the"),
    "100 MB": ([], [], 3, "error OSP101 ", "is this the right file?"),
    "missing parent": (
        [a_profile(attributes=' extends="q"')], [], 3,
        "p.xml:2:93: error OSP201 profile p extends 'q', and there is no profile of that name", "known: ",
    ),
    "cycle": (
        [a_profile(attributes=' extends="q"'), a_profile("q", ' extends="p"')], [], 3,
        "./q.xml:2:93: error OSP202 profiles extend each other: p (p.xml:1:1) -> q (./q.xml:1:1) -> p", "must not",
    ),
    "bad regex": (
        [a_profile(body="<A/(x/y>", fields='<idb:Field name="A"><idb:Default/></idb:Field>')], [], 3,
        "p.xml:4:64: error OSP401 in <A/...>: bad Java regular expression: ", "",
    ),
    "bad pattern": (
        [a_profile(body="<A>", fields='<idb:Field name="A" ext:pattern="[a"/>')], ["-s", "A=x"], 3,
        "p.xml:4:", "",
    ),
    "undeclared": (
        [a_profile(body="cat <data/in/x >y", fields="")], [], 1,
        "incarnate: p.xml:4:63: <data> is not declared in template T", "< data",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_input(case: str, tmp_path: Path) -> None:
    documents, words, code, begin, hint = CASES[case]
    for name, document in zip(("p", "q"), documents, strict=False):
        (tmp_path / f"{name}.xml").write_text(document)
    if case == "100 MB":
        with (tmp_path / "p.xml").open("wb") as file:
            file.truncate(100_000_000)
    before = sorted(os.listdir(tmp_path))
    ended = run_process("T", "-p", "p.xml", "--profiles", ".", *words, cwd=tmp_path, HOME=str(tmp_path))
    assert (ended.code, ended.out) == (code, ""), ended.err
    assert ended.err.startswith(begin) or (case == "100 MB" and begin in ended.err)
    assert hint in ended.err
    assert sorted(os.listdir(tmp_path)) == before
