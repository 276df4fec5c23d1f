"""The pages of the manual that need a real Slurm, by an ordinary user in an empty home.

The tutorial begins with nothing: its first commands install the wheel of this checkout, and its last
ones show what a job of the reader's own profile has printed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs import pages
from tests.docs.running import BIN, Home
from tests.docs.test_pages import read_picture
from tests.lab.conftest import SHARED, USER

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = [name for name in pages.names() if any(b.run == "lab" for b in pages.read(name))]
TUTORIAL = "docs/tutorial.md"
PYTHON = "/usr/bin/python3"
"""One that every user may run."""
BECOME = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups", "--")


@pytest.fixture(scope="module")
def top(site: Path) -> Iterator[Path]:  # noqa: ARG001  # site: the lab is up
    """Give a directory that the user can reach, with the sources that would be committed now."""
    directory = Path(tempfile.mkdtemp(prefix="osprofile-docs-", dir=SHARED))
    directory.chmod(0o755)
    listed = ["git", "-C", str(pages.ROOT), "ls-files", "-z", "-c", "-o", "--exclude-standard"]
    for name in subprocess.check_output(listed, text=True).split("\0")[:-1]:
        if (pages.ROOT / name).is_file():
            (directory / "sources" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(pages.ROOT / name, directory / "sources" / name)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def home(request: pytest.FixtureRequest, top: Path) -> Iterator[Home]:
    """Give a home with nothing but the sources; for all pages but the tutorial, with commands."""
    path = Path(tempfile.mkdtemp(prefix="home-", dir=top))
    shutil.copytree(top / "sources", path / "osprofile")
    subprocess.run(["chown", "-R", f"{USER}:", str(path)], check=True)
    tools = top / "nothing"
    if request.getfixturevalue("page") != TUTORIAL:
        tools = install(top / "environment", top / "sources")
    home = Home(path, bin_directory=tools, user=USER, prefix=BECOME, lab=True)
    home.environment |= {n: value for n, value in os.environ.items() if n.startswith("PIP_")}
    del home.environment["PYTHONWARNINGS"]  # an old pip has warnings of its own
    yield home
    home.close()


def install(environment: Path, sources: Path) -> Path:
    """Make an environment with osprofile that the user can run; give its commands' directory."""
    tools = environment / "bin"
    if not (tools / "incarnate").exists():
        subprocess.run([PYTHON, "-m", "venv", str(environment)], check=True)
        subprocess.run([str(tools / "pip"), "install", "-q", str(sources)], check=True)
    return tools


@pytest.mark.parametrize("page", PAGES)
def test_its_blocks_run_with_a_real_slurm(page: str, home: Home) -> None:
    for block in pages.read(page):
        home.run(block)


def test_the_tutorial_is_among_them() -> None:
    assert TUTORIAL in PAGES


def test_the_picture_shows_what_the_demo_prints(site: Path, tmp_path: Path) -> None:  # noqa: ARG001
    done = subprocess.run(
        ["sh", str(pages.ROOT / "docs" / "demo" / "demo.sh"), "mycluster"],
        env=os.environ | {"HOME": str(tmp_path), "PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    picture = re.sub(
        r"\s|(?<=defined on )\S+:", "", " ".join(read_picture(pages.ROOT / "docs/images/demo.svg"))
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith(("likely cause: ", "incarnate: "))]
    assert len(lines) == 2
    for line in lines:
        assert re.sub(r"\s|(?<=defined on )\S+:", "", line) in picture
