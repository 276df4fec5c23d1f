"""Whether a token is valid at a facility for many users: an OpenID Connect issuer has signed it (RFC 9068), or says so (RFC 7662).

joserfc checks signatures and claims. Only keys of the issuer are used, only public ones, and only with the algorithms
that are for them: the header of a token decides nothing else. A token is never in a message or a log, nor is any part of it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
import urllib.error
import urllib.request
from base64 import b64encode
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final, final
from urllib.parse import quote, urlencode

from joserfc import jwk, jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jws import JWSRegistry

from osprofile.errors import SettingError
from osprofile.executors.facility.rate import QueryLimit
from osprofile.executors.facility.settings import require_safe
from osprofile.executors.facility.tokens import extract_token, read_secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.executors.facility.settings import Settings

log: Final = logging.getLogger("osprofile.facility")
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a key pair: a token that is signed with a secret (HS256), or not at all, is none."""
_KEY_TYPES: Final = ("RSA", "EC", "OKP")
_TOKEN_TYPES: Final = frozenset({"jwt", "at+jwt", "application/at+jwt"})
_MAX_HEADER_LENGTH: Final = 16 << 10
_MAX_ANSWER_SIZE: Final = 1 << 20
_MAX_QUESTIONS: Final = 4
"""Questions to the issuer at a time: strangers can make the daemon ask."""
_LEEWAY: Final = 30
"""Seconds by which the issuer's clock may differ."""
_KEYS_AGE: Final = 3600.0
"""Seconds for which keys are used until they are read again: a key that the issuer withdraws is valid no longer."""
_MIN_KEYS_AGE: Final = 30.0
"""Seconds between two readings because of a token whose key is not known: anybody can send one."""
_RETRY_INTERVAL: Final = 5.0
"""Seconds after which the issuer is asked for keys again, if it has not answered."""
_READ_TIMEOUT: Final = 10.0


@final
class Issuer:
    """The tokens of the settings' issuer for their audience.

    Raises `SettingError` for a file that has no keys, or no secret.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._registry = JWSRegistry(algorithms=list(ALGORITHMS))
        self._claims = jwt.JWTClaimsRegistry(
            leeway=_LEEWAY,
            iss={"essential": not settings.client_id, "value": settings.issuer},
            aud={"essential": True, "value": settings.audience},
            exp={"essential": not settings.client_id},
            sub={"essential": True},
        )
        self._keys: jwk.KeySet | None = None
        self._read_at = self._failed_at = -math.inf
        self._query_limit = QueryLimit(
            _MAX_QUESTIONS if settings.client_id else 1,
            "tokens cannot be checked now: the issuer does not answer",
        )
        if settings.jwks.startswith("/"):
            try:
                _read_keys(settings.jwks)
            except (OSError, ValueError) as error:
                raise SettingError(
                    f"jwks = {settings.jwks!r}: {error}", hint="a JWK Set, as RFC 7517 has it"
                ) from None
        if settings.client_id:
            self._read_secret()

    async def find_claims(self, authorization: str) -> Mapping[str, Any] | None:
        """Return the claims of the token of a header `Authorization`; None if it is not valid.

        Raises `ProblemError` if the issuer does not answer now.
        """
        token = extract_token(authorization)
        is_asked = bool(self._settings.client_id)
        if not token or len(token) > _MAX_HEADER_LENGTH or (token.count(".") != 2 and not is_asked):
            return None
        if is_asked:
            return await self._ask(token)
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

    async def _ask(self, token: str) -> Mapping[str, Any] | None:
        """Return the claims that the issuer says a token has; None if it says that it is not valid."""
        async with self._query_limit.take():
            try:
                claims = await asyncio.to_thread(self._introspect, token)
            except (OSError, ValueError, SettingError) as error:
                log.warning("the issuer does not say whether a token is valid: %s", error)
                raise self._query_limit.refuse() from None
        if claims.get("active") is not True:
            return None
        try:
            self._claims.validate(claims)
        except Exception as error:  # noqa: BLE001  # of whatever an issuer may answer
            log.info("a token is refused: %s", getattr(error, "error", type(error).__name__))
            return None
        return claims

    def _introspect(self, token: str) -> dict[str, Any]:
        names = (self._settings.client_id, self._read_secret())
        credentials = b64encode(":".join(quote(name, safe="") for name in names).encode()).decode()
        request = urllib.request.Request(  # noqa: S310  # of the settings
            _discover(self._settings.issuer, "introspection_endpoint"),
            urlencode({"token": token, "token_type_hint": "access_token"}).encode(),
            {"Authorization": f"Basic {credentials}", "Accept": "application/json"},
        )
        return _read_table(request)

    def _read_secret(self) -> str:
        path = self._settings.client_secret_file
        try:
            secret = read_secret(path, "client_secret_file")
        except OSError as error:
            raise SettingError(f"client_secret_file = {path!r}: {error.strerror}") from None
        if not secret:
            raise SettingError(f"client_secret_file = {path!r} has no secret")
        return secret

    def _verify(self, token: str, keys: jwk.KeySet) -> Mapping[str, Any] | None:
        found = jwt.decode(token, keys, registry=self._registry)
        self._claims.validate(found.claims)
        kind = found.header.get("typ", "JWT")
        return found.claims if isinstance(kind, str) and kind.lower() in _TOKEN_TYPES else None

    async def _get_keys(self, age: float) -> jwk.KeySet:
        """Return the issuer's keys, read again if they are older than so many seconds, and the issuer answers."""
        if time.monotonic() - self._read_at > age:  # who has a known key waits for nobody
            async with self._query_limit.take():
                await self._read_again(age)
        if self._keys is None or time.monotonic() - self._read_at > _KEYS_AGE:
            raise self._query_limit.refuse()
        return self._keys

    async def _read_again(self, age: float) -> None:
        now = time.monotonic()
        if now - self._read_at <= age or now - self._failed_at <= _RETRY_INTERVAL:
            return
        try:
            self._keys = await asyncio.to_thread(self._read_keys)
            self._read_at = now
        except (OSError, ValueError, SettingError) as error:
            self._failed_at = time.monotonic()
            place = self._settings.jwks or self._settings.issuer
            log.warning("the issuer's keys cannot be read: %s: %s", place, error)

    def _read_keys(self) -> jwk.KeySet:
        return _read_keys(self._settings.jwks or _discover(self._settings.issuer, "jwks_uri"))


