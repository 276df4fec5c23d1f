"""The manual answers the questions of its readers: `questions.txt` has them, and where each is answered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs import pages

QUESTIONS = [
    [part.strip() for part in line.split("|")]
    for line in (Path(__file__).parent / "questions.txt").read_text().splitlines()
    if line and not line.startswith("# ")
]


def read_section(place: str) -> str:
    """Return the text of a section with those below it."""
    page, _, anchor = place.partition("#")
    text = re.sub(
        r"(?ms)^( *)```.*?^\1```$",
        lambda m: m[0].replace("\n#", "\n #"),
        (pages.ROOT / "docs" / page).read_text(),
    )
    for found in re.finditer(r"(?m)^(#+) (.*)$", text):
        words = re.sub(r"[^\w\- ]", "", found[2].lower())
        if words.replace(" ", "-") == anchor:
            following = re.search(rf"(?m)^#{{1,{len(found[1])}}} ", text[found.end() :])
            return text[found.end() :][: following.start() if following else None]
    raise AssertionError(f"{page} has no section {anchor}")


@pytest.mark.parametrize(("question", "place", "words"), QUESTIONS)
def test_a_question_is_answered(question: str, place: str, words: str) -> None:
    assert question.endswith("?")
    assert words in read_section(place)


def test_there_are_thirty() -> None:
    assert len(QUESTIONS) >= 30
