"""Write a file atomically: it is replaced as a whole, or stays as it was."""

from __future__ import annotations

import os
import stat
from os import path as paths


def atomic_write(path: str, data: bytes) -> None:
    """Write a file so that a reader sees either its old content or the new one, whole.

    The mode of an existing file is kept; a symbolic link is replaced, not followed. Raises
    `OSError` with this path as its file name.
    """
    directory, name = paths.split(path)
    # The name is truncated: with the suffix it must not exceed the usual limit of 255 bytes.
    temporary_path = paths.join(directory, f".{name[:64]}.{os.urandom(4).hex()}.new")
    try:
        descriptor = os.open(temporary_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                mode = _get_file_mode(path)
                if mode is not None:
                    os.fchmod(descriptor, mode)
                os.fsync(descriptor)
            os.replace(temporary_path, path)
        except BaseException:
            os.unlink(temporary_path)
            raise
    except OSError as error:
        error.filename, error.filename2 = path, None  # the user does not know the temporary path
        raise


def _get_file_mode(path: str) -> int | None:
    try:
        return stat.S_IMODE(os.lstat(path).st_mode)
    except FileNotFoundError:
        return None
