"""The bundled profiles are clean; with a quote taken away anywhere, they are not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from osprofile.lint import lint_file, lint_profile
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository

PROFILES = Path(get_bundled_directory())
NAMES = sorted(path.parent.name for path in PROFILES.glob("*/profile.xml"))
QUOTED = re.compile(r"'<([A-Z_:]+)/'/'\\\\''>'")


@pytest.mark.parametrize("name", NAMES)
def test_clean(name: str) -> None:
    found = lint_file(PROFILES / name, Repository([PROFILES], use_standard_path=False))
    assert [str(problem) for problem in found] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_quote_matters(name: str) -> None:
    """Each quoted value of a bundled profile, in double quotes or without any, is a problem.

    Integers and values with a strict pattern are safe anywhere.
    """
    text = (PROFILES / name / "profile.xml").read_text(encoding="utf-8")
    repository = Repository([PROFILES], use_standard_path=False)
    missed = set()
    for match in QUOTED.finditer(text):
        for instead in (f'"<{match[1]}>"', f"<{match[1]}>", f"'<{match[1]}>'"):
            changed = text[: match.start()] + instead + text[match.end() :]
            if not lint_profile(repository.load_bytes(changed.encode(), "changed.xml")):
                missed.add(match[1])
    harmless = {
        name
        for name, field in repository.load(name).global_fields.items()
        if field.type == "integer"
        or name in {"JOB_NAME", "QUEUE", "PROJECT", "ARGUMENTS", "ENVIRONMENT", "PE", "PE_NODES"}
    } | {"JOB_ID", "SIGNAL", "SSH"}
    assert {name.partition(":")[0] for name in missed} <= harmless
