"""Build the scripts that transfer files to a target system and back, through the profile's SHELL.

So files can go wherever jobs can: over ssh, or as another user. Each script uploads one chunk, as
base64, so that memory does not grow with the file's size. The file appears under its name only when it
is complete.
"""

from __future__ import annotations

import base64
import itertools
import os
import re
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.jobs.job_directory import locate
from osprofile.text import quote_shell_word

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from osprofile.jobs.job_directory import JobFile

TRANSFER_CHUNK_SIZE: Final = 6 * 1024 * 1024
"""Bytes that one script uploads."""
OUTPUT_PART_SIZE: Final = 16 * 1024 * 1024
"""Bytes of a growing file that one script prints at most."""
MIN_TRANSFER_RATE: Final = 64 * 1024
"""Bytes per second: a transfer may take its size divided by this, in addition to the usual time limit."""


@final
class FilePosition(NamedTuple):
    """A place in a file that may be truncated, or replaced by another one of the same name."""

    inode: str
    """The number of the file in its file system."""
    offset: int
    """The bytes before the place."""


@final
class FilePart(NamedTuple):
    """A part of a file that may grow."""

    data: bytes
    position: FilePosition
    """The place behind the part."""
    is_restarted: bool = False
    """Whether the file was truncated or replaced: the part is the beginning of the new content."""


def build_upload_scripts(source: IO[bytes], file: str | JobFile, mode: int) -> Iterator[str]:
    """Yield the scripts that write a file; they are to be run in this order.

    They create missing directories, for the owner only, and replace an existing file.
    """
    before, path = locate(file)
    made = "umask 077\n"
    if not isinstance(file, str):
        made += f"mkdir -p -- {quote_shell_word(file.directory)} || exit\n"
    variables = f"f={quote_shell_word(path)} t={quote_shell_word(f'{path}.{os.urandom(6).hex()}.new')}\n"
    yield f"{made}{before}{variables}{_CREATE_TEMPORARY}"
    for chunk in itertools.takewhile(len, iter(lambda: source.read(TRANSFER_CHUNK_SIZE), b"")):
        text = base64.encodebytes(chunk).decode("ascii")
        yield f"{before}{variables}base64 -d >> \"$t\" << 'END' && exit\n{text}END\n{_REMOVE_TEMPORARY}"
    yield (f'{before}{variables}chmod {mode:04o} -- "$t" && mv -f -- "$t" "$f" && exit\n{_REMOVE_TEMPORARY}')


def build_download_script(file: str | JobFile, begin: int = 0, count: int | None = None) -> str:
    """Return the script that prints a file, or `count` bytes of it from offset `begin` on."""
    before, path = locate(file)
    if count is None:
        return f'{before}f={quote_shell_word(path)}\nexec cat < "$f"'
    # To open a named pipe would block until a writer opens it.
    return (
        f'{before}f={quote_shell_word(path)}\n{_REQUIRE_REGULAR_FILE}\nexec < "$f" || exit\n'
        f"tail -c +{begin + 1} | head -c {count}"
    )


def build_output_script(file: str | JobFile) -> str:
    """Return the script that prints a file, or nothing if it is missing in a directory that exists."""
    before, path = locate(file)
    return (
        f"{before}f={quote_shell_word(path)} d={quote_shell_word(os.path.dirname(path))}\n"
        '[ -e "$f" ] || { ls -d -- "$d/" > /dev/null; exit; }\n'
        # A named pipe would block until somebody writes to it; /dev/null is a device.
        f'[ -c "$f" ] || {{ {_REQUIRE_REGULAR_FILE}; }}\n'
        'exec cat < "$f"'
    )


def build_part_script(
    file: str | JobFile, position: FilePosition | None = None, last_lines: int | None = None
) -> str:
    """Return the script that prints the content of a file after an offset, for `parse_part`.

    Without a position, the part begins with the file or, if given, with its last lines. It has at most
    OUTPUT_PART_SIZE bytes.
    """
    inode, offset = position or ("", 0)
    before, path = locate(file)
    return (
        f"{before}f={quote_shell_word(path)} d={quote_shell_word(os.path.dirname(path))}\n"
        f"i={quote_shell_word(inode)} n={offset} l={'' if position or last_lines is None else last_lines}\n"
        f"{_FIND_PART}tail -c +$((n + 1)) | head -c {OUTPUT_PART_SIZE}"
    )


def parse_part(output: bytes, position: FilePosition | None) -> FilePart | None:
    """Return what the script of `build_part_script` has printed; None if there is no such file.

    Raises `ValueError` for any other output.
    """
    header, _, data = output.partition(b"\n")
    if header == b"missing":
        return None
    match = _PART_HEADER.fullmatch(header)
    if match is None:
        message = f"{header[:80]!r} is not the inode and the offset of a file"
        raise ValueError(message)
    inode, offset = match[1].decode(), int(match[2])
    is_restarted = position is not None and (inode, offset) != position
    return FilePart(data, FilePosition(inode, offset + len(data)), is_restarted)


_PART_HEADER: Final = re.compile(rb"([0-9]+) ([0-9]+)")
_CREATE_TEMPORARY: Final = """\
case $f in */*) mkdir -p -- "${f%/*}" || exit ;; esac
if [ -d "$f" ]; then printf '%s: this is a directory\\n' "$f" >&2; exit 1; fi
: > "$t"\
"""
_REQUIRE_REGULAR_FILE: Final = """\
if [ -e "$f" ] && [ ! -f "$f" ]; then printf '%s: this is not a regular file\\n' "$f" >&2; exit 1; fi\
"""
_REMOVE_TEMPORARY: Final = 'rm -f -- "$t"\nexit 1'
_FIND_PART: Final = f"""\
[ -e "$f" ] || {{ ls -d -- "$d/" > /dev/null && echo missing; exit; }}
[ ! -c "$f" ] || {{ echo 0 0; exit; }}
{_REQUIRE_REGULAR_FILE}
exec < "$f" || exit
set -f
set -- $(LC_ALL=C ls -dLin -- "$f")
[ "$#" -ge 6 ] || exit
s=$6
if [ "$i" != "$1" ] || [ "$n" -gt "$s" ]; then n=0; fi
if [ -n "$l" ]; then
  b=65536
  while :; do
    [ "$b" -lt "$s" ] || b=$s
    n=$((s - b))
    t=$(tail -c +$((n + 1)) < "$f" | head -c "$b" | tail -n "$l" | wc -c)
    [ "$((t))" -eq "$b" ] && [ "$b" -lt "$s" ] || break
    b=$((b * 16))
  done
  n=$((s - t))
fi
printf '%s %s\\n' "$1" "$n"
"""
"""Sets n to the offset of the part of $f that begins behind offset $n of inode $i, or with its last $l lines.

These are looked for in blocks that grow, up to the size that the file has now: other lines may come.
"""
