"""Limits and defaults that hold for one value of another field: `ext:for`; docs/language.md, Cases."""

from __future__ import annotations

import grp
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile import (
    Incarnation,
    InvalidProfileError,
    MissingValueError,
    Repository,
    ValueRefusedError,
    incarnate,
)
from osprofile.authoring.difference import compare_profiles
from osprofile.authoring.trace import trace_fields
from osprofile.authoring.writer import profile_to_xml
from osprofile.incarnation.context import add_user_groups, get_user_name
from osprofile.lint import lint_profile
from tests.strategies import default, document, field, profile, tag, template, template_of

if TYPE_CHECKING:
    from pathlib import Path


def limit(low: int | None = None, high: int | None = None) -> str:
    minimum = "" if low is None else f"<idb:Min>{low}</idb:Min>"
    return minimum + ("" if high is None else f"<idb:Max>{high}</idb:Max>")


def case(name: str, condition: str, content: str = "", pattern: str = "") -> str:
    attribute = f' ext:pattern="{pattern}"' if pattern else ""
    return field(name, content, f'ext:for="{condition}"{attribute}')


NUMBER = 'ext:type="integer"'
QUEUE = field(
    "QUEUE",
    tag("quick", "debug") + tag("any", "auto") + default("short"),
    'ext:pattern="(debug|short|long|gpu)(,(short|long))*"',
)
FIELDS = [
    QUEUE,
    field("TIME", limit(1, 1000) + default(""), NUMBER),
    field("NODES", limit(1, 100) + default("1"), NUMBER),
    field("GPUS", limit(0, 8) + default(""), NUMBER),
    field("ACCOUNT", default("")),
]
CASES = [
    case("TIME", "QUEUE=debug", limit(high=30) + default("10")),
    case("NODES", "QUEUE=debug", limit(high=2)),
    case("GPUS", "QUEUE=debug", limit(high=0)),
    case("TIME", "QUEUE=short", limit(high=240)),
    case("GPUS", "QUEUE=short", limit(high=0)),
    case("GPUS", "QUEUE=long", limit(high=0)),
    case("NODES", "QUEUE=long", limit(high=10) + default("2")),
    case("GPUS", "QUEUE=gpu", limit(1, 4) + default("1")),
    case("USER_GROUPS", "QUEUE=gpu", pattern="ai|staff"),
    case("ACCOUNT", "USER_GROUPS=physics", default("phys")),
    case("ACCOUNT", "USER_GROUPS=ai", default("it's")),
    case("QUEUE", "USER_GROUPS=students", default("debug"), pattern="debug|short"),
]
BODY = "q=<QUEUE> t=<TIME> n=<NODES> g=<GPUS> a='<ACCOUNT/'/'\\\\''>'"
SITE = profile(template_of("", *FIELDS, *CASES), template("T", BODY), template("NONE", "n=<NODES>"))

ACCEPTED = [  # request, groups, text
    ({}, "", "q=short t= n=1 g= a=''"),
    ({"QUEUE": "debug"}, "", "q=debug t=10 n=1 g= a=''"),
    ({"QUEUE": "quick"}, "", "q=debug t=10 n=1 g= a=''"),
    ({"QUEUE": "debug", "TIME": "30"}, "", "q=debug t=30 n=1 g= a=''"),
    ({"QUEUE": "debug", "TIME": ""}, "", "q=debug t=10 n=1 g= a=''"),  # empty is "not given", as everywhere
    ({"QUEUE": "long", "TIME": "999"}, "", "q=long t=999 n=2 g= a=''"),
    ({"QUEUE": "gpu"}, "users staff", "q=gpu t= n=1 g=1 a=''"),
    ({"QUEUE": "gpu"}, "", "q=gpu t= n=1 g=1 a=''"),  # of whom nothing is known, the batch system decides
    ({}, "physics users", "q=short t= n=1 g= a='phys'"),
    ({}, "physics ai", "q=short t= n=1 g= a='it'\\''s'"),  # of two, the later declaration
    ({"ACCOUNT": "own"}, "physics", "q=short t= n=1 g= a='own'"),
    ({}, "students", "q=debug t=10 n=1 g= a=''"),  # the group's queue, and then the queue's time
    ({"QUEUE": "short,long", "TIME": "200"}, "", "q=short,long t=200 n=2 g= a=''"),
    ({"QUEUE": "auto"}, "", "q=debug t=10 n=1 g= a=''"),
    ({"QUEUE": "any", "TIME": "31"}, "", "q=short t=31 n=1 g= a=''"),
    ({"QUEUE": "auto", "TIME": "31"}, "", "q=short t=31 n=1 g= a=''"),
    ({"QUEUE": "auto", "NODES": "3"}, "", "q=short t= n=3 g= a=''"),
    ({"QUEUE": "auto", "TIME": "241"}, "", "q=long t=241 n=2 g= a=''"),
    ({"QUEUE": "auto", "GPUS": "2"}, "ai", "q=gpu t= n=1 g=2 a='it'\\''s'"),
]


