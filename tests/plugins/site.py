"""What the tests of several plugins share: hostile values, and a profile with a shell of its own."""

from __future__ import annotations

from pathlib import Path

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
    profile.write_text(
        '<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"'
        ' name="other" extends="linux"><osp:UspaceRoot>/var/tmp</osp:UspaceRoot>'
        '<osp:Delimiter>/</osp:Delimiter><idb:Template name="SHELL"><idb:Invocation name="">'
        f"<idb:Body>{shell}</idb:Body></idb:Invocation></idb:Template></osp:Profile>"
    )
    return "other"
