"""What lint says of the fields that a site opens: OPTIONS, MODULES, SETUP, and its own with ext:directive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile.lint import lint_file
from osprofile.lint.rules.rule import format_field, format_global_fields, format_profile, format_template
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from pathlib import Path

EMPTY = "<idb:Default/>"
ONE = "(?:--gres=gpu:[1-8]|--exclusive)"


def lint_fields(tmp_path: Path, *fields: str, more: str = "", parent: str = "slurm") -> list[str]:
    path = tmp_path / "mysite.xml"
    path.write_text(format_profile(format_global_fields(*fields) + more, f'name="mysite" extends="{parent}"'))
    return [problem.code for problem in lint_file(path, Repository())]


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
        ("MODULES", "[a-z -]*", ["OSP616"]),
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
        ('ext:pattern="[a-z]+" ext:directive="-L $1"', "slurm", ["OSP628"]),
        (r'ext:pattern="[a-z]+" ext:directive="#\$ -l $1"', "sge", []),
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
    path = tmp_path / "mysite.xml"
    field = f'<idb:Field name="EXTRA_DIRECTIVES" isSettable="false">{value}</idb:Field>'
    path.write_text(format_profile(format_global_fields(field), 'name="mysite" extends="slurm"'))
    problems = lint_file(path, Repository())
    assert [problem.code for problem in problems] == ["OSP628"] * len(wrong)
    first = path.read_text().partition("<idb:Value")[0].count("\n") + 1
    places = [problem.location for problem in problems]
    assert [p and p.line - (1 if in_file else first) + 1 for p in places] == wrong
