"""What the tests of several plugins share: hostile values, a profile with a shell of its own, and what START would run."""

from __future__ import annotations

from pathlib import Path

import osprofile
from tests.strategies import document, template

ROOT = Path(__file__).parents[2]
HOSTILE = [
    "a b", "it's", '"', "$(touch canary)", "`touch canary`", "; touch canary #", "&& touch canary", "| touch canary",
    "a\ntouch canary\n", "-n", "--help", "../../x", "*", "~", "\\", "\\n", "ü€𝄞", "\x1b[31m", "${IFS}", "!x", "{a,b}",
    "%s", "", "x" * 5000,
]  # fmt: skip
NAMES = [value for value in HOSTILE if value and "/" not in value and "\n" not in value and len(value) < 255]
"""Those that may be the name of a file of a job."""


def write_profile(directory: Path, shell: str) -> str:
    """Write a profile that runs its scripts with another shell command; return its name."""
    profile = directory / "profiles/other/profile.xml"
    profile.parent.mkdir(parents=True, exist_ok=True)
    content = template("SHELL", shell)
    profile.write_text(document(content, name="other", extends="linux", root="/var/tmp"))
    return "other"


def render(profile: str, description: osprofile.JobDescription) -> str:
    """Return the script that would submit a job."""

    async def render(target: osprofile.TargetSystem) -> str:
        return await target.render_start_script(description)

    with osprofile.JobSession(profile, store=":memory:") as session:
        return session.run(render)
