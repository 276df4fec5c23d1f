"""The style and the scripts of a page, and the policy under which a browser takes no others."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from os import path
from typing import Final

STYLE_FILE: Final = "page.css"
SCRIPT_FILES: Final = ("page.js", "form.js")
"""What each page has, and what only a served one has."""


@cache
def read_asset(name: str) -> str:
    """Give a file of this package, which is written into pages as it is."""
    with open(path.join(path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


def build_policy(*, live: bool) -> str:
    """Give the Content-Security-Policy: nothing but what is in the page; a served one asks its server."""
    scripts = " ".join(_hash_asset(name) for name in SCRIPT_FILES[: 2 if live else 1])
    connect = "; connect-src 'self'" if live else ""
    return (
        f"default-src 'none'; style-src {_hash_asset(STYLE_FILE)}; script-src {scripts}; img-src data:"
        f"{connect}; base-uri 'none'; form-action 'none'"
    )


def _hash_asset(name: str) -> str:
    digest = hashlib.sha256(read_asset(name).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
