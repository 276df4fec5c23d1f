"""A home in which a page's blocks run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.docs.running import Home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    path = tmp_path / "home"
    path.mkdir()
    home = Home(path)
    yield home
    home.close()
