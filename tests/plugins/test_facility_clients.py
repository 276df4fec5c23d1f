"""Whom a token stands for, at a facility for many users: what an issuer answers, and who is a user of this machine."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import pwd
import re
import socket
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from osprofile.errors import SettingError
from osprofile.executors.facility import clients as clients_module
from osprofile.executors.facility import issuer as issuers
from osprofile.executors.facility import rate, users
from osprofile.executors.facility.clients import Clients
from osprofile.executors.facility.issuer import Issuer
from osprofile.executors.facility.problems import ProblemError
from osprofile.executors.facility.settings import ResourceSettings, Settings
from osprofile.executors.facility.tokens import Client
from tests.plugins.test_facility_many import AUDIENCE, CENTRE, ISSUER, PUBLIC, claims, sign
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REMOTE = {"cluster": ResourceSettings(profile="slurm", host="{user}@login")}
HERE = {"here": ResourceSettings(profile="linux")}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


# The issuer: its document, and what it says of a token


class Provider(HTTPServer):
    """An issuer on this machine, whose answers are in a table by path: a status, and JSON or bytes."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.document: dict[str, Any] = {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/keys",
            "introspection_endpoint": f"{self.url}/ask",
        }
        self.answers: dict[str, tuple[int, Any]] = {
            "/.well-known/openid-configuration": (200, self.document),
            "/keys": (200, {"keys": PUBLIC}),
        }
        self.asked: list[tuple[str, dict[str, list[str]]]] = []


class Handler(BaseHTTPRequestHandler):
    """Answers from the table, and keeps what was asked."""

    server: Provider

    def do_GET(self) -> None:
        status, value = self.server.answers[self.path]
        if status == 0:
            self.wfile.write(value)
            return
        self.send_response(status)
        if status == 302:
            self.send_header("Location", value)
        self.end_headers()
        self.wfile.write(value if isinstance(value, bytes) else json.dumps(value).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.append((self.headers["Authorization"], parse_qs(body)))
        self.do_GET()

    def log_message(self, *_words: object) -> None:
        pass


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def make_asking(provider: Provider, tmp_path: Path, **more: Any) -> Settings:  # noqa: ANN401
    secret = tmp_path / "secret"
    secret.touch(0o600)
    secret.write_text("s 1:%\n")
    return Settings(
        issuer=provider.url, audience=AUDIENCE, client_id="iri:1", client_secret_file=str(secret), **more
    )


def find(issuer: Issuer, token: str) -> str | None:
    found = asyncio.run(issuer.find_claims(f"Bearer {token}"))
    return None if found is None else str(found["sub"])


def test_keys_by_the_issuers_own_document(provider: Provider) -> None:
    issuer = Issuer(Settings(issuer=provider.url, audience=AUDIENCE))
    assert find(issuer, sign(claims(iss=provider.url))) == "alice"
    assert find(issuer, sign(claims())) is None


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/.well-known/openid-configuration", (404, {})),
        ("/.well-known/openid-configuration", (200, [])),
        ("/.well-known/openid-configuration", (200, b"[" * 5000)),
        ("/.well-known/openid-configuration", (200, b"x" * (2 << 20))),
        ("/.well-known/openid-configuration", (200, {"issuer": "https://other", "jwks_uri": "{url}/keys"})),
        ("/.well-known/openid-configuration", (200, {"issuer": "{url}"})),
        ("/.well-known/openid-configuration", (200, {"issuer": "{url}", "jwks_uri": "/etc/passwd"})),
        (
            "/.well-known/openid-configuration",
            (200, {"issuer": "{url}", "jwks_uri": "http://192.0.2.1/keys"}),
        ),
        ("/.well-known/openid-configuration", (302, "/keys")),
        ("/keys", (302, "https://192.0.2.1/")),
        ("/keys", (200, {"keys": 1})),
        ("/keys", (200, {"keys": []})),
    ],
)
def test_documents_that_are_refused(provider: Provider, path: str, answer: tuple[int, Any]) -> None:
    status, value = answer
    if isinstance(value, dict):
        value = json.loads(json.dumps(value).replace("{url}", provider.url))
    provider.answers[path] = (status, value)
    with pytest.raises(ProblemError) as error:
        find(Issuer(Settings(issuer=provider.url, audience=AUDIENCE)), sign(claims(iss=provider.url)))
    assert (error.value.status, error.value.retry_after) == (503, 30)