@pytest.mark.parametrize(("request_fields", "groups", "text"), ACCEPTED)
def test_what_is_accepted(request_fields: dict[str, str], groups: str, text: str) -> None:
    assert start(request_fields, groups).text == text


def start(request_fields: dict[str, str], groups: str = "") -> Incarnation:
    context = {"USER_GROUPS": groups} if groups else {}
    return incarnate(SITE, "T", fields=request_fields, context=context)


REFUSED = [  # request, groups, the field, words of the message and of the hint
    (
        {"QUEUE": "debug", "TIME": "31"}, "",
        "TIME", "'31' is above the Max of 30 for QUEUE debug",
        "allowed: at most 30; QUEUE short accepts this request",
    ),
    ({"QUEUE": "debug", "TIME": "1001"}, "", "TIME", "'1001' is above the Max of 1000", "1 to 1000"),
    ({"QUEUE": "gpu", "GPUS": "0"}, "", "GPUS", "'0' is below the Min of 1 for QUEUE gpu", "allowed: 1 to 4; QUEUE debug accepts"),
    ({"QUEUE": "gpu", "GPUS": "5"}, "", "GPUS", "for QUEUE gpu", "allowed: 1 to 4"),
    (
        {"QUEUE": "gpu"}, "users physics",
        "QUEUE", "QUEUE gpu is for the groups ai|staff, and the user is in users, physics",
        "QUEUE debug accepts",
    ),
    ({"QUEUE": "long"}, "students", "QUEUE", "'long' does not match the pattern debug|short for USER_GROUPS students", ""),
    ({"QUEUE": "short,long", "TIME": "241"}, "", "TIME", "for QUEUE short", "QUEUE long accepts"),
    (
        {"QUEUE": "auto", "NODES": "11", "TIME": "900", "GPUS": "0"}, "",
        "QUEUE",
        (
            "none of debug (TIME: '900' is above the Max of 30), short (TIME: '900' is above the Max of 240), "
            "long (NODES: '11' is above the Max of 10)"
        ),
        "",
    ),
    ({"QUEUE": "auto", "NODES": "many"}, "", "NODES", "'many' is not an integer", "digits only"),
    ({"QUEUE": "auto", "GPUS": "2"}, "physics", "QUEUE", "gpu (QUEUE gpu is for the groups ai|staff, and the user is in physics)", ""),
    ({"QUEUE": "auto", "GPUS": "9"}, "", "GPUS", "'9' is above the Max of 8", ""),
]  # fmt: skip


@pytest.mark.parametrize(("request_fields", "groups", "name", "words", "hint"), REFUSED)
def test_what_is_refused(
    request_fields: dict[str, str], groups: str, name: str, words: str, hint: str
) -> None:
    with pytest.raises(ValueRefusedError) as caught:
        start(request_fields, groups)
    assert caught.value.field == name
    assert words in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.location is not None


@pytest.mark.parametrize("queue", ["debug", "debug@server", "other,debug@node1"])
def test_a_queue_with_its_server_or_host_has_the_limits_of_the_queue(queue: str) -> None:
    """As PBS and Grid Engine take them."""
    fields = [field("QUEUE", default("")), case("USER_GROUPS", "QUEUE=debug", pattern="staff")]
    site = profile(template_of("", *fields), template("T", "<QUEUE>"))
    with pytest.raises(ValueRefusedError, match="QUEUE debug is for the groups staff"):
        incarnate(site, "T", fields={"QUEUE": queue}, context={"USER_GROUPS": "users"})
    assert incarnate(site, "T", fields={"QUEUE": queue}, context={"USER_GROUPS": "staff"}).text == queue


