r"""Pages of the manual, split into blocks, and how each block is run.

Pages are README.md, docs/**/*.md, and the READMEs of the profiles, which are parts of the site. Each
fenced block begins with a word:

- ``console``: lines after ``$ `` are commands, ``> `` continues a command, and all other lines are the
  expected output (stdout and stderr; two or more blanks match any number of them, or a line end with
  blanks; trailing blanks are ignored). A line ``...`` matches any lines; ``...`` in a line matches any
  text; a location in a bundled profile, ``.../profiles/slurm/profile.xml:52:42``, matches any location
  in that file of it. A command must exit with 0; ``<!-- exit: 3 -->`` before the block sets another exit
  code for its last command, or ``$ echo $?`` shows it. The commands of a page run in order in one bash,
  in an empty home, which is the working directory. It is printed as ``/home/alice``, and the user in
  the path of a job as alice. The commands of this environment are on PATH; no OSPROFILE_* variable is
  set.
- any word with ``title="PATH"``: the content of a file, written in the order of the page. PATH is
  relative to the home, or begins with ``~/``. A file that begins with ``#!`` is made executable.
- ``python``: run, with one interpreter for a page, in the page's home. ``text title="output"`` after it
  is the expected output.
- ``sh`` without a title: needs a mark, see below; its syntax is checked.
- ``xml``: a profile is linted, and may have only the problems in ``<!-- lint: OSP605 OSP401 -->``
  before it; a fragment must be well-formed.
- ``json``, ``toml``, ``yaml``: must parse. ``text``, ``ini``, ``html``, ``diff``: not checked.

A comment before a block says where it is run, if not by the plain tests:

- ``<!-- run: lab -->``: by tests/lab/test_docs.py, which runs all blocks of such a page, as an
  ordinary user with a real Slurm.
- ``<!-- run: by tests/events/test_docs.py -->``: by that module, which must name the page.
- ``<!-- run: no: REASON -->``: not run. not_run.txt has the number of these blocks for each page.

``<!-- vary: 4711 node7 -->`` before a console block: these words differ in each run. The first output
that contains one sets its value for this run; from there on, also in the commands of the page, the word
stands for this value.

Comments can be combined: ``<!-- run: lab; exit: 3 -->``. A block marked with ``by`` or ``no`` writes no file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"(?P<indent> *)(?P<ticks>`{3,}|~{3,}) *(?P<word>[a-z]*)(?P<rest>[^`]*)(?: *)$")
TITLE = re.compile(r'\btitle="([^"]*)"')
COMMENT = re.compile(r" *<!-- *((?:run|lint|exit|vary): .*?) *-->$")
BUNDLED = re.compile(r"\.\.\.(/profiles/[a-z]+/[\w./-]+):\d+:\d+")
MARKS = {"run": r"lab|by \S+|no: .+", "lint": r"OSP\d+( OSP\d+)*", "exit": r"\d+", "vary": r".+"}
WORDS = {"console", "sh", "python", "xml", "json", "toml", "yaml", "text", "ini", "html", "diff"}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its first word, title, text, and the marks before it."""

    page: str
    line: int
    word: str
    title: str | None
    text: str
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """The location, for a message."""
        return f"{self.page}:{self.line}"

    @property
    def run(self) -> str:
        """The first word of the mark `run`."""
        return self.marks.get("run", "here").partition(" ")[0].rstrip(":")

    @property
    def is_output(self) -> bool:
        """Whether it is the expected output of the block before it."""
        return self.word == "text" and self.title == "output"

    @property
    def is_profile(self) -> bool:
        """Whether it is a complete profile."""
        return self.word == "xml" and "<osp:Profile" in self.text

    @property
    def file(self) -> str | None:
        """The path of the file, relative to the home."""
        return None if self.title is None or self.is_output else self.title.removeprefix("~/")


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a console block, and its expected output."""

    line: int
    text: str
    output: tuple[str, ...]


def names() -> list[str]:
    """Return the paths of all pages in the repository."""
    found = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("profiles/*/README.md"))]
    return ["README.md", *(str(page.relative_to(ROOT)) for page in found)]


def read(page: str) -> list[Block]:
    """Return the blocks of a page."""
    return blocks(page, (ROOT / page).read_text())


def blocks(page: str, text: str) -> list[Block]:
    """Return the blocks of a page's text; raise ValueError for an invalid block."""
    found: list[Block] = []
    marks: dict[str, str] = {}
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if comment := COMMENT.match(line):
            marks |= _marks(f"{page}:{number}", comment[1])
            continue
        fence = FENCE.match(line)
        if fence:
            content = _content(lines, fence, f"{page}:{number}")
            found.append(_block(page, number, fence, content, marks))
        elif marks and line.strip():
            raise ValueError(f"{page}:{number}: a mark stands before a block: {marks}")
        marks = {} if fence else marks
    if marks:
        raise ValueError(f"{page}: a mark at the end: {marks}")
    return found


