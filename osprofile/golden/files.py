"""Reads and writes the files of golden cases, which may come from an untrusted repository.

Symbolic links are not followed, so that no file outside of a profile's folder is read or overwritten.
"""

from __future__ import annotations

import os
import stat
from os import path as paths
from typing import TYPE_CHECKING, Final

from osprofile.errors import CasesError, OSProfileError
from osprofile.files import atomic_write

if TYPE_CHECKING:
    from osprofile.source import Location

FOLDER_NAME: Final = "golden"
"""The folder with the golden cases, in a profile's folder."""
CASES_FILE: Final = "cases.toml"
GOLDEN_SUFFIX: Final = ".txt"
MAX_FILE_SIZE: Final = 32 * 1024 * 1024
"""Bytes; even a whole profile must be smaller."""


def locate_folder(profile: str) -> str:
    """Return the path of a profile's folder of golden cases, which may be missing.

    Raises `CasesError` if it is a symbolic link or not a folder.
    """
    folder = paths.join("" if profile == "." else profile, FOLDER_NAME)
    try:
        mode = os.lstat(folder).st_mode
    except FileNotFoundError:
        return folder
    except OSError as error:
        raise make_error(f"{folder} cannot be read: {error.strerror}") from None
    if stat.S_ISLNK(mode):
        raise make_error(f"{folder} is a symbolic link", "replace it by the folder itself")
    if not stat.S_ISDIR(mode):
        raise make_error(f"{folder} is not a folder", "golden cases are in a folder of that name")
    return folder


def read_file(path: str) -> bytes | None:
    """Return a file's content, or None if it is missing. Raises `CasesError`."""
    try:
        # O_NONBLOCK: opening a named pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if paths.islink(path):
            raise make_error(f"{path} is a symbolic link", "replace it by the file itself") from None
        raise make_error(f"{path} cannot be read: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise make_error(f"{path} is not a regular file", "replace it by a regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(MAX_FILE_SIZE + 1)
    except OSError as error:
        raise make_error(f"{path} cannot be read: {error.strerror}") from None
    finally:
        os.close(descriptor)
    if len(data) > MAX_FILE_SIZE:
        raise make_error(f"{path} is larger than {MAX_FILE_SIZE >> 20} MiB", "is this the right file?")
    return data


def list_golden_files(folder: str) -> list[str]:
    """Return the names of the cases with a golden file in a folder, sorted."""
    try:
        with os.scandir(folder) as entries:
            names = [e.name for e in entries if e.is_file(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise make_error(f"{folder} cannot be read: {error.strerror}") from None
    return sorted(n.removesuffix(GOLDEN_SUFFIX) for n in names if n.endswith(GOLDEN_SUFFIX))


def write_file(path: str, data: bytes) -> None:
    """Replace a file in one step, creating its folder; the old file's mode is kept. Raises `OSError`."""
    os.makedirs(paths.dirname(path), exist_ok=True)
    atomic_write(path, data)


def make_error(message: str, hint: str = "", location: Location | None = None) -> CasesError:
    """Return a `CasesError` with a single error."""
    return CasesError([OSProfileError(message, location=location, hint=hint)])
