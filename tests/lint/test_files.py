"""`lint_file`: everything in one pass, and never an exception, whatever the file holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from osprofile.cli.command_line import run_command_line
from osprofile.lint import RULES, lint_file
from osprofile.lint.rules import complete_example
from osprofile.lint.rules.rule import format_field, format_fixed_field, format_profile, format_template
from osprofile.profile.repository import Repository
from tests.hunting import rounds
from tests.lint.conftest import PARENTS

if TYPE_CHECKING:
    from osprofile.errors import Problem
    from tests.lint.conftest import Lint


def codes(problems: list[Problem]) -> list[str]:
    return [p.code for p in problems]


def test_a_whole_message(lint: Lint) -> None:
    [found] = lint(complete_example(format_template("qhold '<WHY/'/'\\\\''>'", format_field("WHY"))))
    assert found.location
    assert (
        str(found)
        == f"""\
{found.location.file}:8:45: error OSP605 the value of settable field WHY is used where qhold reads a leading - as an option
      <idb:Invocation><idb:Body><![CDATA[qhold '<WHY/'/'\\\\''>']]></idb:Body></idb:Invocation>
                                                ^
    hint: put a -- before it, or attach it to its option (-q'...', --queue='...'), or give it an ext:pattern that forbids a leading -"""
    )


SAID = {
    # the content, the message, and the hint
    "a field of another template": (
        format_template("x <ENVIRONMENT>"),
        "<ENVIRONMENT> is not a field of template HOLD, a global field or a special field",
        "template EXECUTABLE declares it for itself, at ",
    ),
    "a misspelled field": (
        format_template("x <JOBID>"),
        "<JOBID> is not a field of template HOLD, a global field or a special field",
        (
            'did you mean JOB_ID?; a field of the user\'s profile is declared with isSettable="false"; '
            "a shell's redirection has a blank: < JOBID"
        ),
    ),
    "a directive": (
        format_template(
            "#!/bin/sh\n#PBS -q <QUEUE>\n(\n",
            format_fixed_field("DIRECTIVE_PREFIX", "#PBS"),
            format_field("QUEUE", "<idb:Default/>"),
            name="JOB_PROLOGUE",
        ),
        "settable field QUEUE is used in a directive and has no pattern",
        (
            "batch systems have no quoting there: list the allowed characters, as in "
            'ext:pattern="[A-Za-z0-9_.@:+-]*"; the field is declared at {file}:13:3'
        ),
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_what_is_said(lint: Lint, case: str) -> None:
    content, message, hint = SAID[case]
    [found] = lint(complete_example(content))
    assert found.location
    assert found.message == message
    assert found.hint.startswith(hint.format(file=found.location.file))


WRONG_LIMITS = format_template("x <N>", format_field("N", "<idb:Min>5</idb:Min><idb:Max>4</idb:Max>"))
USE = format_template("x <NOPE>", name="T")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(complete_example(WRONG_LIMITS + "<osp:Nope/>"), ["OSP307", "OSP104"], id="the schema"),
        pytest.param(complete_example(USE + 2 * format_template("x")), ["OSP301", "OSP105"], id="duplicates"),
        pytest.param(format_profile(WRONG_LIMITS, 'name="x" extends="nope"'), ["OSP201", "OSP307"], id="no such parent"),
        pytest.param(complete_example(USE + '<osp:Storage name="S" template="U"/>'), ["OSP301", "OSP203"], id="no such template"),
    ],
)  # fmt: skip
def test_what_is_invalid_does_not_hide_the_rest(lint: Lint, document: str, expected: list[str]) -> None:
    assert codes(lint(document)) == expected


def test_carriage_returns_are_reported_once_and_with_the_rest(lint: Lint) -> None:
    text = complete_example(format_template("x <NOPE>\ny")).replace("\n", "\r\n")
    found = lint(text)
    assert codes(found) == ["OSP109", "OSP301"]
    assert [p.location.line for p in found if p.location] == [1, 8]


def test_a_bad_parent(tmp_path: Path) -> None:
    (tmp_path / "parent.xml").write_text(format_profile("<osp:Nope/>", 'name="parent"'))
    (tmp_path / "child.xml").write_text(
        format_profile(format_template("x <NOPE>"), 'name="child" extends="parent"')
    )
    found = lint_file(tmp_path / "child.xml", Repository([tmp_path], use_standard_path=False))
    assert [(p.code, p.location and Path(p.location.file).name) for p in found] == [("OSP104", "parent.xml")]


@pytest.mark.parametrize("name", ["nope.xml", "nope/profile.xml", ""])
def test_a_file_that_is_not_there(tmp_path: Path, name: str) -> None:
    [found] = lint_file(tmp_path / name, Repository([tmp_path], use_standard_path=False))
    assert found.code == "OSP101"
    assert found.location is None


def test_a_folder_stands_for_its_profile(tmp_path: Path) -> None:
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "profile.xml").write_bytes((PARENTS / "base.xml").read_bytes())
    assert lint_file(str(folder), Repository([PARENTS], use_standard_path=False)) == []


def test_the_tests_own_profiles() -> None:
    repository = Repository([PARENTS], use_standard_path=False)
    assert lint_file(PARENTS / "base.xml", repository) == []
    assert codes(lint_file(PARENTS / "parts.xml", repository)) == ["OSP207"]


EXAMPLES = [complete_example(text) for rule in RULES.values() for text in (rule.wrong, rule.right)]
EXAMPLES += [(PARENTS / name).read_text(encoding="utf-8") for name in ("base.xml", "parts.xml")]

PIECES = [
    "<", ">", "&", "'", '"', "\\", "/", "$", "`", "(", ")", "{", "}", "[", "]", "\n", "\r\n", "#", "<N>", "<N/a/b>",
    "<X:HMS>", "<JOB_SCRIPT>", "$((", "${x:-", "<<E\n", "\\''", "<![CDATA[", "]]>", "&#13;", "\u2028", "é", "(?<id>",
    "(?!-)", "\\p{L}", "{2,1}", "*+", "NaN", "INF", "1e999", "-1", "", 'ext:type="integer"', 'isSettable="false"',
    "<idb:Field/>", '<idb:Field name="N"/>', '<idb:Template name="BIN"/>', "<idb:Template/>", "<idb:Body/>",
    '<idb:Tag name="">', "<idb:Value/>", '<osp:Application name="a" template="b"/>', "<!-- -->", "<?x y?>", "\ufffe", "\0",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Change an example at some places: insert, delete, replace, or copy a part."""
    text = draw(st.sampled_from(EXAMPLES))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 0, 1, 3, 20])))
        kept = text[start:end] if draw(st.booleans()) else ""
        text = text[:start] + draw(st.sampled_from(PIECES)) + kept + text[end:]
    return text


