"""The evaluator of plans: what it needs, and that its steps do what Java's regular expressions do."""

from __future__ import annotations

import marshal
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from osprofile import javaregex
from osprofile.incarnation import evaluate
from osprofile.incarnation.body import get_inserted_texts, parse_body
from osprofile.incarnation.plan import get_plan
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository
from osprofile.source import Source, SourceText

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
        is_function = kind in {evaluate.TIME, evaluate.COMPUTE}
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
