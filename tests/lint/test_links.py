"""The linter and fields that depend on other fields (`ext:when`, `ext:requires`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.lint.rules.rule import (
    complete_example,
    format_application,
    format_field,
    format_global_fields,
    format_template,
)

if TYPE_CHECKING:
    from tests.lint.conftest import Lint

EMPTY = "<idb:Default/>"
FLAG = format_field("FLAG", EMPTY)


def make_piece(value: str, when: str = "FLAG") -> str:
    shown = f"<idb:Value><![CDATA[{value}]]></idb:Value>"
    return f'<idb:Field name="PIECE" isSettable="false" ext:when="{when}">{shown}</idb:Field>'


def find_codes(lint: Lint, content: str) -> list[str]:
    return [problem.code for problem in lint(complete_example(content))]


def test_a_field_is_used_if_one_that_depends_on_it_is(lint: Lint) -> None:
    kind = format_field("KIND", EMPTY, ' ext:requires="FLAG"')
    hold = format_template("hold\n<PIECE>\n", make_piece("true"), FLAG)
    assert find_codes(lint, hold) == []
    assert find_codes(lint, format_template("hold -k'<KIND/'/'\\\\''>'", kind, FLAG)) == []
    in_global = format_global_fields(make_piece("true"), FLAG)
    assert find_codes(lint, in_global + format_template("hold\n<PIECE>\n")) == []
    # Nobody uses PIECE, and so nobody uses FLAG.
    assert find_codes(lint, in_global + format_template("hold")) == ["OSP302", "OSP302"]
    assert find_codes(lint, format_template("hold", make_piece("true"), FLAG)) == ["OSP302", "OSP302"]


def test_the_shell_is_read_with_the_value(lint: Lint) -> None:
    assert find_codes(lint, format_template("hold\n<PIECE>\n", make_piece("if"), FLAG)) == ["OSP612"]


def test_declarations_of_the_named_field_must_agree(lint: Lint) -> None:
    parts = [
        format_global_fields(make_piece("true"), FLAG),
        format_template("hold", name="JOB_DIRECTIVES"),
        format_template("(\n<PIECE>\n", name="JOB_PROLOGUE"),
        format_template(
            "run -k'<FLAG/'/'\\\\''>'", format_field("FLAG", "<idb:Default>x</idb:Default>"), name="RUN"
        ),
        format_application("Executable", "RUN"),
    ]
    assert "OSP304" in find_codes(lint, "\n".join(parts))
    parts[3] = parts[3].replace("<idb:Default>x</idb:Default>", EMPTY)
    assert "OSP304" not in find_codes(lint, "\n".join(parts))