@final
class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows nothing: another address than that of the settings is not safe, and a secret is not for it."""

    def redirect_request(self, *_words: object) -> None:
        """Follow none."""


_OPENER: Final = urllib.request.build_opener(_NoRedirects)


def _discover(issuer: str, name: str) -> str:
    """Return an address of an issuer's own document (OpenID Connect Discovery). Raises `OSError`, `ValueError`, `SettingError`."""
    table = _read_table(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    address = table.get(name)
    if table.get("issuer") != issuer or not isinstance(address, str):
        raise ValueError(f"the document of {issuer} is of another issuer, or has no {name}")
    return require_safe(name, address)


def _read_table(place: str | urllib.request.Request) -> dict[str, Any]:
    """Return the JSON of an address, or a file. Raises `OSError` or `ValueError`."""
    if isinstance(place, str) and place.startswith("/"):
        with open(place, "rb") as file:
            data = file.read(_MAX_ANSWER_SIZE + 1)
    else:
        try:
            with _OPENER.open(place, timeout=_READ_TIMEOUT) as answer:
                data = answer.read(_MAX_ANSWER_SIZE + 1)
        except urllib.error.HTTPError as error:
            error.close()
            raise
        except HTTPException as error:
            raise OSError(f"no answer of HTTP: {type(error).__name__}") from None
    if len(data) > _MAX_ANSWER_SIZE:
        raise ValueError(f"it has more than {_MAX_ANSWER_SIZE} bytes")
    try:
        table: Any = json.loads(data)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(table, dict):
        raise ValueError("it is no object of JSON")  # noqa: TRY004
    return table


def _read_keys(place: str) -> jwk.KeySet:
    """Return the public keys for signatures of an address, or a file. Raises `OSError` or `ValueError`."""
    keys: list[Any] = []
    items = _read_table(place).get("keys")
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and item.get("kty") in _KEY_TYPES and item.get("use", "sig") == "sig":
            try:
                keys.append(jwk.import_key(item))
            except Exception as error:  # noqa: BLE001  # a KeyError, for example, for a curve that is not known
                log.warning("%s: a key is left out: %s", place, type(error).__name__)
    if not keys:
        raise ValueError("it has no public key for signatures")
    return jwk.KeySet(keys)
