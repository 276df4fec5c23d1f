"""Who a client is: bearer tokens, the subject that each stands for, and the user of this machine.

One user's daemon has one token, in a file that only its owner may read. The file is read again when it changes, so
that another token needs no restart. A token is never in a message or a log.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
from typing import Final, NamedTuple, final

from osprofile.errors import SettingError
from osprofile.text import quote_path

MIN_TOKEN_LENGTH: Final = 32
_TOKEN_BYTES: Final = 32
_MAX_FILE_SIZE: Final = 4096
_MAX_HEADER_LENGTH: Final = 4096
_SCHEME: Final = "bearer "
_Stamp = tuple[int, int, int, int]


@final
class Client(NamedTuple):
    """Whom a token stands for, and the user of this machine as whom everything runs; empty if there is none."""

    subject: str
    user_name: str


@final
class TokenFile:
    """The token of one user in a file, which is made if it is missing.

    Raises `SettingError` for a file that others can read, or that has no token.
    """

    def __init__(self, path: str, user_name: str) -> None:
        self.path, self._client = path, Client(user_name, user_name)
        try:
            _create(path)
            self._stamp: _Stamp | None = _read_stamp(path)
            self._digest = hash_token(_read(path))
        except OSError as error:
            message = f"the token file {quote_path(path)}: {error.strerror}"
            raise SettingError(message, hint="set token_file to a file of yours") from None

    async def find_client(self, authorization: str) -> Client | None:
        """Return the client of a header `Authorization`; None if it has no valid token."""
        if len(authorization) > _MAX_HEADER_LENGTH:
            return None
        self._read_again()
        token = extract_token(authorization)
        return self._client if hmac.compare_digest(hash_token(token), self._digest) else None

    def _read_again(self) -> None:
        """Read the file if it has changed; without one that is valid, no token is."""
        stamp = None
        with contextlib.suppress(OSError):
            stamp = _read_stamp(self.path)
        if stamp != self._stamp or stamp is None:
            self._stamp, self._digest = stamp, secrets.token_bytes(_TOKEN_BYTES)
            with contextlib.suppress(OSError, SettingError):
                self._digest = hash_token(_read(self.path))


def extract_token(authorization: str) -> str:
    """Return the token of a header `Authorization`: `Bearer TOKEN`, or the token alone, as some clients send it."""
    is_bearer = authorization[: len(_SCHEME)].lower() == _SCHEME
    return (authorization[len(_SCHEME) :] if is_bearer else authorization).strip()


def hash_token(token: str) -> bytes:
    """Return bytes of constant length, so that the time of a comparison does not depend on the token's."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _create(path: str) -> None:
    """Make the file with a new token, unless there is one: whole, or not at all."""
    if os.path.lexists(path):
        return
    directory = os.path.dirname(os.path.abspath(path))
    os.makedirs(directory, mode=0o700, exist_ok=True)
    temporary = f"{path}.{secrets.token_hex(6)}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{secrets.token_urlsafe(_TOKEN_BYTES)}\n")
        with contextlib.suppress(FileExistsError):  # another daemon was faster
            os.link(temporary, path)
    finally:
        os.unlink(temporary)


def _read_stamp(path: str) -> _Stamp:
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def read_secret(path: str, subject: str) -> str:
    """Return the secret in a file that only this process's user may read. Raises `OSError` and `SettingError`."""
    # O_NONBLOCK: opening a named pipe would wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            message = f"{subject} {quote_path(path)} is not a file that only you can read"
            raise SettingError(message, hint="chmod 600; or delete it, and a new token is made")
        return file.read(_MAX_FILE_SIZE).decode("utf-8", "replace").strip()


def _read(path: str) -> str:
    token = read_secret(path, "the token file")
    if len(token) < MIN_TOKEN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
        message = f"the token file {quote_path(path)} has no token of at least {MIN_TOKEN_LENGTH} characters"
        raise SettingError(message, hint="delete it, and a new one is made")
    return token
