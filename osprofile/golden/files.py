"""The files of golden cases: read with care, since a repository may hold anything; written whole.

Nothing is followed through a symbolic link, so that nothing outside a profile's folder is read
as a golden file or written over.
"""

from __future__ import annotations

import os
import stat
from os import path as paths
from typing import Final

from osprofile import files
from osprofile.errors import CasesError, OSProfileError

FOLDER_NAME: Final = "golden"
"""The folder in a profile's own that holds its golden cases."""
CASES_FILE: Final = "cases.toml"
GOLDEN_SUFFIX: Final = ".txt"
"""What the name of a case's golden file ends with."""
MAX_FILE_SIZE: Final = 32 * 1024 * 1024
"""Bytes of a file; no profile may be as large."""


def locate_folder(profile: str) -> str:
    """Give the folder of the golden cases in a profile's folder; it may be missing.

    Raises `CasesError` for what is no folder, or a symbolic link.
    """
    found = paths.join("" if profile == "." else profile, FOLDER_NAME)
    try:
        kind = os.lstat(found).st_mode
    except FileNotFoundError:
        return found
    except OSError as error:
        raise _make_error(f"{found} cannot be read: {error.strerror}") from None
    if stat.S_ISLNK(kind):
        raise _make_error(f"{found} is a symbolic link", "let the folder itself lie here")
    if not stat.S_ISDIR(kind):
        raise _make_error(f"{found} is no folder", "golden cases lie in a folder of that name")
    return found


def read_file(path: str) -> bytes | None:
    """Give a file's content; None for one that is missing. Raises `CasesError`."""
    try:
        # A pipe would keep a reader waiting.
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if paths.islink(path):
            raise _make_error(
                f"{path} is a symbolic link", "let the file itself lie here"
            ) from None
        raise _make_error(f"{path} cannot be read: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise _make_error(f"{path} is no plain file", "a plain file has to lie here")
        with os.fdopen(number, "rb", closefd=False) as file:
            data = file.read(MAX_FILE_SIZE + 1)
    except OSError as error:
        raise _make_error(f"{path} cannot be read: {error.strerror}") from None
    finally:
        os.close(number)
    if len(data) > MAX_FILE_SIZE:
        raise _make_error(
            f"{path} is larger than {MAX_FILE_SIZE >> 20} MiB", "is this the right file?"
        )
    return data


def list_golden_files(folder: str) -> list[str]:
    """Give the names of the cases whose golden files a folder holds: of plain files, sorted."""
    try:
        with os.scandir(folder) as found:
            names = [e.name for e in found if e.is_file(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _make_error(f"{folder} cannot be read: {error.strerror}") from None
    return sorted(n.removesuffix(GOLDEN_SUFFIX) for n in names if n.endswith(GOLDEN_SUFFIX))


def write_file(path: str, data: bytes) -> None:
    """Write a file so that it has its old content or the new one, whatever happens meanwhile.

    Its folder is made; an old file's mode is kept. Raises `OSError`.
    """
    os.makedirs(paths.dirname(path), exist_ok=True)
    files.atomic_write(path, data)


def _make_error(message: str, hint: str = "") -> CasesError:
    return CasesError([OSProfileError(message, hint=hint)])
