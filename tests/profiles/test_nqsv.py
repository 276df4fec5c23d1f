"""The profile `nqsv`: what is NQSV's own; the stories of test_stories.py are told of it, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.profiles.conftest import DASH, load_site
from tests.profiles.systems import make_stand_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target


@DASH
def test_processors_that_a_directive_asks_for(target_of: Callable[..., Target], tmp_path: Path) -> None:
    """An option of the command would override it."""
    system = make_stand_in("nqsv", target_of, tmp_path / "commands")
    requests = system.directory / "requests"
    system.target.start(PROCESSES="4", NODES="2")
    system.target.profile = load_site("nqsv", EXTRA_DIRECTIVES="#PBS -l cpunum_job=8")
    system.target.start()
    assert requests.read_text().splitlines() == ["-l cpunum_job=2 .gpe/script", ".gpe/script"]
