"""The style and the scripts of a page, and the policy under which a browser takes no others."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from os import path
from typing import Final

STYLE: Final = "page.css"
SCRIPTS: Final = ("page.js", "form.js")
"""What each page has, and what only a served one has."""


@cache
def text_of(name: str) -> str:
    """Give a file of this package, which is written into pages as it is."""
    with open(path.join(path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


def policy(*, live: bool) -> str:
    """Give the Content-Security-Policy: nothing but what is in the page; a served one asks its server."""
    scripts = " ".join(_digest(name) for name in SCRIPTS[: 2 if live else 1])
    connect = "; connect-src 'self'" if live else ""
    return (
        f"default-src 'none'; style-src {_digest(STYLE)}; script-src {scripts}; img-src data:"
        f"{connect}; base-uri 'none'; form-action 'none'"
    )


def _digest(name: str) -> str:
    digest = hashlib.sha256(text_of(name).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
