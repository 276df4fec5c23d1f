"""Run, lint or parse every block of every page of the manual."""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lxml import etree

from manual import options
from osprofile.cli.command_line import GLOBAL_OPTIONS
from osprofile.cli.common import list_verbs
from tests.docs import pages
from tests.docs.running import Home, check

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = pages.names()


@pytest.mark.parametrize("page", NAMES)
def test_its_blocks_run_in_an_empty_home(page: str, home: Home) -> None:
    for block in pages.read(page):
        home.run(block)


@pytest.mark.parametrize("page", NAMES)
def test_its_blocks_are_well_formed(page: str, tmp_path: Path) -> None:
    for number, block in enumerate(pages.read(page)):
        check(block, tmp_path / str(number))


def test_profiles_of_a_site_pass_shellcheck(tmp_path: Path) -> None:
    """The examples from which a site copies its SITE_SETUP."""
    files = []
    for block in pages.read("profiles/slurm/README.md"):
        if block.is_profile:
            files.append(tmp_path / f"{len(files)}.xml")
            files[-1].write_text(block.text)
    words = [sys.executable, "-m", "osprofile", "lint", "--shellcheck", "--select", "SC", *files]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert any("SITE_SETUP" in file.read_text() for file in files)


def inline_commands(page: str) -> Iterator[tuple[str, list[str]]]:
    """Return the commands in the prose of a page: their locations and their words."""
    text = re.sub(r"^ *(```+).*?^ *\1$", "", (pages.ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    for found in re.finditer(r"(?<!`)`incarnate ([^`\n]+)`(?!`)", text):
        with contextlib.suppress(ValueError):  # a quote that is not closed: a piece of a command
            yield f"{page}: {found[0]}", shlex.split(found[1])


@pytest.mark.parametrize("page", NAMES)
def test_commands_within_a_text_have_verbs_and_options_that_exist(page: str) -> None:
    known = list_verbs()
    for where, words in inline_commands(page):
        verb = next((v for n in (2, 1) if (v := " ".join(words[:n])) in known), "")
        assert verb or words[0] in {"job", *GLOBAL_OPTIONS} or words[0].isupper(), where
        parameters = options.list_parameters(verb or "render")
        flags = {flag for p in parameters for flag in (*p.opts, *p.secondary_opts)}
        used = [w.partition("=")[0] for w in words if w.startswith("-") and w != "-"]
        if "job submit" not in verb and words[0] not in GLOBAL_OPTIONS:
            assert set(used) <= flags | {"--help"}, where


def test_commands_within_a_text_are_found() -> None:
    found = [words for page in NAMES for _, words in inline_commands(page)]
    assert len(found) > 50


def run_demo(home: Home) -> list[str]:
    """Run `make demo`, without its virtual environment, and return the lines that it prints."""
    done = subprocess.run(
        ["sh", str(pages.ROOT / "docs" / "demo" / "demo.sh")],
        env=home.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_the_demo(home: Home) -> None:
    lines = run_demo(home)
    assert len(lines) <= 16
    assert any(line.startswith("likely cause: ") for line in lines)
    (refusal,) = (line for line in lines if line.startswith("incarnate: "))
    path, number, column = refusal.split(": ")[1].split(":")
    source = (pages.ROOT / "docs" / "demo" / path).read_text().splitlines()[int(number) - 1]
    assert source[int(column) - 1 :].startswith("7200</idb:Max>")
    for suggestion in lines[lines.index("Try next:") + 1 :]:
        assert " .venv/bin/incarnate " in suggestion.replace("(", " ")
        command = suggestion.replace(".venv/bin/", "")
        subprocess.run(["sh", "-ec", command], env=home.environment, check=True, stdout=subprocess.DEVNULL)
    # The picture was made under Slurm, by the other profile.
    picture = read_picture(pages.ROOT / "docs" / "images" / "demo.svg")
    assert len(picture) <= 12
    assert find_commands(lines) == [line.replace("mycluster", "mysite") for line in find_commands(picture)]


def read_picture(path: Path) -> list[str]:
    """Return the texts of an SVG that stay at its end, those on one line joined by blanks."""
    texts: dict[str, list[str]] = {}
    for element in etree.parse(path).iterfind(".//{*}text[@class='last']"):
        texts.setdefault(element.get("y", ""), []).append(element.text or "")
    return [" ".join(line) for line in texts.values()]


def find_commands(lines: list[str]) -> list[str]:
    """Return the commands on lines with a prompt, without the ids of jobs."""
    return [re.sub(r"\b(watch|show) [0-9a-f-]+", r"\1 ID", line) for line in lines if line.startswith("$ ")]


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
