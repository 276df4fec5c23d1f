"""Laws of incarnation: a plain reference gives the same; only our errors come out; it is pure."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile import (
    Incarnation,
    JavaRegexTimeoutError,
    OSProfileError,
    Profile,
    deployment_script,
    incarnate,
    javaregex,
    load,
)
from tests.incarnation.parts import bin_template
from tests.javaregex.test_hostile import short_deadline
from tests.strategies import (
    bodies,
    default,
    document,
    field,
    fixed,
    names,
    profile,
    static,
    tag,
    template,
    template_of,
    values,
    xml_texts,
)

__all__ = ["short_deadline"]

# A reference of the rules, as plain as they can be written down


def reference(
    body: str, fields: dict[str, dict[str, str]], request: dict[str, str], context: dict[str, str]
) -> str:
    """OS Profile 0.3, 2.1 and 2.3, literally. A field: Value, Default and tags (`=name`)."""

    def replace(found: re.Match[str]) -> str:
        name, from_, to = found.groups()
        rules = fields.get(name, {})
        sources = (rules.get("Value"), request.get(name), context.get(name), rules.get("Default"))
        given_value = next(value for value in sources if value is not None)
        value = rules.get("=" + given_value, given_value)
        return value if from_ is None else javaregex.replace_all(value, from_, to)

    name = r"[A-Za-z_][A-Za-z0-9_.-]*(?::[A-Za-z0-9_.-]+)?"
    two = r"(?:/((?:[^\\/\r\n]|\\[^\r\n])*)/((?:[^\\>\r\n]|\\[^\r\n])*))?"
    return re.sub(f"(?<!<)<({name}){two}>", replace, body)


FIELDS = ["A", "B", "C:x", "D.e"]
FROM_TO = [
    "", "", "/x/y", "/'/'\\\\''", "/\\//|", "/(a)(b)?/$2-$1", "/[a-c]+/\\>", "//.", "/$/!", "/(?s)^(.+)\\z/#PBS -q $1",
    "/a|b/\\$", "/./$0$0", "/\\>/<", "/</\\>", "/\\\\/\\\\\\\\",
]  # fmt: skip
uses = st.builds(lambda name, rest: f"<{name}{rest}>", st.sampled_from(FIELDS), st.sampled_from(FROM_TO))
NAMED = re.compile(r"<([A-Za-z_][A-Za-z0-9_.-]*(?::[A-Za-z0-9_.-]+)?)[/>]")
script = (
    st.lists(uses | xml_texts | st.sampled_from(["<", "<<", " < ", "\n"]), max_size=8)
    .map("".join)
    # Random text behind a "<" may happen to name something else.
    .filter(lambda body: {*NAMED.findall(body)} <= {*FIELDS})
)
small = st.sampled_from(["", "a", "b", "ab", "<A>", "it's", "a/b>c", "x\ny", "\\", "$1", "é"]) | values
xml_values = xml_texts | st.sampled_from(["", "a", "b", "<A>", "it's"])


@st.composite
def declarations(draw: st.DrawFn) -> dict[str, dict[str, str]]:
    declared = {}
    for name in FIELDS:
        rules = {"Default": draw(xml_values)}
        if draw(st.integers(0, 3)) == 0:
            rules["Value"] = draw(xml_values)
        for given_value in draw(st.lists(st.sampled_from(["a", "b", "ab"]), max_size=2, unique=True)):
            rules["=" + given_value] = draw(xml_values)
        declared[name] = rules
    return declared


def written(rules: dict[str, str]) -> str:
    tags = "".join(tag(key[1:], value) for key, value in rules.items() if key[0] == "=")
    value = fixed(rules["Value"]) if "Value" in rules else ""
    return tags + default(rules["Default"]) + value


requests = st.dictionaries(st.sampled_from(FIELDS), small, max_size=3)


@given(script, declarations(), requests, requests)
def test_incarnation_is_what_the_rules_say(
    body: str, declared: dict[str, dict[str, str]], request: dict[str, str], context: dict[str, str]
) -> None:
    made = profile(template("T", body, *(field(n, written(r)) for n, r in declared.items())))
    found = incarnate(made, "T", fields=request, context=context, strict=False)
    assert found.text == reference(body, declared, request, context)


@given(script, requests)
def test_a_template_of_replacements_is_the_join_of_its_parts(body: str, request: dict[str, str]) -> None:
    declared = [field(name, default("d")) for name in FIELDS]
    whole = profile(template("T", f"{body}\n{body}", *declared))
    once = profile(template("T", body, *declared))
    text = incarnate(once, "T", fields=request, strict=False).text
    assert incarnate(whole, "T", fields=request, strict=False).text == f"{text}\n{text}"


@given(xml_texts)
def test_literal_text_survives(text: str) -> None:
    literal = text.replace("<", " < ")
    assert incarnate(profile(template("T", literal)), "T").text == literal


# Whatever the body and the request, only our errors come out


def told(error: OSProfileError) -> str:
    assert all(line.isprintable() for line in str(error).split("\n"))
    assert error.message
    return str(error)


def attempt(made: Profile, **arguments: object) -> Incarnation | str:
    try:
        return incarnate(made, "T", **arguments)  # type: ignore[arg-type]
    except OSProfileError as error:
        return told(error)


@given(
    bodies,
    st.dictionaries(names | st.text(max_size=5), values | st.text(max_size=5), max_size=4),
    st.booleans(),
)
def test_random_bodies_and_requests(body: str, request: dict[str, str], strict: bool) -> None:
    fields = (field("A", default("x")), field("B:C", "<idb:Min>1</idb:Min>" + default("1")))
    made = profile(template("T", body, *fields))
    attempt(made, fields=request, strict=strict)
    attempt(made, fields=request, context=request)
    attempt(made, context={**request, "x": "y"})


RULES = [
    'ext:type="integer"', 'ext:type="number"', 'ext:pattern="[a-z]{1,3}"', 'ext:pattern="(a+)+$"',
    'ext:pattern="("', 'isSettable="false"', "",
]  # fmt: skip
numbers_and_more = (
    values | st.from_regex(r"[+-]?[0-9.]{1,20}(e[+-]?[0-9]{1,25})?", fullmatch=True) | st.text()
)


@given(
    st.sampled_from(RULES),
    numbers_and_more,
    st.sampled_from(["", "<idb:Min>-1e9</idb:Min>", "<idb:Max>5</idb:Max>"]),
)
def test_random_values(rule: str, value: str, limit: str) -> None:
    made = profile(template("T", "<A> <A:HMS> <A/(.)/[$1]>", field("A", limit + default("1"), rule)))
    attempt(made, fields={"A": value})
    attempt(made, context={"A": value})


@given(st.text(max_size=12), st.text(max_size=12), st.none() | st.text(max_size=12))
def test_random_names(name: str, variation: str, application: str | None) -> None:
    made = profile(template("T", "x"))
    try:
        incarnate(made, name, variation=variation, application=application)
    except OSProfileError as error:
        told(error)


BUNDLED = {name: load(name) for name in ("linux", "pbs", "torque", "slurm", "sge", "lsf")}
SETTABLE = ["EXECUTABLE", "ARGUMENTS", "ENVIRONMENT", "QUEUE", "NODES", "WALLTIME", "STDIN", "JOB_NAME"]
ordinary = st.sampled_from(["1", "60", "'a b'", "export A='b'\n", "/bin/date"])


@pytest.mark.parametrize("name", BUNDLED)
@given(request=st.dictionaries(st.sampled_from(SETTABLE), values | ordinary))
def test_random_requests_to_the_bundled_profiles(name: str, request: dict[str, str]) -> None:
    context = {"USER_NAME": "u", "WORKING_DIRECTORY": "/w"}
    try:
        incarnate(BUNDLED[name], "START", fields=request, context=context)
    except OSProfileError as error:
        told(error)


# What takes too long is refused, and so is what Java refuses


SLOW = "(?:(a|b|ab)*)*\\1c"
TOO_SLOW = {
    "a pattern": (template("T", "<Z><A>", field("Z"), field("A", "", f'ext:pattern="{SLOW}"')), "A"),
    "a replacement": (template("T", f"<Z><A/{SLOW}/x>", field("Z"), field("A")), "A"),
}


@pytest.mark.usefixtures("short_deadline")
@pytest.mark.parametrize(("content", "name"), TOO_SLOW.values(), ids=TOO_SLOW)
def test_a_pattern_that_takes_too_long_names_its_field(content: str, name: str) -> None:
    with pytest.raises(JavaRegexTimeoutError) as caught:
        incarnate(profile(content), "T", fields={"Z": "z", "A": "ab" * 60})
    assert caught.value.exit_code == 1
    assert caught.value.message == (
        f"field {name}: the pattern {SLOW!r} takes too long on a value of 120 characters"
    )


def test_a_bad_pattern_is_told_at_its_place() -> None:
    declared = field("A", default("x"), 'ext:pattern="a("')
    made = profile(template("T", "<A>", f"\n{declared}"))
    with pytest.raises(OSProfileError) as caught:
        incarnate(made, "T")
    assert caught.value.exit_code == 3
    assert str(caught.value).split("\n")[:3] == [
        "p.xml:5:36: error OSP401 field A: bad Java regular expression: Unclosed group",
        f"    {declared}</idb:Template>",
        f"    {' ' * 35}^",
    ]


# Purity


def test_same_input_same_output_and_nothing_changed() -> None:
    made = BUNDLED["pbs"]
    request = MappingProxyType({"QUEUE": "long", "WALLTIME": "90", "EXECUTABLE": "it's"})
    context = MappingProxyType({"USER_NAME": "u", "WORKING_DIRECTORY": "/w"})
    first = incarnate(made, "START", fields=request, context=context)
    kept = copy.copy(first.text)
    incarnate(made, "START", context=context)
    again = incarnate(load("pbs"), "START", fields=request, context=context)
    assert first.text == kept == again.text
    assert [f[:-1] for f in first.fields.values()] == [f[:-1] for f in again.fields.values()]


def test_an_incarnation_keeps_what_it_was_made_of() -> None:
    made = profile(template("T", "<A><B>", field("A"), field("B")))
    request, context = {"A": "a"}, {"B": "b"}
    found = incarnate(made, "T", fields=request, context=context)
    request.clear()
    context.clear()
    assert [(f.value, f.origin) for f in found.fields.values()] == [("a", "request"), ("b", "context")]


WATCHED = """
import json, sys
from osprofile import Repository, deployment_script, incarnate, new_context
def work(made):
    for _ in range(2):
        found = incarnate(made, "T", fields={"A": "it's", "B": "x"}, context={"USER_NAME": "u"})
        list(found.fields.values()), deployment_script(found.static_scripts)
    try:
        incarnate(made, "T", fields={"A": "-"})
    except Exception as error:
        str(error)
