"""Run the blocks of a page in a home directory, as a reader would: bash, Python, files."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from osprofile.incarnation.context import get_user_name
from osprofile.lint.linter import lint_file
from osprofile.profile.repository import Repository
from tests.docs.pages import ROOT, Block, commands, match, read
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

BIN = Path(sys.executable).parent
PROGRAMS = Path(__file__).parent / "programs"
"""What stands for programs of a page that this machine may not have."""
SHOWN_HOME = "/home/alice"
END = "the end of a block:"
PYTHON = f"""
import ast, json, sys, traceback
names = {{"__name__": "__main__"}}
for line in sys.stdin:
    file, text = json.loads(line)
    try:
        exec(compile(text, file, "exec"), names)
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    print(f"\\n{END} {{code}}", flush=True)
"""
NAMESPACES = (
    'xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb" '
    'xmlns:jsdl="http://schemas.ggf.org/jsdl/2005/06/jsdl" xmlns:ext="urn:osprofile:extension"'
)


class PageError(AssertionError):
    """A page shows something that is wrong."""


class Interpreter:
    """A process that runs one text after another and reports how each ended."""

    def __init__(self, words: Sequence[str], home: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=home,
            env=environment,
            start_new_session=True,
        )

    def run(self, text: str) -> tuple[str, int]:
        """Run a text; return its output and its exit code."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(text.encode())
        process.stdin.flush()
        output, deadline = b"", time.monotonic() + PATIENCE
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not (end := re.search(rf"\n{END} (\d+)\n\Z".encode(), output)):
                if not selector.select(deadline - time.monotonic()):
                    raise PageError(f"no end within {PATIENCE:g} s; until then:\n{output.decode()}")
                data = os.read(process.stdout.fileno(), 65536)
                if not data:
                    raise PageError(f"the interpreter has ended:\n{output.decode()}")
                output += data
        return output[: end.start()].decode(), int(end[1])

    def close(self) -> None:
        """End it, with all processes in its session."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


class Home:
    """An empty home.

    The commands are those of `bin_directory`. `prefix` are words before each interpreter, to be
    another user; `lab` says whether blocks marked so are run.
    """

    def __init__(
        self,
        path: Path,
        *,
        bin_directory: Path = BIN,
        user: str = get_user_name(),
        prefix: Sequence[str] = (),
        lab: bool = False,
    ) -> None:
        self.path = path
        self._bin = bin_directory
        self._user = user
        self.lab = lab
        self._prefix = tuple(prefix)
        self.environment = {
            "HOME": str(path),
            "PATH": f"{bin_directory}:/usr/local/bin:/usr/bin:/bin:{PROGRAMS}",
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            "USER": user,
            "LOGNAME": user,
            "SHELL": "/bin/bash",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONWARNINGS": "error",
        }
        self._shell: Interpreter | None = None
        self._python: Interpreter | None = None
        self._printed = ""
        self._varies = dict[str, str]()

    def close(self) -> None:
        """End the interpreters; remove the directories of the jobs."""
        for interpreter in (self._shell, self._python):
            if interpreter is not None:
                interpreter.close()
        for link in (self.path / ".gpe" / "jobs").glob("*/*"):
            if link.is_symlink():
                shutil.rmtree(link.readlink(), ignore_errors=True)

    def run(self, block: Block) -> None:
        """Run a block if it is for these tests; raise PageError if it fails."""
        if block.run in {"by", "no"} or (block.run == "lab" and not self.lab):
            return
        if block.is_output:
            self._compare(block)
        elif block.file is not None:
            self._write(block)
        elif block.word == "console":
            self._console(block)
        elif block.word == "python":
            self._code(block)

    def _write(self, block: Block) -> None:
        assert block.file is not None
        path = self.path / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)
        path.chmod(0o755 if block.text.startswith("#!") else 0o644)

    def _console(self, block: Block) -> None:
        if self._shell is None:
            self._shell = self._start(["bash", "--norc", "--noprofile"])
        code, steps = 0, commands(block)
        self._varies |= {w: "" for w in block.marks.get("vary", "").split() if w not in self._varies}
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            word = shlex.quote(self._now(step.text))
            text = f"(exit {code}); eval {word} < /dev/null; printf '\\n%s %d\\n' '{END}' $?\n"
            output, code = self._shell.run(text)
            allowed = int(block.marks.get("exit", 0)) if following is None else 0
            shows_code = following is not None and following.text == "echo $?"
            shown = self._shown(output)
            if code != allowed and not shows_code:
                raise PageError(f"{block.page}:{step.line}: exit code {code}\n{shown}")
            varies = match(step.output, shown, self._varies)
            if varies is None:
                what = f"{block.page}:{step.line}: $ {step.text}\n"
                raise PageError(what + difference(step.output, shown, self._varies))
            self._varies = varies

    def _code(self, block: Block) -> None:
        if self._python is None:
            self._python = self._start([str(self._bin / "python"), "-u", "-c", PYTHON])
        self._printed, code = self._python.run(json.dumps([block.where, block.text]) + "\n")
        if code:
            raise PageError(f"{block.where}: exit code {code}\n{self._printed}")

    def _compare(self, block: Block) -> None:
        shown = self._shown(self._printed)
        expected = [line.rstrip() for line in block.text.splitlines()]
        if match(expected, shown, {}) is None:
            raise PageError(f"{block.where}: " + difference(expected, shown, {}))

    def _start(self, words: list[str]) -> Interpreter:
        return Interpreter([*self._prefix, *words], self.path, self.environment)

    def _now(self, text: str) -> str:
        for word, value in self._varies.items():
            text = text.replace(word, value or word)
        return text

    def _shown(self, text: str) -> str:
        text = text.replace(str(self.path), SHOWN_HOME)
        return re.sub(rf"(/var/tmp/|/scratch/|/[.]gpe/work/){self._user}/", r"\1alice/", text)


def difference(expected: Sequence[str], shown: str, varies: dict[str, str]) -> str:
    """Return a message with the output, and the first line of the page that is missing in it."""
    right = 0
    while right < len(expected) and match([*expected[: right + 1], "..."], shown, varies):
        right += 1
    missing = repr(expected[right]) if right < len(expected) else "its end"
    return f"prints\n{shown}\nand not {missing} behind {right} lines of the page"


def check(block: Block, directory: Path) -> None:
    """Check the syntax of a block without running it; raise PageError."""
    try:
        if block.is_profile:
            _lint(block, directory)
        elif block.word == "xml":
            ET.fromstring(f"<piece {NAMESPACES}>{_without_declaration(block.text)}</piece>")  # noqa: S314
        elif block.word == "sh":
            _syntax(block.text)
        elif block.word == "console":
            for command in commands(block):
                _syntax(command.text)
        elif block.word == "python":
            compile(textwrap.dedent(block.text), block.where, "exec")
        elif block.word in {"json", "toml", "yaml"}:
            _parse(block.word, block.text)
    except PageError:
        raise
    except (ValueError, SyntaxError, ET.ParseError) as error:
        raise PageError(f"{block.where}: {error}") from error


def _without_declaration(text: str) -> str:
    return re.sub(r"\A<\?xml.*?\?>", "", text)


def _syntax(text: str) -> None:
    done = subprocess.run(["bash", "-n", "-c", text], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr)


def _parse(word: str, text: str) -> None:
    if word == "json":
        json.loads(text)
    elif word == "toml":
        import tomllib

        tomllib.loads(text)
    else:
        import yaml

        try:
            yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from error


def _lint(block: Block, directory: Path) -> None:
    """Lint a profile next to the files that are earlier on the page, in which it may have texts."""
    path = directory
    for other in read(block.page):
        if other.is_profile and other.line <= block.line:
            name = re.search(r"\bname=\"([^\"]*)\"", other.text)
            path = directory / (name[1] if name else "unnamed") / "profile.xml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(other.text)
        elif other.line < block.line and other.title and not other.title.startswith("~/"):
            file = directory / other.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(other.text)
    repository = Repository([str(directory), str(ROOT / "profiles")])
    problems = lint_file(path, repository)
    expected = block.marks.get("lint", "").split()
    if sorted({problem.code for problem in problems}) != sorted(expected):
        listing = "\n".join(map(str, problems)) or "no problem"
        raise PageError(f"{block.where}: lint reports\n{listing}")
