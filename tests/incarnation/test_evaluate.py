"""The evaluator of plans: what it needs, and that its steps do what Java's regular expressions do."""

from __future__ import annotations

import marshal
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from osprofile import javaregex
from osprofile.errors import IncarnationError
from osprofile.incarnation import evaluate
from osprofile.incarnation.body import get_inserted_texts, parse_body
from osprofile.incarnation.incarnate import incarnate
from osprofile.incarnation.plan import get_plan
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository
from osprofile.source import Source, SourceText
from tests.hunting import rounds

BUNDLED = Repository([get_bundled_directory()], use_standard_path=False)
WHOLE_VALUES = (r"(?s)^(.+)\z", r"(?s)^.+\z")


def test_its_import_loads_nothing_that_takes_time() -> None:
    code = (
        "import sys; known = set(sys.modules); import osprofile.incarnation.evaluate; "
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - known} - {*sys.builtin_module_names}))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(ended.stdout.split()) <= {"__future__", "osprofile"}


@pytest.mark.parametrize("name", BUNDLED.list_names())
def test_start_is_plain_data(name: str) -> None:
    plan = get_plan(BUNDLED.load(name), "START", "", None)
    for kind, key, first, second in plan.steps:
        is_function = kind in {evaluate.TIME, evaluate.COMPUTE, evaluate.PROGRAM}
        texts = [(literals, keys) for literals, _, keys in first] if kind == evaluate.JOIN else first
        assert marshal.dumps((kind, key, texts, None if is_function else second))
    # What needs an engine: patterns that are not about whole values, and names of programs.
    assert sum(kind == evaluate.COMPUTE for kind, *_ in plan.steps) <= 10


@pytest.mark.parametrize("pattern", WHOLE_VALUES)
@given(st.text(st.characters(codec="utf-8")), st.text("ab$1\\ \n"))
@example("", "$1")
@example("\n", "x$1")
@example("a\r\n", "$1$1")
@example("\U0001f600", "$12")
def test_what_surrounds_a_whole_value_is_put_there_without_an_engine(
    pattern: str, value: str, replacement: str
) -> None:
    text = f"<X/{pattern}/{replacement}>"
    body = parse_body(SourceText(text, Source("body", text.encode()), ((0, 0),)))
    found = next(body.replacements, None)
    if found is None or found.pattern is None:  # a line end in it, or <X> itself
        return
    try:
        expected = javaregex.replace_all(value, pattern, found.replacement or "")
    except javaregex.JavaRegexError:
        with pytest.raises(Exception, match="bad Java replacement"):
            get_inserted_texts(body, found)
        return
    texts = get_inserted_texts(body, found)
    assert texts is not None
    values = {"X": value}
    evaluate.compute_steps([(evaluate.INSERT, "result", "X", texts)], values)
    assert values["result"] == expected


VALUES = st.sampled_from(
    ["", "1", "600", "a", "x y", "it's", "a\nb", "\xe9", "\0", "-1", "/tmp/x", "begin,end", "2030-01-01T10:00", "1-10%2",
     "true", "export A='b'\n", "'a b' c", "y" * 20_000, "END_OF_JOB_x", "afterok:12"]
)  # fmt: skip


@pytest.mark.parametrize("name", BUNDLED.list_names())
@settings(max_examples=rounds(4000, 25))
@given(st.data())
def test_a_specialised_plan_gives_the_same(name: str, data: st.DataObject) -> None:
    profile = BUNDLED.load(name)
    plan = get_plan(profile, "START", "", None)
    names = data.draw(st.lists(st.sampled_from(sorted(plan.settable)), max_size=5, unique=True))
    homes = st.sampled_from(["/home/a", "/home/a/", "/", "x"])
    contexts = st.fixed_dictionaries(
        {"WORKING_DIRECTORY": st.just("/tmp/1"), "USER_HOME": homes, "CLUSTER": VALUES}
    )
    requests = [
        (data.draw(st.fixed_dictionaries(dict.fromkeys(names, VALUES))), data.draw(contexts))
        for _ in range(4)
    ]

    def print_outcome(fields: dict[str, str], context: dict[str, str]) -> str:
        try:
            made = incarnate(profile, "START", fields=fields, context=context)
        except IncarnationError as error:
            return str(error)
        return f"{made.text}{made.fields}{made.used_scripts}{made.job_script}"

    expected = []
    for fields, context in requests:
        plan.specialised.clear()
        expected.append(print_outcome(fields, context))
    for _ in range(3):
        assert [print_outcome(*request) for request in requests] == expected


def test_a_plan_is_specialised_when_the_same_fields_are_given_again() -> None:
    profile = BUNDLED.load("slurm")
    plan = get_plan(profile, "START", "", None)
    context = {"WORKING_DIRECTORY": "/tmp/1", "USER_HOME": "/home/a"}
    plan.specialised.clear()
    texts = {
        incarnate(profile, "START", fields={"WALLTIME": w}, context=context).text for w in ("60", "90", "120")
    }
    assert len(texts) == 3
    (specialised,) = plan.specialised.values()
    assert len(specialised.steps) < len(plan.steps) / 3
    assert len(specialised.checked_fields) == 2  # WALLTIME and WORKING_DIRECTORY
    for number in range(200):
        incarnate(profile, "START", context={**context, f"SITE_{number}": ""})
    assert len(plan.specialised) <= 64
