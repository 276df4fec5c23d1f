"""A home in which the programs of the profile `linux` are installed, as they are from a user's second job on.

Their deployment, which takes as long as a job, is tested in tests/incarnation/test_static_scripts.py and
tests/profiles/test_deployment.py.
"""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from osprofile.incarnation.incarnate import static_scripts
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterable

    from osprofile.incarnation.static_scripts import StaticScriptFile


@cache
def _list_programs() -> tuple[StaticScriptFile, ...]:
    return static_scripts(Repository([get_bundled_directory()], use_standard_path=False).load("linux"))


def install_programs(home: Path) -> None:
    """Write the programs into a new home."""
    write_programs(home, _list_programs())


def write_programs(home: Path, programs: Iterable[StaticScriptFile]) -> None:
    """Write programs into a home, unless they are there; several may start jobs at the same time."""
    for program in programs:
        path = Path(program.path.replace('"$HOME"', str(home)))
        if not path.exists():
            for directory in (*reversed(path.parents[:3]),):
                directory.mkdir(mode=0o700, exist_ok=True)
            new = path.with_name(f"new-{threading.get_ident()}")
            new.write_text(program.body)
            new.chmod(program.mode)
            new.rename(path)
