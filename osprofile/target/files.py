"""Files that travel to a target system and back, through the profile's SHELL as scripts do.

So they reach every place that a job can reach: over ssh, or as another user. What is brought
stands in the scripts themselves as base64, a part in each, so that memory stays flat; a file
appears under its name only when all of it is there.
"""

from __future__ import annotations

import base64
import itertools
import os
from typing import TYPE_CHECKING, Final

from osprofile.incarnation.static_scripts import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

PART: Final = 6 * 1024 * 1024
"""Bytes of a file that one script brings."""
SLOWEST: Final = 64 * 1024
"""Bytes a second that a transfer makes at the least; it may take longer only by a time limit."""


def putting(file: IO[bytes], path: str, mode: int) -> Iterator[str]:
    """Give the scripts that write a file, one after the other.

    They make missing directories (for the owner only) and replace what has the file's name.
    """
    name = f"{path}.{os.urandom(6).hex()}.new"
    yield f"umask 077\nf={quoted(path)} t={quoted(name)}\n{_ENTER}"
    for part in itertools.takewhile(len, iter(lambda: file.read(PART), b"")):
        text = base64.encodebytes(part).decode("ascii")
        yield f"t={quoted(name)}\nbase64 -d >> \"$t\" << 'END' && exit\n{text}END\n{_GIVE_UP}"
    yield (
        f"f={quoted(path)} t={quoted(name)}\n"
        f'chmod {mode:04o} -- "$t" && mv -f -- "$t" "$f" && exit\n{_GIVE_UP}'
    )


def getting(path: str, begin: int = 0, count: int | None = None) -> str:
    """Give the script that prints a file, or `count` bytes of it from `begin` on."""
    if count is None:
        return f'f={quoted(path)}\nexec cat < "$f"'
    # A pipe would keep the reader waiting for who writes to it.
    return (
        f'f={quoted(path)}\n{_REGULAR}\nexec < "$f" || exit\ntail -c +{begin + 1} | head -c {count}'
    )


_ENTER: Final = """\
case $f in */*) mkdir -p -- "${f%/*}" || exit ;; esac
if [ -d "$f" ]; then printf '%s: this is a directory\\n' "$f" >&2; exit 1; fi
: > "$t"\
"""
_REGULAR: Final = """\
if [ -e "$f" ] && [ ! -f "$f" ]; then printf '%s: this is no regular file\\n' "$f" >&2; exit 1; fi\
"""
_GIVE_UP: Final = 'rm -f -- "$t"\nexit 1'
