"""The files of golden cases: read with care, since a repository may hold anything; written whole.

Nothing is followed through a symbolic link, so that nothing outside a profile's folder is read
as a golden file or written over.
"""

from __future__ import annotations

import os
import stat
from os import path as paths
from typing import Final

from osprofile import whole
from osprofile.errors import CasesError, OSProfileError

FOLDER: Final = "golden"
"""The folder in a profile's own that holds its golden cases."""
CASES: Final = "cases.toml"
SUFFIX: Final = ".txt"
"""What the name of a case's golden file ends with."""
LIMIT: Final = 32 * 1024 * 1024
"""Bytes of a file; no profile may be as large."""


def folder_of(profile: str) -> str:
    """Give the folder of the golden cases in a profile's folder; it may be missing.

    Raises `CasesError` for what is no folder, or a symbolic link.
    """
    found = paths.join("" if profile == "." else profile, FOLDER)
    try:
        kind = os.lstat(found).st_mode
    except FileNotFoundError:
        return found
    except OSError as error:
        raise _unfit(f"{found} cannot be read: {error.strerror}") from None
    if stat.S_ISLNK(kind):
        raise _unfit(f"{found} is a symbolic link", "let the folder itself lie here")
    if not stat.S_ISDIR(kind):
        raise _unfit(f"{found} is no folder", "golden cases lie in a folder of that name")
    return found


def read(path: str) -> bytes | None:
    """Give a file's content; None for one that is missing. Raises `CasesError`."""
    try:
        # A pipe would keep a reader waiting.
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if paths.islink(path):
            raise _unfit(f"{path} is a symbolic link", "let the file itself lie here") from None
        raise _unfit(f"{path} cannot be read: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise _unfit(f"{path} is no plain file", "a plain file has to lie here")
        with os.fdopen(number, "rb", closefd=False) as file:
            data = file.read(LIMIT + 1)
    except OSError as error:
        raise _unfit(f"{path} cannot be read: {error.strerror}") from None
    finally:
        os.close(number)
    if len(data) > LIMIT:
        raise _unfit(f"{path} is larger than {LIMIT >> 20} MiB", "is this the right file?")
    return data


def golden_files(folder: str) -> list[str]:
    """Give the names of the cases whose golden files a folder holds: of plain files, sorted."""
    try:
        with os.scandir(folder) as found:
            names = [e.name for e in found if e.is_file(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unfit(f"{folder} cannot be read: {error.strerror}") from None
    return sorted(n.removesuffix(SUFFIX) for n in names if n.endswith(SUFFIX))


def write(path: str, data: bytes) -> None:
    """Write a file so that it has its old content or the new one, whatever happens meanwhile.

    Its folder is made; an old file's mode is kept. Raises `OSError`.
    """
    os.makedirs(paths.dirname(path), exist_ok=True)
    whole.replace(path, data)


def _unfit(message: str, hint: str = "") -> CasesError:
    return CasesError([OSProfileError(message, hint=hint)])
