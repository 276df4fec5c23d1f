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

from osprofile.incarnation.static_scripts import quote_shell_word

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

TRANSFER_CHUNK_SIZE: Final = 6 * 1024 * 1024
"""Bytes of a file that one script brings."""
MIN_TRANSFER_RATE: Final = 64 * 1024
"""Bytes a second that a transfer makes at the least; it may take longer only by a time limit."""


def build_upload_scripts(file: IO[bytes], path: str, mode: int) -> Iterator[str]:
    """Give the scripts that write a file, one after the other.

    They make missing directories (for the owner only) and replace what has the file's name.
    """
    name = f"{path}.{os.urandom(6).hex()}.new"
    yield f"umask 077\nf={quote_shell_word(path)} t={quote_shell_word(name)}\n{_CREATE_TEMPORARY}"
    for part in itertools.takewhile(len, iter(lambda: file.read(TRANSFER_CHUNK_SIZE), b"")):
        text = base64.encodebytes(part).decode("ascii")
        yield f"t={quote_shell_word(name)}\nbase64 -d >> \"$t\" << 'END' && exit\n{text}END\n{_REMOVE_TEMPORARY}"
    yield (
        f"f={quote_shell_word(path)} t={quote_shell_word(name)}\n"
        f'chmod {mode:04o} -- "$t" && mv -f -- "$t" "$f" && exit\n{_REMOVE_TEMPORARY}'
    )


def build_download_script(path: str, begin: int = 0, count: int | None = None) -> str:
    """Give the script that prints a file, or `count` bytes of it from `begin` on."""
    if count is None:
        return f'f={quote_shell_word(path)}\nexec cat < "$f"'
    # A pipe would keep the reader waiting for who writes to it.
    return f'f={quote_shell_word(path)}\n{_REQUIRE_REGULAR_FILE}\nexec < "$f" || exit\ntail -c +{begin + 1} | head -c {count}'


_CREATE_TEMPORARY: Final = """\
case $f in */*) mkdir -p -- "${f%/*}" || exit ;; esac
if [ -d "$f" ]; then printf '%s: this is a directory\\n' "$f" >&2; exit 1; fi
: > "$t"\
"""
_REQUIRE_REGULAR_FILE: Final = """\
if [ -e "$f" ] && [ ! -f "$f" ]; then printf '%s: this is no regular file\\n' "$f" >&2; exit 1; fi\
"""
_REMOVE_TEMPORARY: Final = 'rm -f -- "$t"\nexit 1'
