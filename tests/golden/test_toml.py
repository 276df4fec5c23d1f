"""TOML as it is written is what tomllib reads; places are those of the keys."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from osprofile.golden import toml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
TREES = st.recursive(
    st.one_of(TEXTS, st.integers(-9, 9), st.booleans(), st.lists(TEXTS, max_size=3)),
    lambda inside: st.dictionaries(TEXTS, inside, max_size=4),
    max_leaves=12,
)


@given(TEXTS)
@example("\0\x1b\x7f\x85\u2028\u202e\U000e0001\ufeff\r\n\t\\\"'é😀")
def test_a_string_is_read_back(value: str) -> None:
    written = toml.format_string(value)
    assert tomllib.loads(f"x = {written}") == {"x": value}
    assert written.isprintable()


@pytest.mark.parametrize("value", ["\ud800", "a\udcff"])
def test_no_lone_surrogate(value: str) -> None:
    with pytest.raises(ValueError, match=r"U\+D[0-9A-F]{3} is not a character"):
        toml.format_string(value)


DOCUMENTS = {
    # the document, and for each path the text that stands at its place
    "keys": ("a = 1\n b.c = 2 # c = 3\n", {("a",): "a = 1", ("b",): "b.c", ("b", "c"): "c = 2"}),
    "tables": (
        '[t]\na = 1\n[t."x.y" . z]\n  b = 2\n[[u]]\nc = 3',
        {
            ("t",): "t]\na",
            ("t", "a"): "a = 1",
            ("t", "x.y"): '"x.y" . z',
            ("t", "x.y", "z"): "z]",
            ("t", "x.y", "z", "b"): "b = 2",
            ("u",): "u]]",
            ("u", "c"): "c = 3",
        },
    ),
    "strings that look like keys": (
        'a = "\\"\\nb = 1"\nb = \'[c]\'\nd = """\ne = 1\n"""""\nf = \'\'\'\n[g]\n\'\'\'\'\nh = ""\n',
        {("a",): "a =", ("b",): "b = '", ("d",): "d =", ("f",): "f =", ("h",): "h ="},
    ),
    "values of several lines": (
        "a = [ # [\n  { b = 1, c = [2] },\n  '[',\n]\nd = {}\n[e]",
        {("a",): "a = [", ("d",): "d = {", ("e",): "e]"},
    ),
    "CR LF": ("[a]\r\nb = 1\r\n\r\nc = 1.5e3\r\n", {("a",): "a]", ("a", "b"): "b", ("a", "c"): "c"}),
    "dates": ("a = 1979-05-27T07:32:00Z\nb = 07:32:00.5\n", {("a",): "a", ("b",): "b"}),
    "quoted keys": ("'a#' = 1\n\"\\u0062\" = 2\n", {("a#",): "'a#'", ("b",): '"\\u0062"'}),
    "nothing": ("", {}),
    "a comment at the end": ("# a = 1", {}),
}  # fmt: skip


@pytest.mark.parametrize("case", DOCUMENTS)
def test_places(case: str) -> None:
    text, expected = DOCUMENTS[case]
    tomllib.loads(text)
    found = toml.locate_keys(text)
    assert found.keys() == expected.keys()
    for path, begin in expected.items():
        assert text[found[path] :].startswith(begin), path


def written(tree: dict[str, object], path: tuple[str, ...] = ()) -> str:
    """Return a document with tables, dotted keys and values of several lines."""
    lines = [f"[{toml.format_key(*path)}]"] if path else []
    for number, (name, value) in enumerate(tree.items()):
        if isinstance(value, list):
            items = "".join(f"  {toml.format_string(v)}, # [\n" for v in value)
            lines.append(f"{toml.format_key(name)} = [\n{items}]")
        elif not isinstance(value, dict):
            shown = toml.format_string(value) if isinstance(value, str) else str(value).lower()
            if isinstance(value, str) and number % 2 and "'" not in value and value.isprintable():
                shown = f"'''\n{value}'''"
            lines.append(f"  {toml.format_key(name)}={shown}")
    lines += [written(v, (*path, n)) for n, v in tree.items() if isinstance(v, dict)]
    return "\n".join(lines)


def paths(tree: dict[str, object], path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    found = {(*path, name) for name in tree}
    for name, value in tree.items():
        for inside in value if isinstance(value, list) else [value]:
            if isinstance(inside, dict):
                found |= paths(inside, (*path, name))
    return found


@given(st.dictionaries(TEXTS, TREES, max_size=5))
def test_each_key_of_a_document_has_its_place(tree: dict[str, object]) -> None:
    text = written(tree)
    assert tomllib.loads(text) == tree
    found = toml.locate_keys(text)
    assert found.keys() == paths(tree)
    for path, offset in found.items():
        assert text.startswith(toml.format_key(path[-1]), offset)


def test_the_nearest_place() -> None:
    known = {("a",): 5, ("a", "b"): 9}
    assert toml.find_nearest_offset(known, ("a", "b")) == 9
    assert toml.find_nearest_offset(known, ("a", "x", "y")) == 5
    assert toml.find_nearest_offset(known, ("x",)) == 0


@given(st.text(alphabet="ab=.[]{}\"'#\n\r\\ ,1", max_size=60))
def test_places_of_whatever_tomllib_takes(text: str) -> None:
    try:
        tree = tomllib.loads(text)
    except ValueError:
        return
    known = paths(tree)
    for path, offset in toml.locate_keys(text).items():
        assert path in known
        assert text[offset] not in "[]{}=. \n"
