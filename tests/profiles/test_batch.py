"""Profiles of new batch systems: those of the manual's pages, made by the pages' own commands."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from osprofile.cli import main
from osprofile.lint import lint_file
from osprofile.profile.repository import Repository
from tests.docs import pages
from tests.profiles.conftest import PROFILES
from tests.profiles.test_sizes import TEXT

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [("new-batch-system", "tsp"), ("flux", "flux")]


def make_page_profile(page: str, name: str, directory: Path) -> Path:
    """Run the command of a page that writes a profile; return the profile's folder."""
    blocks = [b for b in pages.read(f"docs/{page}.md") if b.word == "console"]
    texts = [command.text for block in blocks for command in pages.commands(block)]
    (text,) = [text for text in texts if text.startswith(f"incarnate new {name} --batch-system")]
    words = shlex.split(text.replace("\\\n", " "))[1:]
    samples = [n for n, word in enumerate(words) if word.startswith("--sample-")]
    for number in reversed(samples):
        del words[number : number + 2]
    words[words.index("--directory") + 1] = str(directory)
    assert main.run_command_line(words) == 0
    return directory / name


@pytest.mark.parametrize(("page", "name"), PAGES)
def test_a_batch_system_takes_few_lines(page: str, name: str, tmp_path: Path) -> None:
    folder = make_page_profile(page, name, tmp_path)
    xml = (folder / "profile.xml").read_text()
    shell = sum(len(text.splitlines()) for text in TEXT.findall(xml))
    assert len(xml.splitlines()) <= 60
    assert 10 <= shell <= 20
    assert not re.search("ext:src", xml)
    assert lint_file(folder, Repository([tmp_path, PROFILES], use_standard_path=False)) == []
