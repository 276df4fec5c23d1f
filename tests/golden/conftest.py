"""A small profile in a folder of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile.profile.repository import Repository
from tests.strategies import document, field, invocation, static

if TYPE_CHECKING:
    from pathlib import Path

    from osprofile.profile.model import Profile

GREETING = "echo '<TEXT/'/'\\\\''>' <TIMES> <NAME>\n"
SMALL = document(
    f"""<idb:Template name="GREET">
{invocation(GREETING)}
{invocation("echo <USER_NAME> in <WORKING_DIRECTORY>", "PLAIN")}
{field("TEXT", "<idb:Default>hello</idb:Default>")}
{field("TIMES", "<idb:Min>2</idb:Min><idb:Max>5</idb:Max><idb:Default>3</idb:Default>")}
{field("NAME", attributes='ext:pattern="[a-z]{3}"')}
</idb:Template>
<idb:Template name="BIN">
{invocation("/bin")}
{invocation("/bin/<FILE_NAME>", "STATIC_SCRIPT")}
{invocation("<TARGET> <ARGUMENTS>", "RUN_STATIC_SCRIPT")}
</idb:Template>
<idb:Template name="COUNT">{static("wc -c", "count.sh", "-- <WHAT>")}
{field("WHAT", "<idb:Tag name='all'>a b</idb:Tag>", 'ext:pattern="a b"')}</idb:Template>""",
    name="small",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a profile without golden cases."""
    path = tmp_path / "small"
    path.mkdir()
    (path / "profile.xml").write_text(SMALL)
    return path


@pytest.fixture
def small(folder: Path) -> Profile:
    """Return the profile of that folder."""
    return Repository(use_standard_path=False).load_file(folder)
