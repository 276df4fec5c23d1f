"""The reference of the Python interface has every public name, and each is described."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import TYPE_CHECKING

import griffe
import pytest

import osprofile
from osprofile.jobs.fields import FIELDS
from tests.docs import pages
from tests.docs.pages import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = [ROOT / "docs" / "reference" / name for name in ("jobs.md", "profiles.md")]
DOCUMENTED = [path for page in PAGES for path in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)]
EXCEPTIONS = {
    name
    for name in dir(osprofile)
    if inspect.isclass(value := getattr(osprofile, name)) and issubclass(value, Exception)
}


@cache
def load_package() -> griffe.Object | griffe.Alias:
    return griffe.load("osprofile", search_paths=[ROOT])


def list_members(path: str) -> Iterator[griffe.Object]:
    """Yield the object of a path, and its public members."""
    item = load_package()[path.removeprefix("osprofile.")]
    yield item
    for name, member in item.members.items() if item.is_class else ():
        if not name.startswith("_"):
            yield member


def test_every_public_name_is_on_a_page() -> None:
    names = [path.rpartition(".")[2] for path in DOCUMENTED]
    assert len(set(names)) == len(names)
    # errors.md is made of all exceptions
    assert set(names) == {*dir(osprofile)} - EXCEPTIONS - {"__version__"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_name_is_in_an_example(page: Path) -> None:
    """The examples are run by test_pages.py."""
    blocks = pages.read(str(page.relative_to(ROOT)))
    examples = "".join(block.text for block in blocks if block.word == "python" and block.run == "here")
    names = [path.rpartition(".")[2] for path in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)]
    assert [name for name in names if f"osprofile.{name}" not in examples] == []


@pytest.mark.parametrize("path", DOCUMENTED)
def test_everything_is_described(path: str) -> None:
    for item in list_members(path):
        if item.parent is not None and item.parent.name == "JobDescription":
            assert item.name in FIELDS, item.path  # the page has a table of them
            continue
        assert item.docstring, item.path
        text = item.docstring.value
        assert text[0].isupper() or text[0] == "`", item.path
        assert text.splitlines()[0].rstrip()[-1] in ".:,;", item.path


@pytest.mark.parametrize("path", DOCUMENTED)
def test_it_is_what_the_package_exports(path: str) -> None:
    module, _, name = path.rpartition(".")
    value = getattr(osprofile, name)
    assert value.__module__ == module
