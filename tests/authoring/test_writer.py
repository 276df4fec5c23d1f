"""A resolved profile written as one document reads as the same profile again."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile import Profile, Repository, load
from osprofile.authoring.writer import profile_to_xml
from tests.strategies import XML_CHARACTERS, document, names, profile


def said(resolved: Profile) -> object:
    """Return all that a profile says, without where."""

    def fields(found: object) -> object:
        return [(n, f.description, f.comparison_key()) for n, f in found.items()]  # type: ignore[attr-defined]

    def script(invocation: object) -> object:
        found = invocation.static_script  # type: ignore[attr-defined]
        return found and (found.file_name, found.arguments.text, found.body.text)

    return (
        resolved.name, resolved.uspace_root, resolved.delimiter, fields(resolved.global_fields),
        [
            (t.name, t.description, fields(t.fields), [
                (i.name, i.description, i.body and i.body.text, script(i))
                for i in t.invocations.values()
            ])
            for t in resolved.templates.values()
        ],
        [s[:-1] for s in resolved.storages.values()],
        [a[:-1] for a in resolved.applications.values()],
    )  # fmt: skip


def again(resolved: Profile) -> Profile:
    return Repository(use_standard_path=False).load_bytes(profile_to_xml(resolved).encode(), "flat.xml")


@pytest.mark.parametrize("name", ["linux", "pbs", "torque", "slurm", "sge", "lsf"])
def test_bundled_profiles(name: str) -> None:
    resolved = load(name)
    assert said(again(resolved)) == said(resolved)


texts = st.text(XML_CHARACTERS | st.sampled_from("]]>&<\"'\t\n "), max_size=12) | st.sampled_from(
    ["]]>", "]]", "]]>]]>", "<![CDATA[", "&lt;", " x ", "\n"]
)
numbers = st.floats(allow_nan=False)


@st.composite
def fields(draw: st.DrawFn, name: str) -> str:
    content = ""
    for limit in ("Min", "Max"):
        if draw(st.booleans()):
            number = repr(draw(numbers)).replace("inf", "INF")
            content += f"<idb:{limit}>{number}</idb:{limit}>"
    for tag in draw(st.lists(texts, max_size=2)):
        content += f"<idb:Tag name={quoteattr(tag)}>{escape(draw(texts))}</idb:Tag>"
    for value in ("Default", "Value"):
        if draw(st.booleans()):
            content += f"<idb:{value}>{escape(draw(texts))}</idb:{value}>"
    attributes = draw(st.sampled_from(["", 'isSettable="false"', 'ext:type="text"']))
    if draw(st.booleans()):
        attributes += f" ext:pattern={quoteattr(draw(texts))}"
    return f"<idb:Field name={quoteattr(name)} {attributes}>{content}</idb:Field>"


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    content = ""
    for name in draw(st.lists(texts, max_size=3, unique=True)):
        inside = ""
        if name:
            inside += f"<idb:Description>{escape(draw(texts))}</idb:Description>"
            for variation in draw(st.lists(texts, max_size=2, unique=True)):
                body = f"<idb:Body>{escape(draw(texts))}</idb:Body>"
                if draw(st.booleans()):
                    arguments = quoteattr(draw(texts))
                    body = f'<idb:StaticScript fileName="a" arguments={arguments}>{escape(draw(texts))}</idb:StaticScript>'
                inside += f"<idb:Invocation name={quoteattr(variation)}>{body}</idb:Invocation>"
        for field in draw(st.lists(names, max_size=2, unique=True)):
            inside += draw(fields(field))
        content += f"<idb:Template name={quoteattr(name)}>{inside}</idb:Template>"
    return profile(content)


@given(profiles())
def test_any_profile(resolved: Profile) -> None:
    assert said(again(resolved)) == said(resolved)
    assert profile_to_xml(again(resolved)) == profile_to_xml(resolved)


def test_carriage_returns_stay() -> None:
    text = "a&#13;b&#13;&#10;c]]&gt;"
    content = f"<idb:Template name='&#13;&#9;&#10;'><idb:Invocation><idb:Body>{text}</idb:Body></idb:Invocation></idb:Template>"
    resolved = Repository(use_standard_path=False).load_bytes(document(content).encode(), "f")
    assert said(again(resolved)) == said(resolved)
    body = again(resolved).templates["\r\t\n"].invocations[""].body
    assert body is not None
    assert body.text == "a\rb\r\nc]]>"
