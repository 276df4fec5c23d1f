"""Links of the pages in a checkout, before the manual is built."""

from __future__ import annotations

import re

import pytest

from tests.docs import pages

GENERATED = {"docs/rules.md", "docs/errors.md", "docs/batch-systems.md"}
"""Pages that only `make docs` makes."""
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)[^)]*\)")
CODE = re.compile(r"^ *(```+).*?^ *\1$|`[^`\n]+`", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", pages.names())
def test_a_relative_link_names_a_file(page: str) -> None:
    source = pages.ROOT / page
    for target in LINK.findall(CODE.sub("", source.read_text())):
        if re.match("[a-z]+:", target):
            continue
        path = (source.parent / target).resolve()
        name = path.relative_to(pages.ROOT.resolve()).as_posix()
        assert path.exists() or name in GENERATED, f"{page}: {target}"


def test_a_reader_of_the_sources_is_told_which_pages_are_made() -> None:
    text = (pages.ROOT / "docs/index.md").read_text()
    assert "make docs" in text
    for name in GENERATED:
        assert name.removeprefix("docs/") in text
