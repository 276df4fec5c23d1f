"""`make changed`: what changed has tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.changed import ELSEWHERE, ROOT, choose_tests, find_place

MODULES = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "osprofile").rglob("*.py")
    if find_place(path.relative_to(ROOT), ELSEWHERE) is None
)


def test_each_module_has_tests() -> None:
    assert [module for module in MODULES if not choose_tests(Path(module))] == []


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("osprofile/jobs/store.py", "tests/jobs/test_store.py"),
        ("osprofile/jobs/clock.py", "tests/jobs/test_clock.py"),
        ("osprofile/errors.py", "tests/test_errors.py"),
        ("profiles/slurm/squeue.sh", "tests/profiles"),
        ("docs/language.md", "tests/docs"),
        ("schemas/osprofile.xsd", "tests/schemas"),
        ("osprofile/page/page.js", "tests/page"),
        ("tests/jobs/conftest.py", "tests/jobs"),
        ("tests/profiles/stand_ins/slurm.sh", "tests/profiles"),
        ("tests/jobs/test_store.py", "tests/jobs/test_store.py"),
    ],
)
def test_choose_tests(path: str, test: str) -> None:
    assert test in choose_tests(Path(path))


def test_what_nobody_tests() -> None:
    assert choose_tests(Path("LICENSE")) == set()
