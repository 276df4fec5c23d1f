"""A home in which the programs of the profile `linux` are installed, as they are from a user's second job on.

Their deployment, which takes as long as a job, is tested in tests/incarnation/test_static_scripts.py and
tests/profiles/test_deployment.py.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from osprofile.incarnation.incarnate import static_scripts
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from osprofile.incarnation.static_scripts import StaticScriptFile


@cache
def _list_programs() -> tuple[StaticScriptFile, ...]:
    return static_scripts(Repository([get_bundled_directory()], use_standard_path=False).load("linux"))


def install_programs(home: Path) -> None:
    """Write the programs into a new home."""
    for program in _list_programs():
        path = Path(program.path.replace('"$HOME"', str(home)))
        if not path.parent.is_dir():
            path.parent.mkdir(mode=0o700, parents=True)
            path.parent.parent.chmod(0o700)
        path.write_text(program.body)
        path.chmod(program.mode)
