"""One daemon for two users of this machine, by tokens of an issuer and sudo: who is let in, and what each of them sees.

It needs root, for two accounts that it makes and removes, and sudo.
"""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import hashlib
import hmac
import json
import os
import pwd
import re
import resource
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import httpx2
import pytest
from joserfc import jwk, jwt
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from osprofile.errors import SettingError
from osprofile.executors.facility import issuer as issuers
from osprofile.executors.facility.issuer import Issuer
from osprofile.executors.facility.problems import ProblemError
from osprofile.executors.facility.settings import Settings
from tests.executors.facility.conftest import ROOTED
from tests.executors.facility.test_hostile import HOSTILE
from tests.plugins import test_facility_mcp as tools
from tests.plugins.test_facility import ENDED, PREFIX, Daemon, raw, run_daemon
from tests.waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CENTRE = Path("docs/tasks/centre.md")
ISSUER, AUDIENCE = "https://login.example.org", "https://iri.example.org"
KEY, OTHER_KEY, EC_KEY = (jwk.RSAKey.generate_key(2048, {"kid": kid}) for kid in ("k1", "k1", "k3"))
EC_KEY = jwk.ECKey.generate_key("P-256", {"kid": "k2"})  # type: ignore[assignment]
PUBLIC = [KEY.as_dict(private=False), EC_KEY.as_dict(private=False)]
SECRET = jwk.OctKey.generate_key(256, {"kid": "secret"})


