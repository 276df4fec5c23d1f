"""Rules for scripts: quoting, directives, carriage returns, `#!`.

See docs/language.md, "Quoting".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from osprofile.lint import quoting
from osprofile.lint.directives import (
    DirectiveChecker,
    check_directive_values,
    check_field_directives,
    check_fixed_directives,
)
from osprofile.lint.profile_view import DIRECTIVE_TEMPLATES
from osprofile.lint.rules import make_problem
from osprofile.lint.shell.commands import SHELLS, parse_words
from osprofile.lint.shell.lexer import lex_script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.errors import Problem
    from osprofile.lint.profile_view import Placeholder, ProfileView
    from osprofile.lint.shell.lexer import LexedScript
    from osprofile.profile.model import Field, Invocation
    from osprofile.profile.tree import Element
    from osprofile.source import SourceText

_LATE_SHEBANG: Final = re.compile(r"\s+#!")


def check_scripts(view: ProfileView) -> Iterator[Problem]:
    """Check every text that a shell will read."""
    directive_problems = [*check_field_directives(view), *check_fixed_directives(view)]
    yield from directive_problems
    yield from check_directive_values(view)
    prefix = view.find_directive_prefix()
    problems_by_value: dict[Element, list[Problem]] = {}  # many scripts share a value
    for texts, is_job in view.list_script_texts():
        fixed_lines = [line for text in texts for line in view.list_fixed_lines(text)]
        for field, value in fixed_lines:
            if field.element not in problems_by_value:
                problems_by_value[field.element] = [*_check_value(field, value)]
                yield from problems_by_value[field.element]
        if any(p.code == "OSP612" for field, _ in fixed_lines for p in problems_by_value[field.element]):
            continue  # other problems would be consequences of it
        has_directives = is_job or texts[0].template.name in DIRECTIVE_TEMPLATES
        directives = DirectiveChecker(view.assemble_script(texts), prefix if has_directives else "")
        # A line that is no directive is a command, and all directives would follow it.
        yield from _check_script(view, directives, with_directives=not directive_problems)
    for text in view.texts:
        if text.is_arguments and _is_shell_script(text.invocation):
            yield from _check_script(view, DirectiveChecker(view.assemble_static_script(text), ""))


def _check_value(field: Field, value: SourceText) -> Iterator[Problem]:
    """Check a fixed value that is whole lines of scripts, on its own."""
    lexed: LexedScript[Placeholder] = lex_script(value.text)
    if unclosed := lexed.unclosed or [(offset, repr(word)) for offset, word in lexed.unfinished]:
        offset, label = unclosed[0]
        message = f"{label} begins here and is not closed in the Value of field {field.name}"
        hint = "close it: the script that the Value is put into goes on after it"
        yield make_problem("OSP612", message, value.get_location(offset), hint)


def _is_shell_script(invocation: Invocation) -> bool:
    """Return whether a static script is for a shell, by its `#!`, or has no `#!`."""
    script = invocation.static_script
    first_line = script.body.text.partition("\n")[0] if script is not None else ""
    words = first_line.removeprefix("#!").split() if first_line.startswith("#!") else ["sh"]
    return parse_words([*words, ""]).name in SHELLS


def _check_script(
    view: ProfileView, directives: DirectiveChecker, *, with_directives: bool = True
) -> Iterator[Problem]:
    script = directives.script
    lexed = lex_script(script.items)
    if with_directives:
        yield from directives.find_problems(view, lexed)
    if lexed.unclosed:  # the innermost is first; other problems would be consequences of it
        offset, label = lexed.unclosed[0]
        message = f"{label} begins here and is not closed"
        hint = "the quoting of this script can be checked only when it is"
        yield make_problem("OSP612", message, script.locate_item(offset), hint)
        return
    for name, how, position in quoting.find_evaluated_input(lexed):
        message = f"variable {name}, which is set by read, reaches what {how}"
        hint = "pass it as an argument, or check it against a list of allowed values"
        yield make_problem("OSP617", message, script.locate_item(position.script_offset), hint)
    for placeholder, position in lexed.placeholders:
        if not directives.contains(placeholder):
            yield from quoting.check_placeholder(view, placeholder, position, lexed)


def check_characters(view: ProfileView) -> Iterator[Problem]:
    """Report carriage returns in scripts, and a `#!` that is not at the beginning."""
    first_part = next((t.name for t in view.list_directive_templates()), "")
    for template in view.profile.templates.values():
        for invocation in template.invocations.values():
            for label, source, is_executed in _list_sources(template.name, invocation, first_part):
                yield from _check_carriage_return(label, source)
                late_shebang = _LATE_SHEBANG.match(source.text) if is_executed else None
                if late_shebang is not None:
                    message = f"the #! of {label} is not at the very beginning"
                    hint = "write <![CDATA[#!/bin/sh with nothing in between"
                    location = source.get_location(late_shebang.end() - 2)
                    yield make_problem("OSP625", message, location, hint)


def _list_sources(
    template: str, invocation: Invocation, first_part: str
) -> Iterator[tuple[str, SourceText, bool]]:
    """Yield the texts of an invocation, and whether each is the beginning of an executable file."""
    if invocation.body is not None:
        yield f"template {template}", invocation.body, template == first_part
    if invocation.static_script is not None:
        script = invocation.static_script
        yield f"static script {script.file_name}", script.body, True


def _check_carriage_return(label: str, source: SourceText) -> Iterator[Problem]:
    offset = source.text.find("\r")
    if offset >= 0:
        message = f"a carriage return in {label}"
        hint = "batch systems reject such scripts: remove the &#13;"
        yield make_problem("OSP110", message, source.get_location(offset), hint)
