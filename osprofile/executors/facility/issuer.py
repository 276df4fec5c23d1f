"""Who a client is at a facility for many users: tokens that an OpenID Connect issuer has signed (RFC 9068).

joserfc checks signatures and claims. Only keys of the issuer are used, only public ones, and only with the algorithms
that are for them: the header of a token decides nothing else. A token is never in a message or a log, nor is any part of it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
import urllib.request
from typing import Any, Final, final

from joserfc import jwk, jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jws import JWSRegistry

from osprofile.errors import SettingError
from osprofile.executors.facility.problems import RETRY_SECONDS, ProblemError
from osprofile.executors.facility.tokens import extract_token

log: Final = logging.getLogger("osprofile.facility")
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a key pair: a token that is signed with a secret (HS256), or not at all, is none."""
_KEY_TYPES: Final = frozenset({"RSA", "EC", "OKP"})
_TOKEN_TYPES: Final = frozenset({"jwt", "at+jwt", "application/at+jwt"})
_MAX_HEADER_LENGTH: Final = 16 << 10
_MAX_KEYS_SIZE: Final = 1 << 20
_LEEWAY: Final = 30
"""Seconds by which the issuer's clock may differ."""
_KEYS_AGE: Final = 3600.0
"""Seconds for which keys are used until they are read again: a key that the issuer withdraws is valid no longer."""
_MIN_KEYS_AGE: Final = 30.0
"""Seconds between two readings because of a token whose key is not known: anybody can send one."""
_RETRY_INTERVAL: Final = 5.0
"""Seconds after which the issuer is asked again, if it has not answered."""
_READ_TIMEOUT: Final = 10.0


@final
class Issuer:
    """The tokens of an issuer for one audience; `jwks` is the address, or the file, of the issuer's keys.

    Raises `SettingError` for a file that has no keys.
    """

    def __init__(self, issuer: str, audience: str, jwks: str) -> None:
        self._jwks = jwks
        self._registry = JWSRegistry(algorithms=list(ALGORITHMS))
        self._claims = jwt.JWTClaimsRegistry(
            leeway=_LEEWAY,
            iss={"essential": True, "value": issuer},
            aud={"essential": True, "value": audience},
            exp={"essential": True},
            sub={"essential": True},
        )
        self._keys: jwk.KeySet | None = None
        self._read_at = self._tried_at = -math.inf
        self._lock = asyncio.Lock()
        if "://" not in jwks:
            try:
                _read_keys(jwks)
            except (OSError, ValueError) as error:
                raise SettingError(
                    f"jwks = {jwks!r}: {error}", hint="a JWK Set, as RFC 7517 has it"
                ) from None

    async def find_subject(self, authorization: str) -> str | None:
        """Return the subject of a header `Authorization`; None if it has no valid token.

        Raises `ProblemError` if the issuer's keys cannot be read now.
        """
        token = extract_token(authorization)
        if len(token) > _MAX_HEADER_LENGTH or token.count(".") != 2:
            return None
        for age in (_KEYS_AGE, _MIN_KEYS_AGE):
            keys = await self._get_keys(age)
            try:
                return self._verify(token, keys)
            except InvalidKeyIdError:  # the issuer may have a new key
                continue
            except JoseError as error:
                log.info(
                    "a token is refused: %s", error.error
                )  # not its message, which has words of the token
                return None
            except Exception as error:  # noqa: BLE001  # of whatever a stranger sends
                log.info("a token is refused: %s", type(error).__name__)
                return None
        log.info("a token is refused: its key is not one of the issuer's")
        return None

    def _verify(self, token: str, keys: jwk.KeySet) -> str | None:
        found = jwt.decode(token, keys, registry=self._registry)
        self._claims.validate(found.claims)
        kind = found.header.get("typ", "JWT")
        subject = found.claims["sub"]
        return subject if isinstance(kind, str) and kind.lower() in _TOKEN_TYPES else None

    async def _get_keys(self, age: float) -> jwk.KeySet:
        """Return the issuer's keys, read again if they are older than so many seconds, and the issuer answers."""
        async with self._lock:
            now = time.monotonic()
            if now - self._read_at > age and now - self._tried_at > _RETRY_INTERVAL:
                self._tried_at = now
                try:
                    self._keys = await asyncio.to_thread(_read_keys, self._jwks)
                    self._read_at = now
                except (OSError, ValueError) as error:
                    log.warning("the issuer's keys cannot be read: %s: %s", self._jwks, error)
            if self._keys is None or now - self._read_at > _KEYS_AGE:
                message = "tokens cannot be checked now: the issuer's keys cannot be read"
                raise ProblemError("service-unavailable", message, retry_after=RETRY_SECONDS)
            return self._keys


def _read_keys(place: str) -> jwk.KeySet:
    """Return the public keys for signatures of an address, or a file. Raises `OSError` or `ValueError`."""
    if "://" in place:
        with urllib.request.urlopen(place, timeout=_READ_TIMEOUT) as answer:  # noqa: S310  # of the settings
            data = answer.read(_MAX_KEYS_SIZE + 1)
    else:
        with open(place, "rb") as file:
            data = file.read(_MAX_KEYS_SIZE + 1)
    if len(data) > _MAX_KEYS_SIZE:
        raise ValueError(f"it has more than {_MAX_KEYS_SIZE} bytes")
    try:
        table: Any = json.loads(data)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    keys: list[Any] = []
    for item in table.get("keys", ()) if isinstance(table, dict) else ():
        if isinstance(item, dict) and item.get("kty") in _KEY_TYPES and item.get("use", "sig") == "sig":
            try:
                keys.append(jwk.import_key(item))
            except (JoseError, ValueError, TypeError) as error:
                log.warning("%s: a key is left out: %s", place, type(error).__name__)
    if not keys:
        raise ValueError("it has no public key for signatures")
    return jwk.KeySet(keys)
