r"""The patterns of `re` in this package, in each Python that it runs in.

Before 3.11.5, `re` goes on at a wrong place where a round of a possessive group fails after a repetition in it, as that of
`(?:a|'[^']*+')++` at `a'` (github.com/python/cpython/issues/106052). `(?>X|)` in place of `(?:X)?+` is right in all of
them, and so is a group whose last alternative is `(?!)`, which fails without a repetition.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import osprofile

FOR_JAVA = {"javaregex", "lengths.py", "value_sets.py"}
"""Patterns of Java, which javaregex translates without possessive groups."""
SAFE = (
    r"|(?!)",
    # no round fails after a repetition
    r"""(?:[^"\\]|\\.""",
    r"""(?:[^"\\]++|\\(?s:.)""",
    r"""(?:[^'\\]++|\\(?s:.)""",
)


def list_unsafe_groups(text: str) -> list[str]:
    """Return the line of each possessive group that might go on at a wrong place."""
    groups = [(match.start(), match[1]) for match in re.finditer(r"(?<!\()\)([*+?]|\{[0-9,]+\})\+", text)]
    unsafe = [at for at, count in groups if count == "?" or not text[:at].endswith(SAFE)]
    return [text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0].strip() for at in unsafe]


def test_no_possessive_group_goes_on_at_a_wrong_place() -> None:
    paths = Path(osprofile.__file__).parent.rglob("*.py")
    unsafe = {
        str(path): found
        for path in paths
        if not FOR_JAVA.intersection(path.parts) and (found := list_unsafe_groups(path.read_text()))
    }
    assert unsafe == {}


@pytest.mark.parametrize("text", [r"(?:a|'[^']*+')++", r"(?:a[^b]*b)*+", r"(?: x)?+", r"( [^b]*b){1,3}+"])
def test_an_unsafe_group_is_found(text: str) -> None:
    assert list_unsafe_groups(f"\n  {text}\n") == [text]
