"""What a resolved profile gives by name: OS Profile 0.3, 2.2, 3 and 4."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from osprofile import (
    ApplicationNotFoundError,
    OSProfileError,
    Profile,
    StorageNotFoundError,
    TemplateNotFoundError,
)
from osprofile.profile.model import version_sort_key
from osprofile.profile.reader import load_document
from tests.strategies import application, document, invocation, profile, template, template_of

if TYPE_CHECKING:
    from collections.abc import Callable

# Each line: what is asked for, and the whole text of the answer.
LISTED = profile(
    template("LIST", "x"),
    template_of("START", invocation("a", "FAST"), invocation("b", "SLOW")),
    template_of("NONE"),
    '<osp:Storage name="HOME" template="LIST"/>',
    application("b1", "BLAST", "1.9", "LIST"),
    application("b2", "BLAST", "1.10", "LIST"),
)


ASK: dict[str, tuple[Callable[..., object], type[OSProfileError]]] = {
    "template": (LISTED.get_template, TemplateNotFoundError),
    "variation": (lambda t, *v: LISTED.get_template(t).get_invocation(*v), TemplateNotFoundError),
    "storage": (LISTED.get_storage, StorageNotFoundError),
    "application": (LISTED.get_application, ApplicationNotFoundError),
}
PLACE = (
    '<idb:Template name="START"><idb:Invocation name="FAST"><idb:Body><![CDATA[a]]></idb:Body></idb:Invoc...'
)
MISSING = {
    "template LITS": "profile p has no template 'LITS'\n    hint: did you mean LIST?",
    "template list": "profile p has no template 'list'\n    hint: did you mean LIST?",
    "template X": "profile p has no template 'X'\n    hint: known: LIST, NONE, START",
    "variation LIST DIR": (
        "p.xml:4:1: template LIST has no variation 'DIR'\n"
        '    <idb:Template name="LIST"><idb:Invocation><idb:Body><![CDATA[x]]></idb:Body></idb:Invocation></idb:T...\n'
        "    ^\n    hint: it has only the default variation: omit the name"
    ),
    "variation START fats": (
        f"p.xml:5:1: template START has no variation 'fats'\n    {PLACE}\n    ^\n    hint: did you mean FAST?"
    ),
    "variation START": (
        f"p.xml:5:1: template START has no default variation\n    {PLACE}\n    ^\n"
        "    hint: choose a variation: FAST, SLOW"
    ),
    "variation NONE": (
        "p.xml:6:1: template NONE has no default variation\n"
        '    <idb:Template name="NONE"></idb:Template>\n    ^\n'
        "    hint: it has no invocation at all"
    ),
    "storage HOM": "profile p has no storage 'HOM'\n    hint: did you mean HOME?",
    "application BLSAT": "profile p has no application 'BLSAT'\n    hint: did you mean BLAST?",
    "application b1": "profile p has no application 'b1'\n    hint: known: BLAST",
    "application BLAST 2": (
        "profile p has no version '2' of application BLAST\n    hint: there is 1.9, 1.10"
    ),
}


@pytest.mark.parametrize(("ask", "told"), MISSING.items(), ids=MISSING)
def test_what_is_not_there(ask: str, told: str) -> None:
    kind, *names = ask.split()
    get, error = ASK[kind]
    with pytest.raises(error) as caught:
        get(*names)
    assert str(caught.value) == told
    assert caught.value.exit_code == 2


def test_a_hostile_name_is_shown_on_one_line() -> None:
    with pytest.raises(TemplateNotFoundError) as caught:
        LISTED.get_template("\n\x1b[31m" + "x" * 1_000_000)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_global_fields_are_no_template() -> None:
    with pytest.raises(TemplateNotFoundError):
        LISTED.get_template("")


# Versions: each is above the one before it. Numbers are compared as numbers.
VERSIONS = [
    "", "a", "a.1", "b", "0", "0.9", "1", "1.0-beta", "1.0-rc1", "1.0", "1.0.1", "1.0.2", "1.0.2a",
    "1.9", "1.9.9", "1.10", "2", "10", "2007", "2" * 5000,
]  # fmt: skip


def test_versions_are_ordered() -> None:
    shuffled = random.Random(1).sample(VERSIONS, len(VERSIONS))
    assert sorted(shuffled, key=version_sort_key) == VERSIONS
    # leading zeros do not count
    assert version_sort_key("1.010") == version_sort_key("1.10")


# Applications by ApplicationName and ApplicationVersion (OS Profile 0.3, 4): the name asked for, the version, and
# the entity that answers. `far` is the parent profile of `near`.
FAR = [("f1", "BLAST", "1.9"), ("f2", "BLAST", "1.10"), ("f3", "TIE", "1"), ("x", "OVER", "1")]
NEAR = [("n1", "BLAST", "1.2"), ("n3", "TIE", "1"), ("x", "OVER", "0"), ("f2", "BLAST", "1.10")]
FOUND = [
    ("BLAST", None, "near f2"),  # 1.10 is above 1.9
    ("BLAST", "1.9", "far f1"),
    ("BLAST", "1.10", "near f2"),
    ("BLAST", "1.2", "near n1"),
    ("TIE", None, "near n3"),  # of two called the same, the nearer one
    ("TIE", "1", "near n3"),
    ("OVER", None, "near x"),  # overridden whole, whatever its version
]


def test_application() -> None:
    documents = [
        document("".join(application(*a) for a in applications), name=name)
        for name, applications in (("near", NEAR), ("far", FAR))
    ]
    near = Profile([load_document(f"{i}.xml", text.encode()) for i, text in enumerate(documents)])
    for name, version, expected in FOUND:
        found = near.get_application(name, version)
        (where,) = [d.name for d in near.documents if found in d.applications.values()]
        assert f"{where} {found.name}" == expected, name
    with pytest.raises(ApplicationNotFoundError):  # the overridden version is gone
        near.get_application("OVER", "1")


def test_overridden_gives_what_is_above_nearest_first() -> None:
    documents = [
        load_document(name, document(template("T", name) + '<osp:Storage name="S" template="T"/>').encode())
        for name in ("one", "two", "three")
    ]
    found = Profile(documents)
    assert [e.location.file for e in found.list_overridden(found.get_template("T"))] == ["two", "three"]
    assert [e.location.file for e in found.list_overridden(found.get_storage("S"))] == ["two", "three"]
    # A profile of one document overrides nothing.
    assert LISTED.list_overridden(LISTED.get_template("LIST")) == []
    assert repr(LISTED) == "<Profile p>"
