"""Write a file atomically: it is replaced as a whole, or stays as it was. Keep files in the user's cache folder."""

from __future__ import annotations

import marshal
import os
import stat
import sys
from os import path as paths

TYPE_CHECKING = False  # to import this module takes no time
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeAlias

    Stamp: TypeAlias = tuple[int, ...] | None

MAX_CACHED_FILES = 256
SETTLING_TIME = 2.0
"""Seconds after a change in which a file may change again without another time of its change."""
_DIGEST_SIZE = 64
_OTHERS = 0o077


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


def read_cached(name: str) -> bytes:
    """Return a file of the user's cache; raise `OSError` for none, and for one that others may have written."""
    folder = _get_cache_folder()
    _require_own(os.lstat(folder), stat.S_IFDIR)
    descriptor = os.open(paths.join(folder, name), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        _require_own(status, stat.S_IFREG)
        return os.read(descriptor, status.st_size)
    finally:
        os.close(descriptor)


def write_cached(name: str, data: bytes) -> None:
    """Write a file of the user's cache; raise `OSError` if it cannot be written, and what `make_cache_folder` raises.

    A crash may leave a part of it. If there are too many files, the others are deleted.
    """
    folder = make_cache_folder()
    names = os.listdir(folder)
    for other in names if len(names) >= MAX_CACHED_FILES else ():
        os.unlink(paths.join(folder, other))
    path = paths.join(folder, name)
    temporary_path = f"{path}.{os.urandom(4).hex()}"
    try:
        with open(os.open(temporary_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        os.replace(temporary_path, path)
    except BaseException:
        os.unlink(temporary_path)
        raise


def read_cached_data(name: str) -> Any:  # noqa: ANN401  # as `marshal.loads`
    """Return what `write_cached_data` has written; raise what `read_cached` raises, and `ValueError` for a damaged file."""
    data = read_cached(name)
    digest, content = data[:_DIGEST_SIZE], data[_DIGEST_SIZE:]
    if digest != compute_digest(content).encode():
        raise ValueError(name)
    return marshal.loads(content)  # noqa: S302  # nobody else can write it


def write_cached_data(name: str, value: Any) -> None:  # noqa: ANN401  # as `marshal.dumps`
    """Write plain data into a file of the user's cache, with a digest; raise what `write_cached` raises."""
    content = marshal.dumps(value)
    write_cached(name, compute_digest(content).encode() + content)


def make_cache_folder() -> str:
    """Return the folder of the user's cache, which is made if need be; raise `OSError` unless it is the user's alone."""
    folder = _get_cache_folder()
    cache = paths.dirname(folder)
    if not paths.isdir(cache):
        os.mkdir(cache, 0o700)
    if os.stat(cache).st_uid == os.geteuid() and not paths.lexists(folder):
        os.mkdir(folder, 0o700)
    _require_own(os.lstat(folder), stat.S_IFDIR)
    if not os.access(folder, os.W_OK):
        raise PermissionError
    return folder


def _get_cache_folder() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "")  # a relative one is to be ignored
    return paths.join(cache if cache.startswith("/") else paths.expanduser("~/.cache"), "osprofile")


def _require_own(status: os.stat_result, kind: int) -> None:
    """Raise `PermissionError` for what is not of this kind, not this user's, or not closed to others."""
    is_own = status.st_uid == os.geteuid() and not status.st_mode & _OTHERS
    if stat.S_IFMT(status.st_mode) != kind or not is_own:
        raise PermissionError


def make_stamp(path: str) -> Stamp:
    """Return what differs for another file, or after a change; None for no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def have_settled(stamps: Iterable[Stamp], begin: float) -> bool:
    """Return whether files had not just changed at a time (s since 1970); True for none."""
    latest = max((change for stamp in stamps for change in (stamp or ())[3:]), default=0)
    return latest < (begin - SETTLING_TIME) * 1e9


def join_with_lengths(parts: Iterable[bytes]) -> bytes:
    """Return bytes that differ for any two sequences of parts: each part after its length."""
    return b"".join(b"%d %b" % (len(part), part) for part in parts)


def compute_digest(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in hex."""
    # hashlib is faster, but to import it takes a quarter of the time that the interpreter takes to start.
    module = sys.modules.get("hashlib")
    if module is None:
        try:
            module = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256")
        except ImportError:
            module = __import__("hashlib")
    digest: str = module.sha256(data).hexdigest()
    return digest
