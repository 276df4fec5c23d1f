"""The linter and fields that depend on other fields (`ext:when`, `ext:requires`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.lint.rules.rule import (
    complete_example,
    format_application,
    format_field,
    format_fixed_field,
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


def test_a_part_of_the_job_script_decides_about_a_piece_of_another(lint: Lint) -> None:
    """A global field that is fixed and empty, and declared again where there is a condition, is no difference."""
    parts = [
        format_global_fields(make_piece("true", "HAS_FLAG"), FLAG, format_fixed_field("HAS_FLAG", "")),
        format_template(
            "<HAS_FLAG>\nhold\n",
            '<idb:Field name="HAS_FLAG" isSettable="false" ext:when="FLAG"><idb:Value>true</idb:Value></idb:Field>',
            name="JOB_DIRECTIVES",
        ),
        format_template("(\n<PIECE>\n", name="JOB_PROLOGUE"),
        format_template("run", name="RUN"),
        format_application("Executable", "RUN"),
    ]
    assert "OSP304" not in find_codes(lint, "\n".join(parts))
    parts[2] = format_template("(\n<PIECE>\n<HAS_FLAG>\n", name="JOB_PROLOGUE")
    assert "OSP304" in find_codes(lint, "\n".join(parts))
