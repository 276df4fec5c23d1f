"""The tests and modules that pages of the manual name exist."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT, names

TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
FILE = re.compile(r"`((?:osprofile|tests|benchmarks|profiles|schemas|docs)/[\w./]*[\w/])`")


@pytest.mark.parametrize("page", names())
def test_what_a_page_names_is_there(page: str) -> None:
    text = (ROOT / page).read_text()
    for file, function in TEST.findall(text):
        path = ROOT / file
        assert path.is_file(), file
        assert re.search(rf"^(async )?def {function}\(", path.read_text(), re.MULTILINE), function
    for name in FILE.findall(text):
        assert (ROOT / name).exists(), name
