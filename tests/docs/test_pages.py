"""Every block of every page of the manual is what it says: run, linted, parsed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs import pages
from tests.docs.running import Home, check

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = pages.names()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    path = tmp_path / "home"
    path.mkdir()
    home = Home(path)
    yield home
    home.close()


@pytest.mark.parametrize("page", NAMES)
def test_its_blocks_run_in_an_empty_home(page: str, home: Home) -> None:
    for block in pages.read(page):
        home.run(block)


@pytest.mark.parametrize("page", NAMES)
def test_its_blocks_are_well_formed(page: str, tmp_path: Path) -> None:
    for number, block in enumerate(pages.read(page)):
        check(block, tmp_path / str(number))


def test_what_is_run_nowhere_is_listed() -> None:
    listed = (Path(__file__).with_name("not_run.txt")).read_text().splitlines()
    counts = dict(line.rsplit(maxsplit=1) for line in listed if not line.startswith("#"))
    found = Counter(b.page for name in NAMES for b in pages.read(name) if b.run == "no")
    assert {page: int(count) for page, count in counts.items()} == dict(found)


def test_what_other_tests_run_is_named_there() -> None:
    for block in (block for name in NAMES for block in pages.read(name)):
        if block.run == "by":
            module = pages.ROOT / block.marks["run"].removeprefix("by ")
            assert Path(block.page).name in module.read_text(), block.where
