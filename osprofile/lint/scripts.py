"""What is wrong with scripts: quoting, directives, carriage returns, `#!` (design: "Quoting")."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from osprofile.lint import quoting
from osprofile.lint.directives import DirectiveChecker
from osprofile.lint.rules import make_problem
from osprofile.lint.shell.commands import SHELLS, parse_words
from osprofile.lint.shell.lexer import lex_script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.errors import Problem
    from osprofile.lint.profile_view import ProfileView, ShellScript
    from osprofile.profile.model import Invocation
    from osprofile.source import SourceText

_LATE_SHEBANG: Final = re.compile(r"\s+#!")


def check_scripts(view: ProfileView) -> Iterator[Problem]:
    """Judge every text that a shell will read."""
    prologue = view.profile.templates.get("JOB_PROLOGUE")
    declared = view.profile.find_field(prologue, "DIRECTIVE_PREFIX") if prologue else None
    prefix = (declared.value or "") if declared else ""
    in_jobs = set[int]()
    for texts in view.job_script_texts():
        in_jobs.update(map(id, texts))
        yield from _check_script(view, view.assemble_script(texts), prefix)
    for text in view.texts:
        if id(text) not in in_jobs and not view.is_path_template(text.template):
            in_prologue = text.template.name == "JOB_PROLOGUE"
            yield from _check_script(
                view, view.assemble_script([text]), prefix if in_prologue else ""
            )
        if text.is_arguments and _is_shell_script(text.invocation):
            yield from _check_script(view, view.assemble_static_script(text), "")


def _is_shell_script(invocation: Invocation) -> bool:
    """Return whether a static script is for a shell, by its `#!`; without one it is."""
    script = invocation.static_script
    first = script.body.text.partition("\n")[0] if script is not None else ""
    words = first.removeprefix("#!").split() if first.startswith("#!") else ["sh"]
    return parse_words([*words, ""]).name in SHELLS


def _check_script(view: ProfileView, script: ShellScript, prefix: str) -> Iterator[Problem]:
    reading = lex_script(script.items)
    directives = DirectiveChecker(script, prefix)
    yield from directives.find_problems(view, reading)
    if reading.unclosed:  # the innermost one is first; what others say of quotes would be wrong
        offset, what = reading.unclosed[0]
        message = f"{what} begins here and does not end"
        hint = "the quoting of this script is checked when it does"
        yield make_problem("OSP612", message, script.locate_item(offset), hint)
        return
    for name, how, used in quoting.find_evaluated_input(reading):
        message = f"variable {name}, which read fills, gets to what {how}"
        hint = "hand it over as an argument, or check it against a list of what may stand in it"
        yield make_problem("OSP617", message, script.locate_item(used.offset), hint)
    for hole, position in reading.placeholders:
        if not directives.contains(hole):
            yield from quoting.check_placeholder(view, hole, position, reading)


def check_characters(view: ProfileView) -> Iterator[Problem]:
    """Find what no script may hold: carriage returns, and a `#!` that is not at the beginning."""
    for template in view.profile.templates.values():
        for invocation in template.invocations.values():
            for what, source, executed in _list_sources(template.name, invocation):
                yield from _check_carriage_return(what, source)
                late = _LATE_SHEBANG.match(source.text) if executed else None
                if late is not None:
                    message = f"the #! of {what} is not at its very beginning"
                    hint = "write <![CDATA[#!/bin/sh with nothing in between"
                    place = source.get_location(late.end() - 2)
                    yield make_problem("OSP625", message, place, hint)


def _list_sources(template: str, invocation: Invocation) -> Iterator[tuple[str, SourceText, bool]]:
    """Give the texts of an invocation, and whether they become the beginning of a file to run."""
    if invocation.body is not None:
        yield f"template {template}", invocation.body, template == "JOB_PROLOGUE"
    if invocation.static_script is not None:
        script = invocation.static_script
        yield f"static script {script.file_name}", script.body, True


def _check_carriage_return(label: str, source: SourceText) -> Iterator[Problem]:
    at = source.text.find("\r")
    if at >= 0:
        message = f"a carriage return in {label}"
        hint = "batch systems refuse such scripts: remove the &#13;"
        yield make_problem("OSP110", message, source.get_location(at), hint)
