"""`make changed`: what changed has tests."""

from __future__ import annotations

from pathlib import Path

from tests.changed import ELSEWHERE, ROOT, choose_tests, find_place, read_table

MODULES = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "osprofile").rglob("*.py")
    if find_place(path.relative_to(ROOT), ELSEWHERE) is None
)


def test_each_module_has_tests() -> None:
    assert [module for module in MODULES if not choose_tests(Path(module))] == []


def test_choose_tests() -> None:
    for path, test in (
        ("osprofile/jobs/record/store.py", "tests/jobs/test_store.py"),
        ("osprofile/jobs/timing.py", "tests/jobs/test_clock.py"),
        ("osprofile/errors.py", "tests/test_errors.py"),
        ("osprofile/jobs/fields.py", "tests/jobs/test_fields.py"),
        ("osprofile/jobs/fields.py", "tests/cli/test_outputs.py"),
        ("osprofile/jobs/fields.py", "tests/cli/job/test_job_headers.py"),
        ("osprofile/job_scripts/sbatch.py", "tests/cli/job/test_job_headers.py"),
        ("osprofile/cli/show.py", "tests/cli/test_outputs.py"),
        ("osprofile/cli/job/verbs.py", "tests/cli/test_outputs.py"),
        ("osprofile/cli/job/operations.py", "tests/cli/job"),
        ("profiles/slurm/squeue.sh", "tests/profiles"),
        ("docs/language.md", "tests/docs"),
        ("schemas/osprofile.xsd", "tests/schemas"),
        ("osprofile/page/page.js", "tests/page"),
        ("tests/jobs/conftest.py", "tests/jobs"),
        ("tests/profiles/stand_ins/slurm.sh", "tests/profiles"),
        ("tests/jobs/test_store.py", "tests/jobs/test_store.py"),
    ):
        assert test in choose_tests(Path(path)), path


def test_the_table_names_what_is_there() -> None:
    names = {name for row in read_table() for part in row for name in part}
    assert len(names) > 30
    assert [name for name in sorted(names) if not (ROOT / name).exists()] == []
    assert [places for places, tests in read_table() if places and not tests] == []


def test_what_nobody_tests() -> None:
    assert choose_tests(Path("LICENSE")) == set()