def claims(subject: object = "alice", **others: object) -> dict[str, Any]:
    """Return the claims of a valid token, with others; None leaves one out."""
    now = int(time.time())
    values = {"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "iat": now, "exp": now + 3600, **others}
    return {name: value for name, value in values.items() if value is not None}


def sign(values: dict[str, Any], key: Any = KEY, **header: object) -> str:  # noqa: ANN401
    """Return a token of the issuer, or with another key of another one."""
    names = {"alg": "RS256", "kid": key.kid, **header}
    return jwt.encode(names, values, key, algorithms=[str(names["alg"])])


def encode(value: object) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def confuse(**header: object) -> str:
    """Return a token that is signed with the public key as the secret of HS256."""
    text = f"{encode({'alg': 'HS256', 'kid': 'k1', 'typ': 'JWT', **header})}.{encode(claims())}"
    return f"{text}.{encode(hmac.digest(KEY.as_pem(private=False), text.encode(), hashlib.sha256))}"


def cut(token: str, *parts: str | None) -> str:
    """Return a token with other parts."""
    return ".".join(part if new is None else new for part, new in zip(token.split("."), parts, strict=True))


def swap(token: str) -> str:
    """Return a token with the claims of another one, and the first one's signature."""
    return cut(sign(claims("bob")), None, token.split(".")[1], None)


REFUSED: dict[str, Callable[[], str]] = {
    "no token": lambda: "",
    "expired": lambda: sign(claims(exp=int(time.time()) - 60)),
    "without an end": lambda: sign(claims(exp=None)),
    "an end that is a text": lambda: sign(claims(exp="tomorrow")),
    "not valid yet": lambda: sign(claims(nbf=int(time.time()) + 600)),
    "of another issuer": lambda: sign(claims(iss="https://evil.example")),
    "of no issuer": lambda: sign(claims(iss=None)),
    "of a longer issuer": lambda: sign(claims(iss=f"{ISSUER}.evil.example")),
    "of several issuers": lambda: sign(claims(iss=[ISSUER])),
    "for another audience": lambda: sign(claims(aud="https://other.example.org")),
    "for no audience": lambda: sign(claims(aud=None)),
    "for an audience that is a table": lambda: sign(claims(aud={AUDIENCE: 1})),
    "without a subject": lambda: sign(claims(None)),
    "with several subjects": lambda: sign(claims(["alice"])),
    "a foreign key": lambda: sign(claims(), OTHER_KEY),
    "a key that nobody knows": lambda: sign(claims(), OTHER_KEY, kid="k9"),
    "a key in the header": lambda: sign(claims(), OTHER_KEY, jwk=OTHER_KEY.as_dict(private=False)),
    "an address of keys": lambda: sign(claims(), OTHER_KEY, jku="http://127.0.0.1:1/", kid="k9"),
    "not signed": lambda: f"{encode({'alg': 'none'})}.{encode(claims())}.",
    "not signed, in capitals": lambda: f"{encode({'alg': 'NONE', 'kid': 'k1'})}.{encode(claims())}.",
    "the signature left out": lambda: cut(sign(claims()), None, None, ""),
    "the public key as a secret": confuse,
    "a secret of the issuer": lambda: sign(claims(), SECRET, alg="HS256"),
    "another algorithm": lambda: cut(sign(claims()), encode({"alg": "ES256", "kid": "k2"}), None, None),
    "the claims of another token": lambda: swap(sign(claims())),
    "an algorithm that is a list": lambda: cut(sign(claims()), encode({"alg": ["RS256"], "kid": "k1"}), None, None),
    "a header that is a list": lambda: cut(sign(claims()), encode(["RS256"]), None, None),
    "a header that is no JSON": lambda: cut(sign(claims()), encode(b"\xff{"), None, None),
    "a critical extension": lambda: cut(sign(claims()), encode({"alg": "RS256", "kid": "k1", "crit": ["x"]}), None, None),
    "a key name with a line end": lambda: cut(sign(claims()), encode({"alg": "RS256", "kid": "x\nERROR"}), None, None),
    "of another type": lambda: sign(claims(), typ="logout+jwt"),
    "two parts": lambda: sign(claims()).rpartition(".")[0],
    "five parts": lambda: f"{sign(claims())}.a.b",
    "too long": lambda: sign(claims(x="x" * (17 << 10))),
    "deep": lambda: cut(sign(claims()), encode(b"[" * 5000), None, None),
}  # fmt: skip


# The issuer


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Return the file of the issuer's keys: beside those for signatures, one that is a secret, and what is no key."""
    path = tmp_path / "keys.json"
    curve = {"kty": "EC", "crv": "brainpoolP256r1", "x": "AA", "y": "AA"}
    odd: list[object] = [SECRET.as_dict(private=True), {"kty": "RSA"}, {"kty": "PQ"}, {"kty": []}, curve, 1]
    path.write_text(json.dumps({"keys": [*odd, *PUBLIC]}))
    return path


def make_issuer(jwks: object) -> Issuer:
    return Issuer(Settings(issuer=ISSUER, audience=AUDIENCE, jwks=str(jwks)))


def find(issuer: Issuer, token: str) -> str | None:
    claims = asyncio.run(issuer.find_claims(token))
    return None if claims is None else str(claims["sub"])


@pytest.mark.parametrize("name", REFUSED)
def test_a_token_that_is_refused(keys: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    token = REFUSED[name]()
    caplog.set_level("INFO")
    assert find(make_issuer(keys), token) is None
    words = [*(part for part in token.split(".") if len(part) > 8), "evil", "ERROR"]
    assert not [word for word in words if word in caplog.text]
    assert "Traceback" not in caplog.text


def test_tokens_that_are_valid(keys: Path) -> None:
    issuer = make_issuer(keys)
    for token in (
        sign(claims()),
        sign(claims(), EC_KEY, alg="ES256", typ="at+jwt"),
        sign(claims(aud=["a", AUDIENCE]), alg="PS512"),
        sign(claims(exp=int(time.time()) - 5)),  # the clocks differ
    ):
        assert find(issuer, f"Bearer {token}") == find(issuer, token) == "alice"


def test_the_issuers_keys_change(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    issuer = make_issuer(keys)
    monkeypatch.setattr(issuers, "_RETRY_INTERVAL", 0)
    new = jwk.RSAKey.generate_key(2048, {"kid": "new"})
    assert find(issuer, sign(claims())) == "alice"
    keys.write_text(json.dumps({"keys": [new.as_dict(private=False)]}))
    assert find(issuer, sign(claims(), new)) is None  # strangers do not let it read them at once
    monkeypatch.setattr(issuers, "_MIN_KEYS_AGE", 0)
    assert find(issuer, sign(claims(), new)) == "alice"
    assert find(issuer, sign(claims())) is None  # one that is withdrawn
    keys.unlink()
    assert find(issuer, sign(claims(), OTHER_KEY)) is None
    assert find(issuer, sign(claims(), new)) == "alice"  # they are not old yet
    monkeypatch.setattr(issuers, "_KEYS_AGE", 0)
    with pytest.raises(ProblemError) as error:
        find(issuer, sign(claims(), new))
    assert (error.value.status, error.value.retry_after) == (503, 30)
    with pytest.raises(SettingError):
        make_issuer(keys)


def test_keys_at_an_address(keys: Path) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(keys.read_bytes())

        def log_message(self, *_words: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        issuer = make_issuer(f"http://127.0.0.1:{server.server_port}/keys")
        assert find(issuer, sign(claims())) == "alice"
        thread.join()


# The daemon


def sign_for_table(home: Path, names: dict[str, str]) -> tuple[str, str]:
    """Return the settings of who is a user, by keys in a file and a table, and a token for alice."""
    (home / "keys.json").write_text(json.dumps({"keys": PUBLIC}))
    users = "".join(f'"{subject}" = "{name}"\n' for subject, name in names.items())
    settings = f'issuer = "{ISSUER}"\naudience = "{AUDIENCE}"\njwks = "{home}/keys.json"\n[users]\n{users}'
    return settings, sign(claims())


@contextmanager
def run_shared(
    home: Path,
    place: Path,
    account: str | None = None,
    issue: Callable[[Path, dict[str, str]], tuple[str, str]] = sign_for_table,
) -> Iterator[Daemon]:
    """Run a daemon for two new users of this machine, as root or as another new account; its own client is alice.

    That account may do what the rule of sudoers in the manual says, and no more. `issue` is as `sign_for_table`.
    """
    suffix = f"{os.getpid()}{'n' if account else ''}"
    names = {subject: f"{subject}{suffix}" for subject in ("alice", "bob")}
    (place / "work").mkdir()
    (place / "work").chmod(0o1777)
    profile = home / "profiles" / "here" / "profile.xml"
    profile.parent.mkdir(parents=True)
    profile.write_text(ROOTED.format(root=place / "work"))
    rule = Path("/etc/sudoers.d", account or "")
    accounts = [*names.values(), *([account] if account else [])]
    try:
        for name in accounts:
            subprocess.run(["useradd", "-m", "-d", place / name, "-U", "-K", "UMASK=077", name], check=True)
        if account:
            text = re.search(r"^Defaults:osprofile.*?(?=^```)", CENTRE.read_text(), re.MULTILINE | re.DOTALL)
            assert text is not None
            group = names["alice"]
            subprocess.run(["usermod", "-a", "-G", group, names["bob"]], check=True)
            rule.write_text(text[0].replace("osprofile", account).replace("cluster-users", group))
            rule.chmod(0o440)
            subprocess.run(["visudo", "-c", "-q", "-f", rule], check=True)
            shutil.chown(home, account)
        users, token = issue(home, names)
        config = (
            f'port = 0\nmcp = true\nmax_age = 0.1\nprofiles = ["{home}/profiles"]\naudit = "{home}/audit"\n{users}\n'
            '[resources.here]\nprofile = "here"\n'
        )
        with run_daemon(home, config, token, account) as daemon:
            yield daemon
    finally:
        if account:
            rule.unlink(missing_ok=True)
        for name in accounts:
            subprocess.run(["userdel", name], check=False)
        for name in names.values():  # bob was a member of alice's group
            subprocess.run(["groupdel", name], check=False, stderr=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Return a new directory that everybody can enter."""
    if os.geteuid() != 0:
        pytest.skip("it makes accounts: run it as root")
    place = Path(tempfile.mkdtemp(prefix="osprofile-", dir="/var/tmp"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, place: Path) -> Iterator[Daemon]:
    with run_shared(tmp_path_factory.mktemp("shared"), place) as daemon:
        yield daemon


def log_in(daemon: Daemon, subject: str, token: str = "") -> Daemon:
    """Return the daemon for the client of a user."""
    client = object.__new__(Daemon)
    client.__dict__.update(daemon.__dict__)
    client.token = token or sign(claims(subject))
    client.http = httpx.Client(
        base_url=daemon.url, headers={"Authorization": f"Bearer {client.token}"}, timeout=PATIENCE
    )
    return client


@pytest.fixture
def alice(shared: Daemon) -> Iterator[Daemon]:
    client = log_in(shared, "alice")
    yield client
    client.http.close()


@pytest.fixture
def bob(shared: Daemon) -> Iterator[Daemon]:
    client = log_in(shared, "bob")
    yield client
    client.http.close()


def get_user(client: Daemon) -> pwd.struct_passwd:
    return pwd.getpwnam(client.ask("GET", "/account/whoami")["username"])


def run_job(client: Daemon, *command: str, **spec: Any) -> tuple[str, dict[str, Any]]:  # noqa: ANN401
    """Return the output of a job, and the job."""
    job = client.launch(executable=command[0], arguments=command[1:], **spec)
    status = client.wait(job["id"])["status"]
    task = client.run_task("view", {"path": status["meta_data"]["stdout"]})
    return task["result"]["output"]["content"], {**job, "status": status}


def test_each_job_runs_as_its_user(alice: Daemon, bob: Daemon) -> None:
    for client in (alice, bob):
        user = get_user(client)
        output, job = run_job(client, "sh", "-c", 'id -un; echo "$HOME"')
        assert output == f"{user.pw_name}\n{user.pw_dir}\n"
        directory = job["status"]["meta_data"]["directory"]
        assert (os.stat(directory).st_uid, os.stat(directory).st_mode & 0o777) == (user.pw_uid, 0o700)
        path = f"{user.pw_dir}/new/file"
        upload = client.ask("POST", "/filesystem/upload/here", params={"path": path}, files={"file": b"x"})
        while client.ask("GET", f"/task/{upload['task_id']}")["status"] not in {"completed", "failed"}:
            time.sleep(0.01)
        assert os.stat(path).st_uid == user.pw_uid


def test_a_daemon_that_is_not_root() -> None:
    """As docs/facility.md installs it: with the rule of sudoers, and nothing else."""
    with tempfile.TemporaryDirectory(prefix="osprofile-", dir="/var/tmp") as folder:
        place, home = Path(folder), Path(folder, "daemon")
        place.chmod(0o755)
        home.mkdir()
        with run_shared(home, place, account := f"daemon{os.getpid()}") as daemon:
            for subject in ("alice", "bob"):
                client = log_in(daemon, subject)
                output, _ = run_job(client, "id", "-un")
                assert output == f"{get_user(client).pw_name}\n" != f"{account}\n"
                client.http.close()


def test_nothing_of_another_user_is_seen(alice: Daemon, bob: Daemon) -> None:
    secret = get_user(bob).pw_dir + "/secret"
    job_id = bob.launch(executable="sh", arguments=["-c", "echo mine > ~/secret; sleep 60"], name="b")["id"]
    while bob.run_task("stat", {"path": secret})["status"] != "completed":
        time.sleep(0.02)
    task_id = bob.ask("GET", "/task")[0]["id"]
    key = {"Idempotency-Key": "1b4e28ba-2fa1-11d2-883f-0016d3cca427"}
    first = bob.ask("POST", "/compute/job/here", json={"executable": "true"}, headers=key)["id"]
    assert alice.ask("POST", "/compute/job/here", json={"executable": "true"}, headers=key)["id"] != first
    others = {job_id, first}
    for method, path in (("GET", "status"), ("DELETE", "cancel"), ("PUT", "job")):
        body = {"json": {"executable": "true"}} if method == "PUT" else {}
        refusal = alice.ask(method, f"/compute/{path}/here/{job_id}", 404, **body)
        unknown = alice.ask(method, f"/compute/{path}/here/999999999", 404, **body)
        assert refusal["detail"] == unknown["detail"]
    for listed in (False, True):
        body = {"params": {"historical": listed}}
        assert not others & {job["id"] for job in alice.ask("POST", "/compute/status/here", **body)}
        assert not others & {
            job["id"] for job in alice.ask("POST", "/compute/status/here", json={"id": [*others]}, **body)
        }
    for method in ("GET", "DELETE"):
        alice.ask(method, f"/task/{task_id}", 404)
    assert task_id not in {task["id"] for task in alice.ask("GET", "/task")}
    for command in ("ls", "view", "stat", "file", "download", "rm"):
        task = alice.run_task(command, {"path": secret})
        assert task["status"] == "failed"
        assert "mine" not in json.dumps(task)
    for path in (f"/work/../{secret}", f"{secret}/../secret"):
        alice.ask("POST", "/filesystem/view/here", 400, json={"path": path})
    with suppress(FileNotFoundError):
        assert Path(secret).read_text() == "mine\n"
    bob.ask("DELETE", f"/compute/cancel/here/{job_id}", 204)
    assert bob.wait(job_id)["status"]["state"] in ENDED


def test_a_record_for_each_user(shared: Daemon, alice: Daemon, bob: Daemon) -> None:
    names = {get_user(client).pw_name for client in (alice, bob)}
    folder = shared.home / "state" / "osprofile" / "facility"
    assert {path.stem for path in folder.glob("*.db")} == names
    assert folder.stat().st_mode & 0o077 == 0
    assert not [*folder.parent.glob("*.db")]


def test_who_is_let_in(shared: Daemon) -> None:
    with httpx.Client(base_url=shared.url) as http:

        def ask(*headers: str) -> int:
            given = [("Authorization", header) for header in headers]
            return http.get("/account/whoami", headers=given).status_code

        for name in ("no token", "expired", "a foreign key", "not signed", "too long", "deep"):
            statuses = {401} if name != "deep" else {401, 431}
            assert ask(f"Bearer {REFUSED[name]()}".strip()) in statuses, name
        assert ask(f"Bearer {sign(claims('mallory'))}") == 403
        assert ask(f"Bearer {sign(claims())}", f"Bearer {sign(claims('bob'))}") == 401
        assert ask(f"Bearer {sign(claims())}") == 200
    for header in (f"{sign(claims())}\r\nX-Forwarded-User: bob", f"{sign(claims())}, {sign(claims('bob'))}"):
        text = f"GET {PREFIX}/account/whoami HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {header}\r\n\r\n"
        assert raw(shared, text.encode()) == (200 if "Forwarded" in header else 401)


def test_a_line_of_the_audit_for_each_request(shared: Daemon, alice: Daemon) -> None:
    """Whatever the answer is: with whom, from where, what and which job; never a token, or what is in a file."""
    file = shared.home / "audit"
    file.unlink(missing_ok=True)  # as logrotate does

    def ask(method: str, path: str, forwarded: str = "", **options: Any) -> dict[str, Any]:  # noqa: ANN401
        headers = {"X-Forwarded-For": forwarded} if forwarded else {}
        answer = alice.http.request(
            method, path, headers={**headers, **options.pop("headers", {})}, **options
        )
        *_, last = file.read_text().splitlines()
        line: dict[str, Any] = json.loads(last)
        assert line["status"] == answer.status_code
        return line

    user = get_user(alice).pw_name
    options = {"showHidden": False, "numericUid": False, "recursive": False, "dereference": False}
    launch = ask("POST", "/compute/job/here", json={"executable": "true"}, forwarded="10.0.0.1, 192.0.2.7")
    who = {"subject": "alice", "user_name": user}
    assert launch == {
        "time": launch["time"], "address": "192.0.2.7", "operation": "launchJob", "resource": "here", "job": launch["job"],
        "status": 200, **who,
    }  # fmt: skip
    assert dt.datetime.fromisoformat(launch["time"]).tzinfo is not None
    for line, facts in (
        (ask("GET", f"/compute/status/here/{launch['job']}"), {"operation": "getJob", "job": launch["job"], **who}),
        (ask("DELETE", "/compute/cancel/here/9"), {"operation": "cancelJob", "job": "9", "status": 404, **who}),
        (ask("POST", "/compute/job/here", json={"odd": 1}), {"operation": "launchJob", "status": 400, **who}),
        (ask("POST", "/filesystem/rm/here", json={"path": "/none"}), {"operation": "rm", "files": {"path": "/none"}}),
        (ask("POST", "/filesystem/upload/here?path=/none/a", files={"file": b"SECRET"}), {"files": {"path": "/none/a"}}),
        (ask("POST", "/filesystem/ls/here", json={"path": "/" + "é" * 9999}), {"files": {**options, "path": "/" + "é" * 4095}}),
        (ask("GET", "/task/x"), {"operation": "getTask", "task": "x", "status": 404}),
        (ask("GET", "/facility", forwarded="10.0.0.1, <script>"), {"operation": "getFacility", "address": "127.0.0.1"}),
        (ask("GET", "/task", headers={"Authorization": "Bearer x"}), {"operation": f"GET {PREFIX}/task", "status": 401}),
        (ask("GET", "/task", headers={"Authorization": f"Bearer {sign(claims('eve'))}"}), {"subject": "eve", "status": 403}),
        (ask("GET", "/task", headers={"Host": "evil.example"}), {"status": 403}),
        (ask("GET", "/%0a{}"), {"operation": f"GET {PREFIX}/\n{{}}", "status": 404}),
    ):  # fmt: skip
        assert facts.items() <= line.items()
    assert "subject" not in ask("GET", "/task", headers={"Authorization": "Bearer x"})
    text = file.read_text()
    assert alice.token not in text
    assert "SECRET" not in text
    assert file.stat().st_mode & 0o777 == 0o600


def test_too_many_requests_of_one_user(tmp_path: Path) -> None:
    """What is public is answered, and so is what other users ask."""
    tables = {"alice": "games", "bob": "games"}
    home = tmp_path / "daemon"
    home.mkdir()
    settings, _ = sign_for_table(home, tables)
    with run_daemon(home, f"port = 0\nrequests_per_minute = 5\n{settings}", sign(claims())) as daemon:
        answers = [daemon.http.get("/account/whoami") for _ in range(7)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 2
        assert 0 < int(answers[-1].headers["Retry-After"]) <= 12
        assert answers[-1].json()["title"] == "Too many requests"
        daemon.ask("GET", "/facility")


def test_one_user_does_not_hold_all_connections(alice: Daemon, bob: Daemon) -> None:
    """By requests whose rest does not come."""
    host, port = alice.base.removeprefix("http://").split(":")
    head = (
        f"POST {PREFIX}/compute/job/here HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {alice.token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n"
    )

    def ask(client: Daemon) -> httpx.Response:
        return client.http.get("/account/whoami", headers={"Connection": "close"})

    with ExitStack() as stack:
        for _ in range(110):
            connection = stack.enter_context(socket.create_connection((host, int(port))))
            connection.sendall(head.encode())
        refused = wait_until(lambda: (answer := ask(alice)).status_code == 429 and answer)
        assert refused.headers["Retry-After"] == "2"
        assert refused.json()["detail"] == "a user may have 100 requests under way"
        assert ask(bob).status_code == 200
    wait_until(lambda: ask(alice).status_code == 200)


def test_more_users_than_open_files(tmp_path: Path) -> None:
    """A soft limit, as the usual one of 1,024, is not one of users."""
    home = tmp_path / "daemon"
    home.mkdir()
    for number in range(100):
        (home / f"user-of-far-{number}.db").touch()
    (home / "keys.json").write_text(json.dumps({"keys": PUBLIC}))
    config = (
        f'port = 0\nissuer = "{ISSUER}"\naudience = "{AUDIENCE}"\njwks = "{home}/keys.json"\nusers_claim = "name"\n'
        f'store = "{home}/{{user}}.db"\n[resources.far]\nprofile = "slurm"\nhost = "{{user}}@login"\n'
    )
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        with run_daemon(home, config, sign(claims(name="carol-of-far"))) as daemon:
            assert daemon.ask("GET", "/account/whoami") == {"username": "carol-of-far"}
        assert "not followed" not in daemon.log.read_text()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_other_headers_name_nobody(alice: Daemon) -> None:
    name = get_user(alice).pw_name
    for header in ("X-Forwarded-User", "X-Remote-User", "Remote-User", "X-Subject"):
        assert alice.ask("GET", "/account/whoami", headers={header: "bob"})["username"] == name


def test_tools_for_agents_are_those_of_the_tokens_user(alice: Daemon, bob: Daemon) -> None:
    async def test(url: str) -> None:
        seen: list[str] = []
        for user in (alice, bob):
            headers = {"Authorization": f"Bearer {user.token}"}
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                job_id = (await tools.call(client, "submit", executable="id", arguments=["-un"]))["id"]
                await tools.wait(client, job_id)
                output = (await tools.call(client, "output", job_id=job_id))["text"]
                assert output == f"{get_user(user).pw_name}\n"
                jobs = (await tools.call(client, "list", historical=True))["jobs"]
                assert not {job["id"] for job in jobs} & {*seen}
                seen.append(job_id)
                lines = [json.loads(line) for line in (alice.home / "audit").read_text().splitlines()]
                by_tool = {line["operation"]: line for line in lines if line.get("job") == job_id}
                assert by_tool["tool submit"]["user_name"] == get_user(user).pw_name
                assert by_tool.keys() >= {"tool status", "tool output"}
                refused = await client.call_tool("status", {"job_id": "9999"})
                assert refused.is_error
                *_, last = (alice.home / "audit").read_text().splitlines()
                facts = {"operation": "tool status", "job": "9999", "status": 404}
                assert facts.items() <= json.loads(last).items()
        async with httpx2.AsyncClient() as http:
            for path in (url, f"{url}/"):
                assert (await http.post(path, json={})).status_code == 401

    asyncio.run(test(f"{alice.base}/mcp"))


def test_hostile_values_stay_values(alice: Daemon, shared: Daemon) -> None:
    canary = Path(get_user(alice).pw_dir) / "canary"
    values = [value.format(canary=canary) for value in HOSTILE]
    code = 'for value in "$@"; do printf "%s\\0" "$value"; done; printf "%s" "$V"'
    for variable in values[:2]:
        output, _ = run_job(alice, "sh", "-c", code, "sh", *values, environment={"V": variable}, name="n")
        assert output.split("\0") == [*values, variable]
    assert not canary.exists()
    log = shared.log.read_text()
    assert "Traceback" not in log
    assert alice.token not in log
