"""Who is let in, before anything of a request is read: see `Gate`. And how a request that fails is answered."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Final, final

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from osprofile.errors import OSProfileError
from osprofile.executors.facility.problems import ProblemError, build_problem

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from osprofile.executors.facility.facility import Facility

PREFIX: Final = "/api/v2"
BODY_TIMEOUT: Final = 60.0
"""Seconds in which a request arrives."""
_PUBLIC_PATHS: Final = re.compile(
    rf"(?!{PREFIX}/|/mcp(?:/|\Z)).*|{PREFIX}(?:/?|/openapi\.json|/(?:facility|status)(?:/.*)?|/(?:compute|filesystem)/resources"
    r"|/account/capabilities(?:/[^/]*)?)"
)
"""What is answered without a token: all other paths of the API need one."""
_LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})


@final
class Gate:
    """Lets a request pass if its Host is one of ours and, for all but public paths, its token is valid.

    This is before a body is read. The subject of the token is put into the request's state. `find_subject` takes
    the header Authorization.
    """

    def __init__(
        self,
        app: ASGIApp,
        facility: Facility,
        find_subject: Callable[[str], Awaitable[str | None]],
        hosts: Iterable[str],
    ) -> None:
        self._app, self._facility, self._find_subject = app, facility, find_subject
        self._hosts = _LOOPBACK_NAMES | {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            await self._admit(scope)
        except OSProfileError as error:
            await respond(build_problem(error), self._facility.root, scope["path"])(scope, receive, send)
            return
        deadline = asyncio.get_running_loop().time() + BODY_TIMEOUT
        is_complete = False

        async def receive_in_time() -> Message:
            nonlocal is_complete
            if is_complete:
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, f"the request did not arrive within {BODY_TIMEOUT:.0f} s") from None
            is_complete = not message.get("more_body")
            return message

        await self._app(scope, receive_in_time, send)

    async def _admit(self, scope: Scope) -> None:
        values: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            values.setdefault(name, []).append(value)
        hosts = [host.decode("latin-1").lower() for host in values.get(b"host", [])]
        if len(hosts) != 1 or _strip_port(hosts[0]) not in self._hosts:
            message = "the header Host has another name than this server"
            raise ProblemError("forbidden", message, hint="set public_url to the address that clients use")
        if _PUBLIC_PATHS.fullmatch(scope["path"]):
            return
        tokens = [token.decode("latin-1") for token in values.get(b"authorization", [])]
        subject = await self._find_subject(tokens[0]) if len(tokens) == 1 else None
        if subject is None:
            message = "the bearer token is missing or not valid"
            raise ProblemError("unauthorized", message, hint="send Authorization: Bearer TOKEN")
        account = self._facility.find_account(subject)
        if account is None:
            message = "the token is valid, but whom it stands for has no account here"
            raise ProblemError("forbidden", message, hint="ask the facility's administrator")
        scope.setdefault("state", {})["account"] = account


def _strip_port(host: str) -> str:
    return re.sub(r":[0-9]*\Z", "", host)


@final
class JsonResponse(JSONResponse):
    """JSON in ASCII, so that no text can fail to be encoded."""

    def render(self, content: object) -> bytes:
        """Return the body."""
        return json.dumps(content, separators=(",", ":")).encode("ascii")


def respond(problem: ProblemError, root: str, path: str) -> Response:
    """Return the answer to a request that fails."""
    instance = f"{root.removesuffix(PREFIX)}{re.sub('[^!-~]', '?', path)[:2000]}"
    headers = {} if problem.retry_after is None else {"Retry-After": str(problem.retry_after)}
    if problem.kind == "unauthorized":
        headers["WWW-Authenticate"] = "Bearer"
    return JsonResponse(
        problem.format_body(root.removesuffix(PREFIX), instance),
        problem.status,
        headers,
        media_type="application/problem+json",
    )
