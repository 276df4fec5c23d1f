"""What the linter calls safe is safe in real shells: no value makes them execute a part of it.

Scripts are generated with one value in them, in nested quotes, substitutions, here-documents and
compound commands. Where the linter finds nothing, dash and bash run the script with hostile values.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from osprofile.lint.rules import complete_example
from osprofile.lint.rules.rule import format_field, format_template
from tests.hunting import rounds
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lint.conftest import Lint

SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]

HOSTILE = [
    "$(>PWNED)", "`>PWNED`", "';>PWNED;'", '";>PWNED;"', "\n>PWNED\n", ";>PWNED;", "'\n>PWNED\n'",
    '"\n>PWNED\n"', "END\n>PWNED\n", "\nEND\n>PWNED\n", ")\n>PWNED\n", "\n)\n>PWNED\n(", "}\n>PWNED\n",
    "x) >PWNED;;", "\\", "\\'", "'\\''", "\\';>PWNED;\\'", "\\\\';>PWNED;'", "$(>PWNED", "(>PWNED)",
    "x[$(>PWNED)]", "\\\n>PWNED\n", "&>PWNED ", "|>PWNED", "{x:=`>PWNED`}", "#\n>PWNED", "'\"$(>PWNED)",
    "\"'`>PWNED`", "')>PWNED;('", "`;>PWNED;`", "'`>PWNED`'", "'$(>PWNED)'", '"$(>PWNED)"',
    "'}$(>PWNED)", '}"$(>PWNED)', "\\`>PWNED\\`", "\\$(>PWNED)", "\t\nEND\n>PWNED", "END", "-", "~",
    "x=1", "a b", "*", "é\u2028",
]  # fmt: skip

NESTED = re.compile(r"\{command\}|\{word\}")

VALUES = st.sampled_from(["<WHY>", "<WHY/'/'\\\\''>"])

WORDS = [
    "{value}", "'{value}'", "'{value}'", "'{value}'", '"{value}"', "pre'{value}'post", "'a b'{value}",
    "\\{value}", "${value}", "$'{value}'", "$(({value}))", "'x'\\''{value}'", "\"'\"'{value}'",
    "$({command})", '"$({command})"', "`{command}`", '"`{command}`"', "${{x:-{word}}}",
    '"${{x:-{word}}}"', "${{x#{word}}}", '"${{x%{word}}}"', "$(( $({command}) ))", "$x{word}",
    '"$x"{word}', "$(\n{command}\n)", "'a\nb'{word}", "${{#x}}{word}", "$#{word}", '"\\""{word}',
    "$( (:); {command})",
]  # fmt: skip

COMMANDS = [
    ": {word}", "x={word}", "printf '%s\\n' {word}", ": > {word}", "{{ {command}\n}}", "( {command} )",
    "if :; then {command}\nfi", "case {word} in a) ;; *) : ;; esac", "case a in {word}) : ;; esac",
    "case a in (a) {command}\n;; b|c) : ;; esac", "case a in a) {command}\nesac",
    "for x in a {word}; do :; done", "for x\ndo :; done; {command}", ": # it's\n{command}",
    ": # {value}\n:", ": <<END\n{word}\nEND", ": <<END\nx {word}\nEND\n{command}",
    ": <<'END'\n{value}\nEND\n{command}", ": <<-\\END\n\tit's\n\tEND\n{command}", "f() {{ {command}\n}}; f",
    "! {command}", ": && {command}", ": | {command}", ": ; {command}", "while :; do {command}\nbreak; done",
    "[ a = {word} ]", "x={word} y='{value}' :", ": \\\n {word}", ": 2>&1 {word}", ": a#b {word}",
    "x=$(cat <<END\nit's\nEND\n); {command}", ": <<A <<B\n'\nA\n{value}\nB\n{command}", ":; {command} # '",
    "{command}\n: {word}",
]  # fmt: skip


@st.composite
def scripts(draw: st.DrawFn, depth: int = 3) -> str:
    """Draw a command with values in it."""

    def fill(templates: list[str], left: int) -> str:
        allowed = [t for t in templates if left > 0 or not {"{command}", "{word}"} & {*NESTED.findall(t)}]
        chosen = draw(st.sampled_from(allowed or WORDS[:6]))
        parts = {"value": draw(VALUES) if "{value}" in chosen else ""}
        parts["word"] = fill(WORDS, left - 1) if "{word}" in chosen else ""
        parts["command"] = fill(COMMANDS, left - 1) if "{command}" in chosen else ""
        return chosen.format(**parts)

    return fill(COMMANDS, depth)


def unsafe(lint: Lint, script: str) -> list[str]:
    """Return the linter's codes about quoting."""
    found = lint(complete_example(format_template(script, format_field("WHY"))))
    return [problem.code for problem in found if problem.code.startswith("OSP6")]


def run(script: str, directory: Path) -> str:
    """Run a script with each hostile value in each shell; give the first that is executed."""
    for shell in SHELLS:
        files = []
        for number, value in enumerate(HOSTILE):
            file = directory / f"script{number}"
            escaped = value.replace("'", "'\\''")
            text = script.replace("<WHY/'/'\\\\''>", escaped).replace("<WHY>", value)
            file.write_text(text + "\n", encoding="utf-8")
            files.append(f"(. ./{file.name}) </dev/null >/dev/null 2>&1")
            files.append(f"[ ! -e PWNED ] || exit {number + 1}")
        done = subprocess.run([shell, "-c", "\n".join(files)], cwd=directory, timeout=PATIENCE, check=False)
        if done.returncode:
            return f"{shell}: {HOSTILE[done.returncode - 1]!r}"
    return ""


@pytest.mark.skipif(not SHELLS, reason="no shell to compare with")
@settings(
    max_examples=rounds(60, 15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=scripts())
def test_what_is_called_safe_executes_nothing(
    lint: Lint, tmp_path_factory: pytest.TempPathFactory, script: str
) -> None:
    if not unsafe(lint, script):
        directory = tmp_path_factory.mktemp("run")
        assert run(script, directory) == ""
        shutil.rmtree(directory)
