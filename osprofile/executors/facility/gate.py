"""Who is let in, before anything of a request is read: see `Gate`. And how a request that fails is answered.

What is known of each request in the end is a line of the file of audits.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import ipaddress
import json
import logging
import os
import re
from typing import TYPE_CHECKING, Final, final

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from osprofile.executors.facility.problems import ProblemError, find_problem

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from osprofile.executors.facility.facility import Account, Facility
    from osprofile.executors.facility.tokens import Client

log: Final = logging.getLogger("osprofile.facility")
PREFIX: Final = "/api/v2"
BODY_TIMEOUT: Final = 60.0
"""Seconds in which a request arrives."""
_PUBLIC_PATHS: Final = re.compile(
    rf"(?!{PREFIX}/|/mcp(?:/|\Z)).*|{PREFIX}(?:/?|/openapi\.json|/(?:facility|status)(?:/.*)?|/(?:compute|filesystem)/resources"
    r"|/account/capabilities(?:/[^/]*)?)"
)
"""What is answered without a token: all other paths of the API need one."""
_MAX_TEXT: Final = 4096
_MAX_PATH: Final = 2000
_LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})


@final
class Gate:
    """Lets a request pass if its Host is one of ours and, for all but public paths, its token is valid.

    This is before a body is read. The account of the client is put into the request's state, beside what the line of
    the audit gets: `audit`. `find_client` takes the header Authorization.
    """

    def __init__(
        self,
        app: ASGIApp,
        facility: Facility,
        find_client: Callable[[str], Awaitable[Client | None]],
        hosts: Iterable[str],
    ) -> None:
        self._app, self._facility, self._find_client = app, facility, find_client
        self._hosts = _LOOPBACK_NAMES | {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it; and write what came of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        facts: dict[str, object] = {}
        scope.setdefault("state", {})["audit"] = facts
        is_written = False

        def write_line() -> None:
            nonlocal is_written
            if self._facility.settings.audit and not is_written:
                is_written = True
                write_audit(self._facility.settings.audit, {**_describe(scope), **facts})

        async def send_noted(message: Message) -> None:
            if message["type"] == "http.response.start":  # who has the answer finds the line
                facts.setdefault("status", message["status"])
                write_line()
            await send(message)

        try:
            await self._handle(scope, receive, send_noted)
        finally:
            write_line()  # also where nobody waits for the answer any more

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        with contextlib.ExitStack() as places:
            try:
                account = await self._admit(scope)
                if account is not None:
                    places.enter_context(account.rate.hold())
            except Exception as error:  # noqa: BLE001  # the application's own handlers come later
                problem = find_problem(error, name_request(scope))
                await respond(problem, self._facility.root, scope["path"])(scope, receive, send)
                return
            await self._app(scope, _receive_in_time(receive), send)

    async def _admit(self, scope: Scope) -> Account | None:
        """Return the account of the client of a request; None if what it asks is public. Raises `OSProfileError`."""
        values: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            values.setdefault(name, []).append(value)
        hosts = [host.decode("latin-1").lower() for host in values.get(b"host", [])]
        if len(hosts) != 1 or _strip_port(hosts[0]) not in self._hosts:
            message = "the header Host has another name than this server"
            raise ProblemError("forbidden", message, hint="set public_url to the address that clients use")
        if _PUBLIC_PATHS.fullmatch(scope["path"]):
            return None
        tokens = [token.decode("latin-1") for token in values.get(b"authorization", [])]
        client = await self._find_client(tokens[0]) if len(tokens) == 1 else None
        if client is None:
            message = "the bearer token is missing or not valid"
            raise ProblemError("unauthorized", message, hint="send Authorization: Bearer TOKEN")
        scope["state"]["audit"].update(client._asdict())
        if not client.user_name:
            message = "the token is valid, but whom it stands for has no account here"
            raise ProblemError("forbidden", message, hint="ask the facility's administrator")
        scope["state"]["account"] = account = self._facility.open_account(client.user_name)
        return account


def _receive_in_time(receive: Receive) -> Receive:
    """Return a function that receives a request, and raises `HTTPException` if it takes too long to arrive."""
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

    return receive_in_time


def _describe(scope: Scope) -> dict[str, object]:
    """Return what the audit has of each request. The proxy in front says who sent it; nothing is decided by that."""
    forwarded = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    address = (scope.get("client") or [""])[0]
    with contextlib.suppress(IndexError, ValueError):
        address = str(ipaddress.ip_address(forwarded[-1].decode("latin-1").rpartition(",")[2].strip()))
    operation = (
        getattr(scope.get("route"), "operation_id", None) or f"{scope['method']} {scope['path'][:200]}"
    )
    parameters = {name.removesuffix("_id"): value for name, value in scope.get("path_params", {}).items()}
    now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
    return {"time": now, "address": address, "operation": operation, **parameters}


def write_audit(path: str, facts: Mapping[str, object]) -> None:
    """Append a line of JSON to a file, which may have been moved away; a failure is logged."""
    line = f"{json.dumps({name: _cut(value) for name, value in facts.items() if value is not None})}\n"
    try:
        descriptor = os.open(
            path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600
        )
        with os.fdopen(descriptor, "wb", 0) as file:
            file.write(line.encode("ascii"))
    except OSError as error:
        log.warning("audit = %r: %s", path, error.strerror)


def _cut(value: object) -> object:
    """Return a value whose texts are not longer than a path can be."""
    if isinstance(value, dict):
        return {name: _cut(item) for name, item in value.items()}
    return value[:_MAX_TEXT] if isinstance(value, str) else value


def _strip_port(host: str) -> str:
    return re.sub(r":[0-9]*\Z", "", host)


@final
class JsonResponse(JSONResponse):
    """JSON in ASCII, so that no text can fail to be encoded."""

    def render(self, content: object) -> bytes:
        """Return the body."""
        return json.dumps(content, separators=(",", ":")).encode("ascii")


def name_request(scope: Scope) -> str:
    """Return a request for a line of the log, which nothing in its path can end."""
    return f"{scope['method']} {_mask(scope['path'])}"


def _mask(path: str) -> str:
    return re.sub("[^!-~]", "?", path)[:_MAX_PATH]


def respond(problem: ProblemError, root: str, path: str) -> Response:
    """Return the answer to a request that fails."""
    instance = f"{root.removesuffix(PREFIX)}{_mask(path)}"
    headers = {} if problem.retry_after is None else {"Retry-After": str(problem.retry_after)}
    if problem.kind == "unauthorized":
        headers["WWW-Authenticate"] = "Bearer"
    return JsonResponse(
        problem.format_body(root.removesuffix(PREFIX), instance),
        problem.status,
        headers,
        media_type="application/problem+json",
    )
