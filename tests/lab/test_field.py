"""The cases of tests/field that need a real Slurm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.field.test_cases import check_script, list_cases

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("case", list_cases(slurm=True))
def test_case(case: Path, tmp_path: Path) -> None:
    check_script(case, tmp_path)
