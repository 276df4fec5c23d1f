"""What lint says of the fields that a site opens: OPTIONS, MODULES, SETUP, and its own with ext:directive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile.lint.rules.rule import (
    format_field,
    format_fixed_field,
    format_global_fields,
    format_template,
)
from tests.lint.conftest import lint_site

if TYPE_CHECKING:
    from pathlib import Path

    from osprofile.errors import Problem

EMPTY = "<idb:Default/>"
ONE = "(?:--gres=gpu:[1-8]|--exclusive)"


def find_problems(tmp_path: Path, *fields: str, more: str = "", parent: str = "slurm") -> list[Problem]:
    return lint_site(tmp_path, format_global_fields(*fields) + more, parent)


def lint_fields(tmp_path: Path, *fields: str, more: str = "", parent: str = "slurm") -> list[str]:
    return [problem.code for problem in find_problems(tmp_path, *fields, more=more, parent=parent)]


@pytest.mark.parametrize(
    ("name", "pattern", "codes"),
    [
        ("OPTIONS", f"{ONE}(?: {ONE})*", []),
        ("OPTIONS", "--constraint=[a-z0-9]+", []),
        ("OPTIONS", "[a-z0-9= -]*", ["OSP622"]),
        ("OPTIONS", "--[a-z]+=[0-9]", ["OSP622"]),
        ("OPTIONS", "-[A-Z]", ["OSP622"]),
        ("OPTIONS", "--comment=[^;]*", ["OSP622"]),
        ("OPTIONS", "(?s).*", ["OSP621"]),
        ("MODULES", "(?:gcc|openmpi/4)(?: (?:gcc|openmpi/4))*", []),
        ("MODULES", "[a-z -]*", ["OSP605"]),
    ],
)
def test_the_pattern_of_a_field_that_a_site_opens(
    tmp_path: Path, name: str, pattern: str, codes: list[str]
) -> None:
    assert lint_fields(tmp_path, format_field(name, EMPTY, f' ext:pattern="{pattern}"')) == codes


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("eval '<SETUP/'/'\\\\''>'", []),
        ("eval '<SETUP>'", ["OSP603"]),
        ("eval 'x <SETUP/'/'\\\\''>'", ["OSP610"]),
        ("sh -c '<SETUP/'/'\\\\''>'", ["OSP610"]),
        ("eval '<JOB_NAME/'/'\\\\''>'", ["OSP610"]),
    ],
)
def test_setup_is_the_users_code_only_alone_after_eval(tmp_path: Path, body: str, codes: list[str]) -> None:
    fields = format_field("SETUP", EMPTY), format_field("JOB_NAME", EMPTY, ' ext:pattern="[a-z;]*"')
    more = format_template(body, name="HOLD")
    found = lint_fields(tmp_path, *fields, more=more)
    assert [code for code in found if code in {"OSP603", "OSP610"}] == codes


@pytest.mark.parametrize(
    ("attributes", "parent", "codes"),
    [
        ('ext:pattern="[a-z]+" ext:directive="#SBATCH -L $1"', "slurm", []),
        ('ext:directive="#SBATCH -L $1"', "slurm", ["OSP621"]),
        ('ext:pattern="[^;]+" ext:directive="#SBATCH -L $1"', "slurm", ["OSP622"]),
        ('ext:pattern="[a-z]+" ext:directive="#SBATCH -L $2"', "slurm", ["OSP401"]),
        ('ext:pattern="[a-z]+" ext:directive="#SBATCH -L gpu:N"', "slurm", ["OSP629"]),
        ('ext:pattern="[a-z]+" ext:directive="#SBATCH -L $0"', "slurm", []),
        ('ext:pattern="[a-z]+" ext:directive="-L $1"', "slurm", ["OSP628"]),
        (r'ext:pattern="[a-z]+" ext:directive="#\$ -l $1"', "sge", []),
        (r'ext:pattern="[a-z|*]+" ext:directive="#\$ -l $1"', "sge", []),
        (r'ext:pattern="[^;]+" ext:directive="#\$ -l $1"', "sge", ["OSP622"]),
        ('ext:pattern="[a-z]+" ext:directive="#SBATCH -L $1"', "pbs", ["OSP628"]),
        ('ext:pattern="[a-z]+" ext:directive="#SBATCH -L $1"', "linux", ["OSP628"]),
    ],
)
def test_a_field_with_a_directive(tmp_path: Path, attributes: str, parent: str, codes: list[str]) -> None:
    assert lint_fields(tmp_path, format_field("LICENSES", EMPTY, " " + attributes), parent=parent) == codes


def test_a_profile_without_job_directives(tmp_path: Path) -> None:
    absent = '<idb:Template name="JOB_DIRECTIVES" ext:absent="true"/>'
    licenses = format_field("L", EMPTY, ' ext:pattern="[a-z]+" ext:directive="#SBATCH -L $1"')
    assert "OSP628" in lint_fields(tmp_path, licenses, more=absent)


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        (["#SBATCH --requeue", "", "# for all jobs", "#SBATCH -A x"], []),
        (["#SBATCH -A x", "--reservation=maint"], [2]),
        (["# SBATCH -A x"], [1]),
        (["#sbatch -A x", "#SBATCH -A x", "  #SBATCH -A x"], [1, 3]),
        (["#PBS -q x"], [1]),
    ],
)
@pytest.mark.parametrize("in_file", [False, True])
def test_every_line_of_extra_directives_is_a_directive(
    tmp_path: Path, lines: list[str], wrong: list[int], *, in_file: bool
) -> None:
    (tmp_path / "lines").write_text("\n".join(lines) + "\n")
    value = '<idb:Value ext:src="lines"/>' if in_file else f"<idb:Value>{chr(10).join(lines)}</idb:Value>"
    field = f'<idb:Field name="EXTRA_DIRECTIVES" isSettable="false">{value}</idb:Field>'
    problems = find_problems(tmp_path, field)
    assert [problem.code for problem in problems] == ["OSP628"] * len(wrong)
    first = (tmp_path / "mysite.xml").read_text().partition("<idb:Value")[0].count("\n") + 1
    places = [problem.location for problem in problems]
    assert [p and p.line - (1 if in_file else first) + 1 for p in places] == wrong


@pytest.mark.parametrize(("lines", "codes"), [("<X>\ngpe_id=1", ["OSP628"]), ("gpe_id=1\n<X>", [])])
def test_a_piece_of_shell_code_behind_the_first_command_is_no_directive(
    tmp_path: Path, lines: str, codes: list[str]
) -> None:
    fields = format_fixed_field("DIRECTIVE_PREFIX", "#SBATCH"), format_fixed_field("X", "x=1")
    body = f"#!/bin/sh\n#SBATCH -A x\n{lines}\n"
    directives = format_template(body, *fields, name="JOB_DIRECTIVES")
    found = lint_fields(tmp_path, more=directives, parent="slurm")
    assert [code for code in found if code == "OSP628"] == codes


@pytest.mark.parametrize("name", ["QUEUE", "EXECUTABLE"])
def test_a_default_that_was_meant_to_be_fixed(tmp_path: Path, name: str) -> None:
    body = format_template("hold <EXECUTABLE>")
    field = f'<idb:Field name="{name}" isSettable="false"><idb:Default>batch</idb:Default></idb:Field>'
    [problem] = find_problems(tmp_path, field, more=body if name == "EXECUTABLE" else "")
    assert problem.code == "OSP609"
    assert problem.hint.startswith("write <Value> instead of <Default>")
    assert problem.location
    assert problem.location.file == str(tmp_path / "mysite.xml")
    assert lint_fields(tmp_path, field.replace("Default", "Value")) == []


@pytest.mark.parametrize(
    ("attributes", "codes"),
    [
        ("", ["OSP630"]),
        (' ext:type="integer"', []),
        (' ext:type="number"', []),
        (' ext:pattern="[0-9]+"', []),
        (' ext:pattern="[0-9.]+"', ["OSP630"]),
    ],
)
def test_a_number_of_a_directive(tmp_path: Path, attributes: str, codes: list[str]) -> None:
    limits = "<idb:Min>1</idb:Min><idb:Max>8</idb:Max><idb:Default/>"
    directive = ' ext:directive="#SBATCH --gpus=$1"'
    assert lint_fields(tmp_path, format_field("GPUS", limits, attributes + directive)) == codes
    assert lint_fields(tmp_path, format_field("NODES", limits, attributes)) == codes


def test_a_missing_pattern_is_reported_at_its_cause_alone(tmp_path: Path) -> None:
    [problem] = find_problems(tmp_path, format_field("QUEUE", EMPTY, ' ext:patternField="QUEUES"'))
    assert (problem.code, problem.message) == (
        "OSP209",
        "field QUEUE takes its pattern from 'QUEUES', which is no global field of profile mysite -> slurm -> batch -> linux",
    )


def test_a_directive_among_the_commands_of_a_site(tmp_path: Path) -> None:
    setup = format_fixed_field("SITE_SETUP", "umask 077\n#SBATCH --requeue")
    [problem] = find_problems(tmp_path, setup)
    assert (problem.code, problem.hint) == ("OSP623", "put it into EXTRA_DIRECTIVES")


def test_a_field_that_nothing_uses_may_become_a_directive(tmp_path: Path) -> None:
    [problem] = find_problems(tmp_path, format_field("FEATURES", EMPTY))
    assert (problem.code, problem.severity) == ("OSP302", "error")  # its jobs would run without it
    assert 'or give it ext:directive="#SBATCH --option=$1"' in problem.hint
    assert find_problems(tmp_path, format_fixed_field("FEATURES", "1"))[0].severity == "warning"


INTEGER = ' ext:type="integer"'


@pytest.mark.parametrize(
    ("field", "says"),
    [
        (format_field("WALTIME", "<idb:Max>7200</idb:Max>" + EMPTY, INTEGER), "so its Max limits nothing"),
        (format_field("walltime", "<idb:Min>60</idb:Min>" + EMPTY, INTEGER), "so its Min limits nothing"),
        (format_field("WALLTIMES", EMPTY, ' ext:pattern="3600|7200"'), "so its pattern limits nothing"),
        (format_field("WALLTIM", EMPTY), "did you mean WALLTIME?"),
        (format_field("FLOORS", "<idb:Max>3</idb:Max>" + EMPTY), ""),
    ],
)
def test_a_misspelt_field_or_a_limit_of_no_field_is_an_error(tmp_path: Path, field: str, says: str) -> None:
    [problem] = find_problems(tmp_path, field)
    assert (problem.code, problem.severity) == ("OSP302", "error")
    assert says in f"{problem.message} {problem.hint}"
    assert problem.hint.startswith("did you mean WALLTIME? Else write ") == bool(says)


def test_a_misspelt_field_of_a_template(tmp_path: Path) -> None:
    field = format_field("SIGNA", "<idb:Max>9</idb:Max>", ' ext:type="integer"')
    [problem] = find_problems(tmp_path, more=format_template("true", field, name="SIGNAL"))
    assert (problem.severity, problem.hint.startswith("did you mean SIGNAL?")) == ("error", True)


@pytest.mark.parametrize(
    ("command", "pattern", "codes"),
    [
        ("osprofile-seg -s pbs", "", []),
        ("sudo -n -u pbs osprofile-seg -s sge", r"(?<id>[0-9]+)\.0", []),
        ("it's", "", ["OSP506", "OSP612"]),
        ("", "", ["OSP506"]),
        ("osprofile-seg -s sge", r"[0-9]+", ["OSP402"]),
        ("osprofile-seg -s sge", r"(?<id>[0-9]+", ["OSP401"]),
    ],
)
def test_a_command_for_events_and_the_ids_of_its_log(
    tmp_path: Path, command: str, pattern: str, codes: list[str]
) -> None:
    fields = [format_fixed_field("EVENT_ID_PATTERN", pattern)] if pattern else []
    assert (
        lint_fields(tmp_path, more=format_template(command, *fields, name="EVENTS"), parent="linux") == codes
    )


def test_what_a_boolean_is(tmp_path: Path) -> None:
    [problem] = find_problems(tmp_path, '<idb:Field name="QUEUE" isSettable="no"><idb:Default/></idb:Field>')
    assert problem.code == "OSP104"
    assert "true or false" in f"{problem.message} {problem.hint}"


@pytest.mark.parametrize(("name", "in_file"), [("SITE_SETUP", True), ("SITE_CLEANUP", False)])
@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("true\necho 'it", 2),
        ("case $HOME in\n/*) true ;;", 1),
        ("true\nif true; then\n  true", 2),
        ("f() {\n  true", 1),
        ("(\ntrue", 1),
        ("for i in 1 2; do\n  true", 1),
        ("cat <<E\ntext", 2),
        ("if true; then for i in 1; do f() { (true); }; done; fi\ncase x in x) ;; esac; echo if {", 0),
    ],
)
def test_code_of_a_site_that_does_not_end(
    tmp_path: Path, name: str, code: str, line: int, *, in_file: bool
) -> None:
    (tmp_path / "code.sh").write_text(code + "\n")
    value = '<idb:Value ext:src="code.sh"/>' if in_file else f"<idb:Value><![CDATA[{code}]]></idb:Value>"
    problems = find_problems(tmp_path, f'<idb:Field name="{name}" isSettable="false">{value}</idb:Field>')
    assert [problem.code for problem in problems] == ["OSP612"] * bool(line)
    for problem in problems:
        assert name in problem.message
        assert problem.location
        assert problem.location.file == str(tmp_path / ("code.sh" if in_file else "mysite.xml"))
        text = code.splitlines()[line - 1]
        assert text in (tmp_path / problem.location.file).read_text().splitlines()[problem.location.line - 1]
