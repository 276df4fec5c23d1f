"""Who a client of a facility for many users is: whom a token stands for, and as which user of this machine.

The settings say where users come from: a table of subjects, a claim of the token, or a command.
"""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import time
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.executors.facility.issuer import Issuer
from osprofile.executors.facility.rate import QueryLimit
from osprofile.executors.facility.tokens import Client, hash_token
from osprofile.executors.facility.users import is_user

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.executors.facility.settings import Settings

log: Final = logging.getLogger("osprofile.facility")
KNOWN_TIME: Final = 60.0
"""Seconds for which it is known whom a token stands for: so long is one valid that was revoked, or a user who is none any more."""
REFUSED_TIME: Final = 5.0
"""Seconds for which it is known that a valid token has no user."""
_MAX_KNOWN: Final = 10_000
_COMMAND_TIMEOUT: Final = 10.0
_MAX_SEARCHES: Final = 4
"""Users that are searched at a time: the command, or the system's own database, may take long."""


@final
class Clients:
    """The clients of the settings' facility. Raises `SettingError`, as `Issuer` does."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._issuer = Issuer(settings)
        self._known: dict[bytes, tuple[Client, float]] = {}
        self._query_limit = QueryLimit(_MAX_SEARCHES, "the user of the token cannot be found now")

    async def find_client(self, authorization: str) -> Client | None:
        """Return the client of a header `Authorization`; None if it has no valid token. Raises `ProblemError`."""
        key, now, date = hash_token(authorization), time.monotonic(), time.time()
        known = self._known.pop(key, None)
        if known is not None and now < known[1]:
            self._known[key] = known
            return known[0]
        claims = await self._issuer.find_claims(authorization)
        if claims is None or not isinstance(claims["sub"], str):
            return None
        async with self._query_limit.take():
            user_name = await self._find_user(claims)
        client = Client(claims["sub"], user_name)
        until = date + (KNOWN_TIME if user_name else REFUSED_TIME)
        seconds = min(until, claims.get("exp", until)) - date
        self._known[key] = client, now + seconds  # not by the clock of the day, which may be set back
        if len(self._known) > _MAX_KNOWN:
            del self._known[next(iter(self._known))]
        return client

    async def _find_user(self, claims: Mapping[str, Any]) -> str:
        """Return the user of a token's claims; empty if there is none. Raises `ProblemError`."""
        settings = self._settings
        if settings.users:
            name: object = settings.users.get(claims["sub"], "")
        elif settings.users_claim:
            name = claims.get(settings.users_claim, "")
        else:
            name = await asyncio.to_thread(self._run_command, claims)
        if not isinstance(name, str):
            return ""
        return name if await asyncio.to_thread(is_user, settings, name) else ""

    def _run_command(self, claims: Mapping[str, Any]) -> str:
        try:
            ended = subprocess.run(
                self._settings.users_command,
                input=json.dumps(claims),
                stdout=subprocess.PIPE,
                timeout=_COMMAND_TIMEOUT,
                check=True,
                encoding="ascii",
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            log.warning("users_command: %s", error)
            raise self._query_limit.refuse() from None
        return ended.stdout.removesuffix("\n")
