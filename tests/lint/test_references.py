"""What lint says of a profile whose change breaks what it inherits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.lint import lint_file
from osprofile.lint.rules.rule import format_field, format_global_fields, format_profile
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from pathlib import Path


def test_a_missing_pattern_is_reported_at_its_cause_alone(tmp_path: Path) -> None:
    field = format_field("QUEUE", "<idb:Default/>", ' ext:patternField="QUEUES"')
    path = tmp_path / "mysite.xml"
    path.write_text(format_profile(format_global_fields(field), 'name="mysite" extends="slurm"'))
    [problem] = lint_file(path, Repository())
    assert problem.code == "OSP209"
    assert problem.message == (
        "field QUEUE takes its pattern from 'QUEUES', which is no global field of profile mysite -> slurm -> linux"
    )
