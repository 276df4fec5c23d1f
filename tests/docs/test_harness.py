"""The tests of pages fail if a page shows something that is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import Block, blocks, commands, match
from tests.docs.running import Home, PageError, check

if TYPE_CHECKING:
    from pathlib import Path


def run(home: Home, text: str) -> None:
    for block in blocks("page.md", text):
        home.run(block)


RIGHT = {
    "a command and its output": "```console\n$ echo a; echo b >&2\na\nb\n```\n",
    "a command of several lines": "```console\n$ cat <<E\n> a b\n> E\na b\n```\n",
    "left out": "```console\n$ seq 9\n1\n...\n8\n...\n$ echo one two three\none ... three\n```\n",
    "nothing is left out": "```console\n$ seq 2\n1\n...\n2\n```\n",
    "no line end": "```console\n$ printf a\na\n```\n",
    "an exit code": "<!-- exit: 3 -->\n```console\n$ (exit 3)\n```\n",
    "an exit code that is shown": "```console\n$ (exit 3)\n$ echo $?\n3\n```\n",
    "variables last": "```console\n$ x=5; cd /\n```\n\n```console\n$ echo $x $PWD\n5 /\n```\n",
    "the home": "```console\n$ pwd; ls -A\n/home/alice\n```\n",
    "standard input is empty": "```console\n$ cat\n```\n",
    "a file": '```text title="~/d/f"\nx\n```\n```console\n$ cat d/f\nx\n```\n',
    "a script": '```sh title="f"\n#!/bin/sh\necho x\n```\n```console\n$ ./f\nx\n```\n',
    "Python": '```python\nx = 1\n```\n```python\nprint(x)\n```\n```text title="output"\n1\n```\n',
    "another Python, same home": "```python\nopen('f', 'w').close()\n```\n```console\n$ ls\nf\n```\n",
    "a word that varies": (
        "<!-- vary: 4711 -->\n```console\n$ echo 17; echo 17 and 18\n4711\n4711 and 18\n```\n"
        "```console\n$ echo 4711 | tr 7 8\n18\n```\n"
    ),
    "not here": "<!-- run: no: because -->\n```console\n$ false\n```\n",
    "in a list": "- x:\n\n    ```console\n    $ echo a\n    a\n    ```\n",
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_right(text: str, home: Home) -> None:
    run(home, text)


WRONG = {
    "another output": "```console\n$ echo a\nb\n```\n",
    "an output that is not shown": "```console\n$ echo a\n```\n",
    "an output that does not come": "```console\n$ true\na\n```\n",
    "an output before the last": "```console\n$ seq 3\n...\n2\n```\n",
    "a failure": "```console\n$ false\n```\n",
    "a failure before the last": "<!-- exit: 1 -->\n```console\n$ false\n$ false\n```\n",
    "no failure": "<!-- exit: 1 -->\n```console\n$ true\n```\n",
    "a failure in Python": "```python\nraise ValueError\n```\n",
    "a warning in Python": "```python\nimport warnings\nwarnings.warn('x')\n```\n",
    "another output in Python": '```python\nprint(1)\n```\n```text title="output"\n2\n```\n',
    "a word that varies within a block": (
        "<!-- vary: 4711 -->\n```console\n$ echo 17; echo 18\n4711\n4711\n```\n"
    ),
    "the shell ends": "```console\n$ exit 0\n```\n",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_wrong(text: str, home: Home) -> None:
    with pytest.raises(PageError):
        run(home, text)


NO_BLOCKS = {
    "no word": "```\nx\n```\n",
    "an unknown word": "```zsh\nx\n```\n",
    "no end": "```text\nx\n",
    "shell that is not run": "```sh\nx\n```\n",
    "an unknown mark": "<!-- run: maybe -->\n```sh\nx\n```\n",
    "no reason": "<!-- run: no -->\n```sh\nx\n```\n",
    "a mark without a block": "<!-- run: lab -->\nwords\n",
    "a mark at the end": "<!-- run: lab -->\n",
    "a file elsewhere": '```text title="/etc/passwd"\n```\n',
    "a file above": '```text title="a/../../b"\n```\n',
}


@pytest.mark.parametrize("text", NO_BLOCKS.values(), ids=NO_BLOCKS)
def test_no_blocks(text: str) -> None:
    with pytest.raises(ValueError, match=r"page\.md"):
        blocks("page.md", text)


def test_a_console_block_begins_with_a_command() -> None:
    (block,) = blocks("page.md", "```console\nx\n```\n")
    with pytest.raises(ValueError, match=r"page\.md:2"):
        commands(block)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("json", "{"),
        ("toml", "a = "),
        ("yaml", "a: ["),
        ("xml", "<a>"),
        ("sh", "if"),
        ("console", "$ if"),
        ("python", "if"),
    ],
)
def test_what_does_not_parse(word: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(PageError, match=r"page\.md:1"):
        check(Block("page.md", 1, word, None, text), tmp_path)


def test_dots_stand_for_what_is_left_out() -> None:
    assert match(("a...c", "..."), "abc\n1\n2\n", {}) == {}
    assert match(("...",), "", {}) == {}
    assert match(("a...c",), "ab\nc\n", {}) is None
    assert match((), "a\n", {}) is None


def test_blanks_of_tables() -> None:
    assert match(("a   b", "  c"), "a  b\n    c\n", {}) is not None
    assert match(("a   b",), "a\n b\n", {}) is not None
    assert match(("a b",), "a  b\n", {}) is None
    assert match(("a  b",), "ab\n", {}) is None


def test_words_that_vary() -> None:
    assert match(("a 1 b 2",), "a x b y\n", {"1": "", "2": "y", "3": ""}) == {
        "1": "x", "2": "y", "3": "",
    }  # fmt: skip
    assert match(("1",), "two words\n", {"1": ""}) is None
