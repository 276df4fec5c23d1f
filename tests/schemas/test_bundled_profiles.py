"""Every profile that is shipped is valid, whichever engine one asks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

PROFILES = sorted((Path(__file__).parents[2] / "profiles").glob("*/profile.xml"))


@pytest.mark.parametrize("profile", PROFILES, ids=[path.parent.name for path in PROFILES])
def test_a_bundled_profile_is_valid(profile: Path, engine: Callable[[str], list[str]]) -> None:
    assert engine(profile.read_text(encoding="utf-8")) == []