def test_a_token_of_which_the_issuer_is_asked(
    provider: Provider, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asking = make_asking(provider, tmp_path)
    issuer = Issuer(asking)
    answer = {"active": True, "sub": "alice", "aud": [AUDIENCE], "iss": provider.url}
    provider.answers["/ask"] = (200, answer)
    assert find(issuer, "opaque&x=1") == "alice"
    ((authorization, body),) = provider.asked
    assert body == {"token": ["opaque&x=1"], "token_type_hint": ["access_token"]}
    assert base64.b64decode(authorization.removeprefix("Basic ")) == b"iri%3A1:s%201%3A%25"
    refused: list[dict[str, object]] = [
        {"active": False}, {"active": "true"}, {"active": 1}, {"aud": "other"}, {"aud": None}, {"sub": None}, {"sub": ["alice"]},
        {"iss": "https://other"}, {"exp": time.time() - 60}, {"exp": "tomorrow"}, {"nbf": time.time() + 600},
    ]  # fmt: skip
    for change in refused:
        provider.answers["/ask"] = (200, {**answer, **change})
        assert find(issuer, "opaque") is None, change
    provider.answers["/ask"] = (200, {**answer, "exp": time.time() + 60.5, "aud": AUDIENCE})
    assert find(issuer, "opaque") == "alice"
    for no_answer in (
        (0, b"nonsense\r\n\r\n"),
        (0, b""),
        (500, {}),
        (401, {}),
        (302, f"{provider.url}/keys"),
        (200, []),
        (200, b"{"),
    ):
        provider.answers["/ask"] = no_answer
        with pytest.raises(ProblemError, match="cannot be checked now"):
            find(issuer, "opaque")
    asked = len(provider.asked)
    assert find(issuer, "") is None
    assert find(issuer, "x" * (17 << 10)) is None
    (tmp_path / "secret").chmod(0o640)
    with pytest.raises(ProblemError):
        find(issuer, "opaque")
    assert len(provider.asked) == asked
    (tmp_path / "secret").chmod(0o600)
    (tmp_path / "secret").write_text("\n")
    with pytest.raises(SettingError, match="has no secret"):
        Issuer(asking)
    (tmp_path / "secret").unlink()
    with pytest.raises(SettingError, match="client_secret_file"):
        Issuer(asking)
    assert "s 1" not in caplog.text
    assert "opaque" not in caplog.text


# One that hangs: it holds few requests, and none whose token is known


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """Return a port that accepts connections, and answers nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        listener.setblocking(False)
        yield listener


def count_connections(listener: socket.socket) -> int:
    count = 0
    with suppress(BlockingIOError):
        while True:
            listener.accept()[0].close()
            count += 1
    return count


async def find_all(issuer: Issuer, *tokens: str) -> list[object]:
    return await asyncio.gather(*map(issuer.find_claims, tokens), return_exceptions=True)


def test_keys_that_do_not_come_are_waited_for_once(
    silent: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuers, "_READ_TIMEOUT", 1.0)
    monkeypatch.setattr(issuers, "_RETRY_INTERVAL", 0.5)
    issuer = Issuer(
        Settings(issuer="https://i", audience="a", jwks=f"http://127.0.0.1:{silent.getsockname()[1]}/")
    )
    answers = asyncio.run(find_all(issuer, *[sign(claims())] * 3))
    assert [getattr(answer, "status", None) for answer in answers] == [503] * 3
    assert count_connections(silent) == 1


def test_a_known_key_does_not_wait_for_an_unknown_one(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = Issuer(Settings(issuer=ISSUER, audience=AUDIENCE, jwks=f"{provider.url}/keys"))
    assert find(issuer, sign(claims())) == "alice"
    for name in ("_MIN_KEYS_AGE", "_RETRY_INTERVAL"):
        monkeypatch.setattr(issuers, name, 0)
    may_answer = threading.Event()
    monkeypatch.setattr(issuer, "_read_keys", may_answer.wait)

    async def ask() -> object:
        stranger = asyncio.ensure_future(issuer.find_claims(sign(claims(), kid="other")))
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(PATIENCE):
                return await issuer.find_claims(sign(claims()))
        finally:
            may_answer.set()
            await asyncio.gather(stranger, return_exceptions=True)

    assert asyncio.run(ask())


def test_an_issuer_that_hangs_is_asked_by_few(
    silent: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuers, "_READ_TIMEOUT", 2.0)
    monkeypatch.setattr(rate, "_TURN_TIMEOUT", 0.1)
    secret = tmp_path / "secret"
    secret.touch(0o600)
    secret.write_text("x")
    asking = Settings(
        issuer=f"http://127.0.0.1:{silent.getsockname()[1]}",
        audience="a",
        client_id="c",
        client_secret_file=str(secret),
    )
    answers = asyncio.run(find_all(Issuer(asking), *map(str, range(20))))
    assert [getattr(answer, "status", None) for answer in answers] == [503] * 20
    assert count_connections(silent) == 4


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    answer=st.dictionaries(st.sampled_from(["active", "sub", "aud", "exp", "nbf", "iat", "iss", "x"]), JSON)
)
def test_whatever_an_issuer_says(tmp_path_factory: pytest.TempPathFactory, answer: dict[str, object]) -> None:
    secret = tmp_path_factory.mktemp("secret") / "secret"
    secret.touch(0o600)
    secret.write_text("x")
    issuer = Issuer(
        Settings(issuer="https://i", audience=AUDIENCE, client_id="c", client_secret_file=str(secret))
    )
    issuer._introspect = lambda _token: {"active": True, **answer}  # type: ignore[method-assign]
    assert find(issuer, "x") in {None, str(answer.get("sub"))}


# The users


def make_clients(tmp_path: Path, **more: Any) -> Clients:  # noqa: ANN401
    (tmp_path / "keys.json").write_text(json.dumps({"keys": PUBLIC}))
    values = {"resources": REMOTE, **more}
    return Clients(
        Settings(
            issuer="https://login.example.org",
            audience=AUDIENCE,
            jwks=str(tmp_path / "keys.json"),
            **values,
        )
    )


def find_user(clients: Clients, **others: object) -> str:
    found = asyncio.run(clients.find_client(f"Bearer {sign(claims(**others))}"))
    assert found is not None
    return found.user_name


REFUSED_NAMES = (
    "", None, 1, True, ["carol"], {"carol": 1}, "-u", "../carol", "car ol", "carol\n", "carol;id", "#0", "x" * 5000,
    "root", "daemon", "nobody", pwd.getpwuid(os.geteuid()).pw_name,
)  # fmt: skip


def test_users_by_a_claim(tmp_path: Path) -> None:
    """Of a resource on another host: who is known there is not known here."""
    clients = make_clients(tmp_path, users_claim="preferred_username")
    assert find_user(clients, preferred_username="carol.of-far") == "carol.of-far"
    for name in REFUSED_NAMES:
        assert find_user(clients, preferred_username=name) == "", name
    assert find_user(clients) == ""
    for more in ({"resources": HERE}, {"users_group": "daemon"}, {"users_group": "no-such-group"}):
        clients = make_clients(tmp_path, users_claim="preferred_username", **more)
        assert find_user(clients, preferred_username="carol.of-far") == "", more


@given(name=JSON)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_claim_is_a_name_or_nobody(tmp_path: Path, name: object) -> None:
    clients = make_clients(tmp_path, users_claim="x")
    user = asyncio.run(clients._find_user({"sub": "s", "x": name}))
    assert user == "" or (user == name and re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", user))


@contextmanager
def account(monkeypatch: pytest.MonkeyPatch, **values: object) -> Iterator[None]:
    """Let the system know carol."""
    members = {"pw_uid": 1234, "pw_gid": 1234, "pw_shell": "/bin/sh", **values}
    changed = pwd.struct_passwd(
        ("carol", "x", members["pw_uid"], members["pw_gid"], "", "/", members["pw_shell"])
    )
    with monkeypatch.context() as context:
        context.setattr(users.pwd, "getpwnam", {"carol": changed}.__getitem__)
        context.setattr(users.os, "getgrouplist", lambda _name, gid: [gid, 1])
        yield


def test_users_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = pwd.getpwnam("daemon").pw_gid
    by_claim, by_table = {"users_claim": "name"}, {"users": {"alice": "carol"}}
    for values, more, is_user in (
        ({}, by_claim, True),
        ({}, by_table, True),
        ({"pw_uid": 0}, by_claim, False),
        ({"pw_uid": 0}, by_table, False),
        ({"pw_uid": os.geteuid()}, by_table, False),
        ({"pw_uid": 999}, by_claim, False),
        ({"pw_uid": 999}, by_table, os.geteuid() != 999),
        ({"pw_shell": "/usr/sbin/nologin"}, by_claim, False),
        ({"pw_shell": "/bin/false"}, by_claim, False),
        ({"pw_shell": "/bin/false"}, by_table, True),
        ({"pw_gid": daemon, "pw_uid": 999}, {**by_claim, "users_group": "daemon"}, os.geteuid() != 999),
        ({"pw_gid": daemon, "pw_uid": 0}, {**by_claim, "users_group": "daemon"}, False),
        ({}, {**by_claim, "users_group": "daemon"}, daemon == 1),
        ({"pw_gid": daemon}, {**by_claim, "users_group": "daemon"}, True),
        ({"pw_gid": daemon}, {**by_claim, "users_group": "root"}, False),
    ):
        with account(monkeypatch, **values):
            clients = make_clients(tmp_path, resources=HERE, **more)
            assert find_user(clients, name="carol") == ("carol" if is_user else ""), (values, more)


def write_command(tmp_path: Path, text: str) -> tuple[str, ...]:
    file = tmp_path / "find-user"
    file.write_text(text)
    file.chmod(0o755)
    return (str(file), "--all; touch canary")


def test_users_by_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of docs/tasks/centre.md; a change counts without a restart, when what is known is old."""
    (text,) = re.findall(r"^```sh\n(#!/bin/sh.*?)^```", CENTRE.read_text(), re.MULTILINE | re.DOTALL)
    command = write_command(tmp_path, text)
    clients = make_clients(tmp_path, users_command=command)
    known = claims(email="carol@example.org")
    assert asyncio.run(clients.find_client(sign(known))) == Client("alice", "carol")
    assert find_user(clients, email="carol@other.org") == ""
    assert find_user(clients, email='carol@example.org", "x": "$(touch canary)') == ""
    write_command(tmp_path, "#!/bin/sh\necho dave\n")
    assert asyncio.run(clients.find_client(sign(known))) == Client("alice", "carol")
    later = time.monotonic() + 61
    monkeypatch.setattr(
        clients_module.time, "monotonic", lambda: later
    )  # while the clock of the day is set back
    monkeypatch.setattr(clients_module.time, "time", lambda: known["iat"] - 20)
    assert asyncio.run(clients.find_client(sign(known))) == Client("alice", "dave")


@pytest.mark.parametrize(
    "text",
    ["exit 1", "kill $$", "exec sleep 600", "printf 'dave\\377'", "echo no; exit 3"],
    ids=lambda text: text[:6],
)
def test_a_command_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(clients_module, "_COMMAND_TIMEOUT", 1.0 if "sleep" in text else 60.0)
    clients = make_clients(tmp_path, users_command=write_command(tmp_path, f"#!/bin/sh\n{text}\n"))
    with pytest.raises(ProblemError) as error:
        find_user(clients)
    assert (error.value.status, error.value.retry_after) == (503, 30)


def test_a_command_that_hangs_is_run_by_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients_module, "_COMMAND_TIMEOUT", 2.0)
    monkeypatch.setattr(rate, "_TURN_TIMEOUT", 0.1)
    text = f"#!/bin/sh\necho >> {tmp_path}/runs\nexec sleep 600\n"
    clients = make_clients(tmp_path, users_command=write_command(tmp_path, text))

    async def ask() -> list[object]:
        tokens = (sign(claims(str(number))) for number in range(12))
        return await asyncio.gather(*map(clients.find_client, tokens), return_exceptions=True)

    assert [getattr(answer, "status", None) for answer in asyncio.run(ask())] == [503] * 12
    assert (tmp_path / "runs").read_text() == "\n" * 4


def test_names_that_a_command_may_not_print(tmp_path: Path) -> None:
    for name in ("root", "a b", "carol\n\nroot", "-u", "../a", "'; id", "x\ty"):
        command = write_command(tmp_path, f"#!/bin/sh\ncat <<'EOF'\n{name}\nEOF\n")
        assert find_user(make_clients(tmp_path, users_command=command)) == "", name


def test_a_token_that_is_over_is_not_known_any_more(tmp_path: Path) -> None:
    clients = make_clients(tmp_path, users_claim="name")
    token = sign(claims(exp=int(time.time()) - 10, name="carol"))  # the issuer's clock may differ
    assert asyncio.run(clients.find_client(token)) == Client("alice", "carol")
    (until,) = [until for _, until in clients._known.values()]
    assert until < time.monotonic()
