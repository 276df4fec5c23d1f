"""The linter over a document in memory, with the parents of `profiles/` beside this file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from osprofile.errors import Problem
from osprofile.lint import lint_file
from osprofile.lint.rules.rule import format_profile
from osprofile.profile.repository import Repository

PARENTS = Path(__file__).with_name("profiles")

Lint = Callable[[str | bytes], list[Problem]]


def lint_site(directory: Path, content: str, parent: str = "slurm") -> list[Problem]:
    """Lint the profile `mysite`, which extends a bundled profile or one in the directory."""
    path = directory / "mysite.xml"
    path.write_text(format_profile(content, f'name="mysite" extends="{parent}"'))
    return lint_file(path, Repository([directory]))


@pytest.fixture(scope="session")
def lint(tmp_path_factory: pytest.TempPathFactory) -> Lint:
    """Return a function that lints a document, written to `example.xml` beside `hold.sh`."""
    directory = tmp_path_factory.mktemp("lint")
    (directory / "hold.sh").write_text("true\n")
    file = directory / "example.xml"

    def run(document: str | bytes) -> list[Problem]:
        file.write_bytes(document.encode() if isinstance(document, str) else document)
        return lint_file(file, Repository([directory, PARENTS], use_standard_path=False))

    return run
