"""What README, the gate and `make check` promise of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.changed import list_tests
from tests.quick import SECONDS, choose_files, read_list


@pytest.mark.parametrize("file", ["README.md", ".ci/run"])
def test_it_names_the_command_that_runs_the_tests(file: str) -> None:
    assert "make test" in Path(file).read_text(encoding="utf-8")


def test_readme_names_the_demo_before_the_tests() -> None:
    start = Path("README.md").read_text(encoding="utf-8").partition("## Start")[2]
    assert [line.split("#")[0].strip() for line in start.splitlines() if line.startswith("make ")] == [
        "make demo",
        "make test",
    ]


def test_check_takes_a_minute_and_has_each_package() -> None:
    files = read_list()
    assert sum(files.values()) <= SECONDS
    assert {Path(file).parent for file in files} == {
        file.parent for file in list_tests() if "docs" not in file.parts
    }
    assert set(files) <= {str(file) for file in list_tests()}


def test_the_files_of_check_are_those_that_take_least() -> None:
    durations = {"a/slow.py": SECONDS - 10, "b/1.py": 1.0, "b/2.py": 4.0, "b/3.py": 6.0, "b/4.py": 50.0}
    assert set(choose_files(durations)) == {"a/slow.py", "b/1.py", "b/2.py"}