def _marks(where: str, text: str) -> dict[str, str]:
    found = {}
    for part in text.split("; "):
        name, _, value = part.partition(": ")
        if name not in MARKS or not re.fullmatch(MARKS[name], value):
            raise ValueError(f"{where}: {part!r} is not a mark: see {__file__}")
        found[name] = value
    return found


def _content(lines: object, fence: re.Match[str], where: str) -> str:
    content: list[str] = []
    for _, line in lines:  # type: ignore[attr-defined]
        if line.strip().startswith(fence["ticks"]) and not line.strip().strip(fence["ticks"][0]):
            return "".join(f"{line}\n" for line in content)
        content.append(line.removeprefix(fence["indent"]))
    raise ValueError(f"{where}: the block has no end")


def _block(page: str, number: int, fence: re.Match[str], content: str, marks: dict[str, str]) -> Block:
    title = TITLE.search(fence["rest"])
    block = Block(page, number, fence["word"], title[1] if title else None, content, marks)
    if block.word not in WORDS:
        raise ValueError(f"{block.where}: begin the block with one of {sorted(WORDS)}")
    if block.word == "sh" and block.title is None and block.run == "here":
        raise ValueError(f"{block.where}: commands are a console block; else say where it is run")
    if block.file and (Path(block.file).is_absolute() or ".." in Path(block.file).parts):
        raise ValueError(f"{block.where}: a file is written below the home")
    return block


def commands(block: Block) -> list[Command]:
    """Return the commands of a console block."""
    found: list[tuple[int, list[str], list[str]]] = []
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        if line.startswith("$ "):
            found.append((number, [line[2:]], []))
        elif not found:
            raise ValueError(f"{block.page}:{number}: a console block begins with a command")
        elif line.startswith("> ") and not found[-1][2]:
            found[-1][1].append(line[2:])
        else:
            found[-1][2].append(line.rstrip())
    return [Command(number, "\n".join(text), tuple(out)) for number, text, out in found]


def match(expected: Sequence[str], output: str, vary: Mapping[str, str]) -> dict[str, str] | None:
    """Match an output with what a page shows; `...` matches any text.

    Each key of `vary` stands for its value, or for one word if that is empty. Return `vary` with
    the values that were found, or None if the output does not match.
    """
    open_words = [word for word, value in vary.items() if not value]
    words = map(re.escape, [*sorted(vary, key=len, reverse=True), "..."])
    pieces = "|".join([BUNDLED.pattern.replace("(", "(?:"), *words])
    seen = set[str]()

    def piece(text: str) -> str:
        if text == "...":
            return ".*"
        if place := BUNDLED.fullmatch(text):
            return rf".*{re.escape(place[1])}:\d+:\d+"
        if text not in vary or vary[text]:
            return re.sub(r"(?:\\ ){2,}", r"(?: +|\\n +)", re.escape(vary.get(text, text)))
        name = f"v{open_words.index(text)}"
        first = name not in seen
        seen.add(name)
        return rf"(?P<{name}>\S+?)" if first else f"(?P={name})"

    pattern = ""
    for line in expected:
        inside = "".join(map(piece, re.split(f"({pieces})", line)))
        pattern += "(?:.*\n)*" if line.strip() == "..." else f"{inside}\n"
    lines = "".join(f"{line.rstrip()}\n" for line in output.splitlines())
    found = re.fullmatch(pattern, lines)
    if found is None:
        return None
    return {**vary, **{open_words[int(name[1:])]: text for name, text in found.groupdict().items()}}
