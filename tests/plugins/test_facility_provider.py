"""One daemon for two users of this machine by a real OpenID Connect provider, as docs/tasks/centre.md sets it up.

It needs root, as test_facility_many.py does.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from osprofile.executors.facility.issuer import Issuer
from osprofile.executors.facility.settings import Settings
from tests.plugins.test_facility_many import CENTRE, log_in, run_job, run_shared
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

PROVIDER = Path(__file__).with_name("provider.py")
CREDENTIALS = ("iri", "secret")


class Provider:
    """The provider in a process, and what its clients ask."""

    def __init__(self, *users: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, str(PROVIDER), str(port), *users]
        self.process = subprocess.Popen(
            command,
            env={**os.environ, "PYTHONPATH": str(Path(sys.prefix, "provider"))},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self.is_up)

    def is_up(self) -> bool:
        assert self.process.poll() is None
        try:
            return httpx.get(f"{self.url}/.well-known/openid-configuration").status_code == 200
        except httpx.ConnectError:
            return False

    def log_in(self, user: str) -> str:
        """Return a token of a user, as a client gets it by the user's password."""
        values = {"grant_type": "password", "username": user, "password": "secret", "scope": "openid"}
        answer = httpx.post(f"{self.url}/oauth/token", data=values, auth=CREDENTIALS)
        token: str = answer.json()["access_token"]
        return token

    def revoke(self, token: str) -> None:
        httpx.post(f"{self.url}/oauth/revoke", data={"token": token}, auth=CREDENTIALS).raise_for_status()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


@pytest.fixture
def folder() -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("it makes accounts: run it as root")
    folder = Path(tempfile.mkdtemp(prefix="osprofile-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("is_asked", [False, True], ids=["by keys", "by introspection"])
def test_two_accounts(folder: Path, is_asked: bool) -> None:
    """A daemon that is not root finds users by a claim; it has their group, and the rule of sudoers."""
    providers: list[Provider] = []

    def issue(home: Path, names: dict[str, str]) -> tuple[str, str]:
        provider = Provider(*names.values(), "root", "games", "elsewhere")
        providers.append(provider)
        settings = f'issuer = "{provider.url}"\naudience = "iri"\nusers_claim = "sub"\nusers_group = "{names["alice"]}"\n'
        if is_asked:
            (home / "secret").write_text("secret\n")
            (home / "secret").chmod(0o600)
            shutil.chown(home / "secret", account)
            settings += f'client_id = "iri"\nclient_secret_file = "{home}/secret"\n'
        return settings, provider.log_in(names["alice"])

    home = folder / "daemon"
    home.mkdir()
    account = f"daemon{os.getpid()}"
    try:
        with run_shared(home, folder, account, issue) as alice:
            (provider,) = providers
            name = alice.ask("GET", "/account/whoami")["username"]
            bob = log_in(alice, "", provider.log_in(name.replace("alice", "bob")))
            for client, user in ((alice, name), (bob, name.replace("alice", "bob"))):
                output, _ = run_job(client, "id", "-un")
                assert output == f"{user}\n"
            for user in ("root", "games", "elsewhere"):
                with httpx.Client(base_url=alice.url) as http:
                    headers = {"Authorization": f"Bearer {provider.log_in(user)}"}
                    assert http.get("/account/whoami", headers=headers).status_code == 403, user
            alice.ask("GET", "/task", 401, headers={"Authorization": f"Bearer {alice.token}x"})
            if is_asked:
                check_revocation(provider, home, provider.log_in(name))
            bob.http.close()
            check_audit(alice.home / "audit", name, alice.token)
    finally:
        for provider in providers:
            provider.stop()


def check_revocation(provider: Provider, home: Path, token: str) -> None:
    """See that a token is refused as soon as it is revoked; the daemon knows it for a minute."""
    settings = Settings(
        issuer=provider.url, audience="iri", client_id="iri", client_secret_file=str(home / "secret")
    )
    os.chown(home / "secret", 0, 0)
    issuer = Issuer(settings)
    assert asyncio.run(issuer.find_claims(token)) is not None
    provider.revoke(token)
    assert asyncio.run(issuer.find_claims(token)) is None


def check_audit(file: Path, name: str, token: str) -> None:
    """See that the form of the lines is that of the manual."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    shown = json.loads(CENTRE.read_text().partition("```json\n")[2].partition("```")[0])
    (launch,) = [line for line in lines if line["operation"] == "launchJob" and line["user_name"] == name]
    assert launch.keys() == shown.keys()
    assert (launch["subject"], launch["resource"], launch["status"]) == (name, "here", 200)
    assert {line["job"] for line in lines if line["operation"] == "getJob"} >= {launch["job"]}
    assert {"root", "games"} <= {line.get("subject") for line in lines if line["status"] == 403}
    assert [line["operation"] for line in lines if line["status"] == 401] == ["GET /api/v2/task"]
    assert token not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
