"""The style and the scripts of a page, and the policy that lets a browser use no others."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from os import path
from typing import Final

STYLE_FILE: Final = "page.css"
SCRIPT_FILES: Final = ("page.js", "form.js")
"""The script of every page, and the script that only a served page has."""


@cache
def read_asset(name: str) -> str:
    """Return the text of a file of this package, which is written into pages unchanged."""
    with open(path.join(path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


def build_policy(*, live: bool) -> str:
    """Return the Content-Security-Policy: only what is in the page; a live page may call its server."""
    scripts = " ".join(_hash_asset(name) for name in SCRIPT_FILES[: 2 if live else 1])
    connect = "; connect-src 'self'" if live else ""
    return (
        f"default-src 'none'; style-src {_hash_asset(STYLE_FILE)}; script-src {scripts}; img-src data:"
        f"{connect}; base-uri 'none'; form-action 'none'"
    )


def _hash_asset(name: str) -> str:
    digest = hashlib.sha256(read_asset(name).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
