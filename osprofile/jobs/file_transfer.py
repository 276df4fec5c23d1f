"""Build the scripts that transfer files to a target system and back, through the profile's SHELL.

So files can go wherever jobs can: over ssh, or as another user. Each script uploads one chunk, as
base64, so that memory does not grow with the file's size. The file appears under its name only when it
is complete.
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
"""Bytes that one script uploads."""
MIN_TRANSFER_RATE: Final = 64 * 1024
"""Bytes per second: a transfer may take its size divided by this, in addition to the usual time limit."""


def build_upload_scripts(file: IO[bytes], path: str, mode: int) -> Iterator[str]:
    """Yield the scripts that write a file; they are to be run in this order.

    They create missing directories, for the owner only, and replace an existing file.
    """
    temporary_path = f"{path}.{os.urandom(6).hex()}.new"
    yield f"umask 077\nf={quote_shell_word(path)} t={quote_shell_word(temporary_path)}\n{_CREATE_TEMPORARY}"
    for chunk in itertools.takewhile(len, iter(lambda: file.read(TRANSFER_CHUNK_SIZE), b"")):
        text = base64.encodebytes(chunk).decode("ascii")
        yield f"t={quote_shell_word(temporary_path)}\nbase64 -d >> \"$t\" << 'END' && exit\n{text}END\n{_REMOVE_TEMPORARY}"
    yield (
        f"f={quote_shell_word(path)} t={quote_shell_word(temporary_path)}\n"
        f'chmod {mode:04o} -- "$t" && mv -f -- "$t" "$f" && exit\n{_REMOVE_TEMPORARY}'
    )


def build_download_script(path: str, begin: int = 0, count: int | None = None) -> str:
    """Return the script that prints a file, or `count` bytes of it from offset `begin` on."""
    if count is None:
        return f'f={quote_shell_word(path)}\nexec cat < "$f"'
    # To open a named pipe would block until a writer opens it.
    return f'f={quote_shell_word(path)}\n{_REQUIRE_REGULAR_FILE}\nexec < "$f" || exit\ntail -c +{begin + 1} | head -c {count}'


def build_output_script(path: str) -> str:
    """Return the script that prints a file, or nothing if it is missing in a directory that exists."""
    directory = os.path.dirname(path)
    return (
        f"f={quote_shell_word(path)} d={quote_shell_word(directory)}\n"
        '[ -e "$f" ] || { ls -d -- "$d/" > /dev/null; exit; }\n'
        # A named pipe would block until somebody writes to it; /dev/null is a device.
        f'[ -c "$f" ] || {{ {_REQUIRE_REGULAR_FILE}; }}\n'
        'exec cat < "$f"'
    )


_CREATE_TEMPORARY: Final = """\
case $f in */*) mkdir -p -- "${f%/*}" || exit ;; esac
if [ -d "$f" ]; then printf '%s: this is a directory\\n' "$f" >&2; exit 1; fi
: > "$t"\
"""
_REQUIRE_REGULAR_FILE: Final = """\
if [ -e "$f" ] && [ ! -f "$f" ]; then printf '%s: this is not a regular file\\n' "$f" >&2; exit 1; fi\
"""
_REMOVE_TEMPORARY: Final = 'rm -f -- "$t"\nexit 1'