def test_a_group_with_a_blank_in_its_name_is_one_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an Active Directory has them."""
    site = profile(template_of("", field("Q", default("")), case("USER_GROUPS", "Q=q", pattern="staff")))
    monkeypatch.setattr(grp, "getgrgid", lambda _: SimpleNamespace(gr_name="linux staff"))
    assert {*add_user_groups(site, {"USER_NAME": get_user_name()})["USER_GROUPS"].split()} == {"linux_staff"}


@pytest.mark.parametrize("groups", ["physics", ""])
def test_a_request_that_fits_no_queue_is_not_asked_for_its_account(groups: str) -> None:
    """The account is that of the group, or is asked for when a queue has been found."""
    queue, time = field("QUEUE", default("auto")), field("TIME", default(""), NUMBER)
    account = field("ACCOUNT", "", 'ext:pattern="[a-z]+"')
    cases = [
        case("TIME", "QUEUE=debug", limit(high=30)),
        case("ACCOUNT", "USER_GROUPS=physics", default("phys")),
    ]
    site = profile(template_of("", queue, time, account, *cases), template("T", "<QUEUE> <TIME> <ACCOUNT>"))
    with pytest.raises(ValueRefusedError, match="none of debug \\(TIME: '31' is above the Max of 30"):
        incarnate(site, "T", fields={"TIME": "31"}, context={"USER_GROUPS": groups})


def test_a_template_without_the_deciding_field_has_no_cases() -> None:
    assert incarnate(SITE, "NONE", fields={"NODES": "50"}).text == "n=50"


def test_auto_is_a_usual_value_where_the_site_has_one() -> None:
    queue, time = field("QUEUE", default("")), field("TIME", default(""), NUMBER)
    body = template("T", "<QUEUE> <TIME>")
    own = profile(template_of("", queue, time, case("TIME", "QUEUE=auto", limit(high=5))), body)
    with pytest.raises(ValueRefusedError, match="for QUEUE auto"):
        incarnate(own, "T", fields={"QUEUE": "auto", "TIME": "6"})
    tagged = field("QUEUE", tag("auto", "any") + default(""))
    other = profile(template_of("", tagged, time, case("TIME", "QUEUE=any", limit(high=5))), body)
    assert incarnate(other, "T", fields={"QUEUE": "auto", "TIME": "5"}).text == "any 5"
    without = profile(template_of("", queue, time), body)
    assert incarnate(without, "T", fields={"QUEUE": "auto"}).text == "auto "


def test_where_a_value_comes_from() -> None:
    found = start({"QUEUE": "auto", "TIME": "20"}, "ai")
    assert found.choices == {"QUEUE": "debug"}
    assert [str(c.selection) for c in found.cases] == ["USER_GROUPS ai", *["QUEUE debug"] * 3]
    account = found.fields["ACCOUNT"]
    assert (account.origin, account.value) == ("default", "it's")
    traces = {t.name: t for t in trace_fields(found)}
    assert traces["QUEUE"].choice == "debug"
    assert [c.constraint for c in traces["TIME"].checks if c.name == "Max"] == ["1000", "30 for QUEUE debug"]
    sources = traces["ACCOUNT"].sources
    assert [(s.origin, s.value) for s in sources] == [("default", "it's"), ("default", "")]
    assert sources[0].location != sources[1].location


def test_a_child_changes_one_case_and_keeps_the_others(tmp_path: Path) -> None:
    own = [case("TIME", "QUEUE=debug", limit(high=60)), case("NODES", "QUEUE=debug")]
    parent = template_of("", *FIELDS, *CASES) + template("T", BODY)
    (tmp_path / "parent.xml").write_text(document(parent, name="parent"))
    (tmp_path / "child.xml").write_text(document(template_of("", *own), name="child", extends="parent"))
    child = Repository([tmp_path], use_standard_path=False).load("child")
    assert len(child.cases) == len(CASES)
    for request, text in (
        ({"QUEUE": "debug", "TIME": "60"}, "q=debug t=60 n=1 g= a=''"),
        ({"QUEUE": "auto", "TIME": "61"}, "q=short t=61 n=1 g= a=''"),
        # the empty case has no limit, and no Default
        ({"QUEUE": "debug", "NODES": "50"}, "q=debug t= n=50 g= a=''"),
    ):
        assert incarnate(child, "T", fields=request).text == text


BAD = [  # what is wrong, the words
    (field("NODES", limit(high=2), 'ext:for="debug"'), "this is not NAME=VALUE"),
    (field("NODES", limit(high=2), 'ext:for="QUEUE="'), "this is not NAME=VALUE"),
    (field("NODES", limit(high=2), 'ext:for="QUEUE=a,b"'), "this is not NAME=VALUE"),
    (field("NODES", limit(high=2), 'ext:for="QUEUE=a" ext:type="integer"'), "but also type"),
    (field("NODES", "<idb:Value>2</idb:Value>", 'ext:for="QUEUE=a"'), "but also <Value>"),
    (case("NODES", "QUEUE=debug"), "duplicate case of field NODES for QUEUE debug"),
    (case("NOODLES", "QUEUE=a"), "'NOODLES' is no field of profile p"),
    (case("NODES", "QEUEU=a"), "'QEUEU' is no field of profile p"),
    (case("QUEUE", "NODES=4", pattern="long"), "depends on QUEUE, which depends on another field itself"),
]


def test_a_case_in_a_template() -> None:
    with pytest.raises(InvalidProfileError, match="belongs to template T"):
        profile(template_of("", *FIELDS), template("T", BODY, case("NODES", "QUEUE=debug", limit(high=2))))


@pytest.mark.parametrize(("declared", "words"), BAD)
def test_cases_that_are_no_cases(declared: str, words: str) -> None:
    with pytest.raises(InvalidProfileError) as caught:
        profile(template_of("", *FIELDS, *CASES, declared), template("T", BODY))
    problem = next(p for p in caught.value.problems if words in p.message)
    assert problem.code == "OSP215"
    assert problem.location is not None
    assert problem.hint


def test_a_flattened_profile_has_the_same_cases() -> None:
    again = Repository(use_standard_path=False).load_bytes(profile_to_xml(SITE).encode(), "flat.xml")
    assert not compare_profiles(SITE, again)
    other = profile(template_of("", *FIELDS, *CASES[1:]), template("T", BODY), template("NONE", "n=<NODES>"))
    (change,) = compare_profiles(SITE, other)
    assert change.kind == "removed"
    assert [str(part.name) for part in change.path] == ["TIME", "QUEUE debug"]


NUMBERS = st.none() | st.integers(0, 1100).map(str)


@given(NUMBERS, NUMBERS, NUMBERS, st.sampled_from(["", "ai", "physics"]))
def test_auto_takes_the_first_queue_that_accepts_the_request(
    time: str | None, nodes: str | None, gpus: str | None, groups: str
) -> None:
    given_values = {n: v for n, v in (("TIME", time), ("NODES", nodes), ("GPUS", gpus)) if v is not None}
    expected = None
    for queue in ("debug", "short", "long", "gpu"):
        try:
            expected = start({**given_values, "QUEUE": queue}, groups).text
        except ValueRefusedError:
            continue
        break
    if expected is None:
        with pytest.raises(ValueRefusedError):
            start({**given_values, "QUEUE": "auto"}, groups)
    else:
        assert start({**given_values, "QUEUE": "auto"}, groups).text == expected


def test_a_required_field_is_told_before_the_queues() -> None:
    fields = [QUEUE, field("TIME", "", NUMBER), case("TIME", "QUEUE=debug", limit(high=5))]
    made = profile(template_of("", *fields), template("T", "<QUEUE> <TIME>"))
    with pytest.raises(MissingValueError):
        incarnate(made, "T", fields={"QUEUE": "debug"})


def test_a_case_that_refuses_the_default_and_a_misspelt_value() -> None:
    queue = field("QUEUE", default(""), 'ext:pattern="debug|short"')
    time = field("TIME", default("300"), NUMBER)
    cases = [
        case("TIME", "QUEUE=debug", limit(high=100)),
        case("TIME", "QUEUE=shrot", limit(high=600)),
        case("TIME", "QUEUE=short", limit(high=200) + default("60")),
    ]
    made = profile(template_of("", queue, time, *cases), template("T", "<QUEUE> <TIME>"))
    found = [(p.message, p.hint) for p in lint_profile(made) if p.code == "OSP317"]
    assert found == [
        (
            "a job without TIME is refused for QUEUE debug: the Default of field TIME: '300' is above the Max of 100",
            "give the case a Default, too",
        ),
        ("field TIME has a case for QUEUE shrot, which field QUEUE cannot have", "did you mean short?"),
    ]