@settings(
    max_examples=rounds(250, 65), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=mutated().map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=200))
def test_no_document_makes_the_linter_fail(lint: Lint, data: bytes) -> None:
    for found in lint(data):
        assert found.code in RULES
        assert found.severity == RULES[found.code].severity
        assert str(found)


@pytest.mark.parametrize(
    ("file", "on_path", "severities"),
    [
        ("mycluster/profile.xml", True, ["error"]),
        ("mycluster/profile.xml", False, ["warning"]),
        ("mycluster.xml", True, []),
        ("mycluser/profile.xml", True, []),
        ("mycluser.xml", True, []),
    ],
)
def test_a_profile_has_the_name_by_which_it_is_found(
    tmp_path: Path, file: str, severities: list[str], *, on_path: bool
) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(format_profile("", 'name="mycluser" extends="base"'))
    repository = Repository([*([tmp_path] if on_path else []), PARENTS], use_standard_path=False)
    found = lint_file(path, repository)
    assert [(p.code, p.severity) for p in found] == [("OSP108", severity) for severity in severities]
    assert all("'mycluster'" in p.message and "'mycluser'" in p.message for p in found)


@pytest.mark.parametrize("file", ["mycluster/profile.xml", "mycluster.xml"])
def test_lint_of_a_name_is_lint_of_the_profile_of_that_name(
    tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(format_profile("", 'name="mycluser" extends="linux"'))
    assert run_command_line(["lint", "mycluster", "--profiles", str(tmp_path)]) == 3
    assert "error OSP108 this file was found as profile 'mycluster'" in capsys.readouterr().out