text = sys.stdin.read().encode()
work(Repository(use_standard_path=False).load_bytes(text, "warm"))  # imports what it needs
made = Repository(use_standard_path=False).load_bytes(text, "f")
seen = []
def hook(event, arguments):
    if not event.startswith(("object.", "sys._getframe", "builtins.id", "code.__new__", "compile", "exec")):
        seen.append([event, repr(arguments)])
sys.addaudithook(hook)
work(made)
told = list(seen)
print(json.dumps(told))
"""


def test_incarnate_does_nothing_but_compute() -> None:
    """No file, socket, process, clock or random source: nothing that Python audits."""
    script = static("x", "x.sh", "'<A/'/'\\\\''>' <B/(.)/$1$1> <N:HMS> <USER_NAME>")
    number = field("N", default("60"), 'ext:type="integer"')
    content = (
        template_of("T", script, field("A", "", 'ext:pattern="[^-]*"'), field("B"), number) + bin_template()
    )
    done = subprocess.run(
        [sys.executable, "-c", WATCHED], input=document(content), capture_output=True, text=True, check=True
    )  # fmt: skip
    assert json.loads(done.stdout) == []


@given(st.lists(xml_texts, max_size=3))
def test_a_deployment_is_a_function_of_its_scripts(texts: list[str]) -> None:
    templates = [template_of(f"T{i}", static(text, f"f{i}")) for i, text in enumerate(texts)]
    made = profile(*templates, bin_template())
    scripts = [s for i in range(len(texts)) for s in incarnate(made, f"T{i}").static_scripts]
    assert deployment_script(scripts) == deployment_script(copy.deepcopy(scripts))
