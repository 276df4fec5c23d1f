"""The facility's daemon as its clients see it: the published ones, unmodified, and hostile ones."""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
import uuid
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import amsc_iri_v2
import amsc_iri_v2.api as amsc_api
import httpx
import iri_client
import pytest

from osprofile.executors.facility import app as facility_app
from osprofile.executors.facility.app import build_app
from osprofile.executors.facility.facility import Facility
from osprofile.executors.facility.filesystem import OPERATIONS
from osprofile.executors.facility.settings import Settings
from tests.executors.facility.conftest import ROOTED
from tests.hunting import HUNT
from tests.jobs.conftest import toy
from tests.waiting import PATIENCE, wait_for_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.jobs.conftest import Toy

__all__ = ["toy"]
DAEMON = ("-m", "osprofile.executors.facility.main")
PREFIX = "/api/v2"
CONFIG = """\
name = "Ours"
port = 0
max_age = 0.1
profiles = ["{profiles}"]
[resources.here]
profile = "here"
description = "this machine"
"""
SPEC = {
    "executable": "/bin/sh",
    "arguments": ["-c", 'echo "$A"; exit 3'],
    "environment": {"A": "it's $(id)"},
    "name": "n",
}
PROFILE = os.environ.get("FACILITY_PROFILE", "linux")
"""What the resource extends: see suites/facility.sh."""
ENDED = {"completed", "failed", "canceled"}


def find_interpreter(user: str | None) -> str:
    """Return a Python that a user of this machine may run: this one may lie in the home of root."""
    for path in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        with suppress(OSError):
            if user is None or not subprocess.run([path, "-c", ""], user=user, check=False).returncode:
                return path
    pytest.skip(f"{user} can run no Python of this version")


class Daemon:
    """A daemon in a home of its own."""

    def __init__(self, home: Path, config: str, token: str = "", user: str | None = None) -> None:
        self.home = home
        (home / "facility.toml").write_text(config)
        self.log = home / "log"
        environment = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
        if user is not None:
            environment["PYTHONPATH"] = ":".join(filter(None, sys.path))
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [find_interpreter(user), *DAEMON, "--config", "facility.toml"],
                cwd=home,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
            )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        self.base = self.url.removesuffix(PREFIX)
        self.token = token or (home / "state" / "osprofile" / "facility-token").read_text().strip()
        self.http = httpx.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {self.token}"}, timeout=PATIENCE
        )

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End the daemon, and return its exit code."""
        self.http.close()
        self.process.send_signal(number)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return self.process.wait()

    def launch(self, resource: str = "here", **spec: Any) -> dict[str, Any]:  # noqa: ANN401
        """Launch a job, and return it."""
        return self.ask("POST", f"/compute/job/{resource}", json={"executable": "true", **spec})

    def ask(self, method: str, path: str, status: int = 200, **options: Any) -> Any:  # noqa: ANN401
        """Return the JSON of an answer, which has this status."""
        answer = self.http.request(method, path, **options)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def wait(self, job_id: str, resource: str = "here") -> dict[str, Any]:
        """Return a job when it has ended."""
        while (job := self.ask("GET", f"/compute/status/{resource}/{job_id}"))["status"][
            "state"
        ] not in ENDED:
            time.sleep(0.02)
        return job

    def run_task(self, command: str, args: dict[str, Any]) -> Any:  # noqa: ANN401
        """Run an operation of the filesystem, and return its task when it has ended."""
        task_id = self.ask("POST", f"/filesystem/{command}/here", json=args)["task_id"]
        while (task := self.ask("GET", f"/task/{task_id}"))["status"] in {"pending", "active"}:
            time.sleep(0.01)
        return task


@contextmanager
def run_daemon(home: Path, config: str, token: str = "", user: str | None = None) -> Iterator[Daemon]:
    """Run a daemon, as a user of this machine, which ends well, and never logs its token or a traceback."""
    daemon = Daemon(home, config, token, user)
    try:
        yield daemon
    finally:
        code = daemon.stop() if daemon.process.poll() is None else daemon.process.returncode
    log = daemon.log.read_text()
    assert code in {0, -signal.SIGKILL}, log
    assert daemon.token not in log
    assert "Traceback" not in log


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("facility")
    profile = home / "profiles" / "here" / "profile.xml"
    profile.parent.mkdir(parents=True)
    profile.write_text(ROOTED.format(root=home / "work").replace('"linux"', f'"{PROFILE}"'))
    with run_daemon(home, CONFIG.format(profiles=home / "profiles")) as running:
        yield running


def test_nothing_is_launched_that_a_person_must_confirm(tmp_path: Path) -> None:
    """This API cannot ask one; the tools for agents can."""
    field = '<idb:Field name="SITE_CONFIRM" isSettable="false"><idb:Value>{}</idb:Value></idb:Field>'
    template = f'<idb:Template xmlns:idb="http://gpe.intel.com/idb">{field}</idb:Template></osp:Profile>'
    profile = tmp_path / "profiles" / "here" / "profile.xml"
    profile.parent.mkdir(parents=True)
    text = ROOTED.format(root=tmp_path / "work")
    profile.write_text(text.replace("</osp:Profile>", template.format("yes")))
    with run_daemon(tmp_path, CONFIG.format(profiles=tmp_path / "profiles")) as daemon:
        for method, path in (("POST", "/compute/job/here"), ("DELETE", "/compute/cancel/here/1-2-34567890")):
            body = {"json": {"executable": "true"}} if method == "POST" else {}
            refused = daemon.ask(method, path, status=403, **body)
            assert "a person must confirm jobs of this resource" in refused["detail"]
            assert "osprofile-mcp" in refused["detail"]
        assert daemon.ask("POST", "/compute/status/here", json={}, params={"historical": True}) == []


# The published clients


class Amsc:
    """The client `amsc-iri-v2`, generated from the OpenAPI document of the reference server."""

    def __init__(self, daemon: Daemon) -> None:
        client = amsc_iri_v2.ApiClient(amsc_iri_v2.Configuration(host=daemon.base, access_token=daemon.token))
        self.facility, self.status = amsc_api.FacilityApi(client), amsc_api.StatusApi(client)
        self.account, self.compute = amsc_api.AccountApi(client), amsc_api.ComputeApi(client)
        self.files, self.tasks = amsc_api.FilesystemApi(client), amsc_api.TaskApi(client)
        self.storage = amsc_api.StorageApi(client)

    def result(self, submitted: Any) -> Any:  # noqa: ANN401
        """Return what a task has given, when it has ended."""
        while (task := self.tasks.get_task(submitted.task_id)).status in {"pending", "active"}:
            time.sleep(0.01)
        assert task.status == "completed", task.result
        return task.result["output"]


@pytest.fixture
def amsc(daemon: Daemon) -> Amsc:
    return Amsc(daemon)


def test_amsc_discovers(amsc: Amsc, daemon: Daemon) -> None:
    assert amsc.facility.get_facility().name == "Ours"
    (site,) = amsc.facility.get_sites()
    assert amsc.facility.get_site(site.id).resource_uris == [f"{daemon.url}/status/resources/here"]
    (resource,) = amsc.status.get_resources()
    assert (resource.id, resource.current_status, resource.description) == ("here", "up", "this machine")
    assert amsc.status.get_resource("here").self_uri == f"{daemon.url}/status/resources/here"
    assert amsc.status.get_resources(current_status="down") == []
    assert amsc.status.get_resources(resource_type="urn:doe-iri:resource:compute") != []
    assert amsc.status.get_resources(capability=["urn:doe-iri:allocation:compute:node-hours"]) != []
    assert amsc.status.get_resources(capability=["urn:doe-iri:allocation:storage:bytes"]) == []
    assert amsc.status.get_incidents() == amsc.status.get_events_by_incident() == []
    assert [r.id for r in amsc.compute.get_compute_resources() + amsc.files.get_filesystem_resources()] == [
        "here"
    ] * 2
    (capability,) = amsc.account.get_capabilities()
    limits = amsc.account.get_capability(capability.id).attributes["job_spec"]
    assert limits["resources.node_count"]["limits"] == "1 to 1"
    assert amsc.account.get_projects() == []
    assert amsc.account.whoami().username


def test_amsc_launches_follows_lists_and_cancels(amsc: Amsc) -> None:
    spec = amsc_iri_v2.JobSpec(
        **SPEC,
        resources=amsc_iri_v2.ResourceSpec(node_count=1),
        attributes=amsc_iri_v2.JobAttributes(duration=60),
    )
    key = str(uuid.uuid4())
    job = amsc.compute.launch_job("here", spec, idempotency_key=key)
    assert amsc.compute.launch_job("here", spec, idempotency_key=key).id == job.id
    while (found := amsc.compute.get_job("here", job.id, include_spec=True)).status.state not in ENDED:
        time.sleep(0.02)
    assert (found.status.state, found.status.exit_code) == ("failed", 3)
    assert found.job_spec.environment == SPEC["environment"]
    output = amsc.result(
        amsc.files.view("here", amsc_iri_v2.PostViewRequest(path=found.status.meta_data["stdout"]))
    )
    assert output["content"] == "it's $(id)\n"
    waits = amsc.compute.launch_job("here", amsc_iri_v2.JobSpec(executable="sleep", arguments=["60"]))
    assert waits.id in {j.id for j in amsc.compute.get_jobs("here")}
    assert job.id in {
        j.id for j in amsc.compute.get_jobs("here", historical=True, request_body={"state": "failed"})
    }
    amsc.compute.cancel_job("here", waits.id)
    while amsc.compute.get_job("here", waits.id).status.state != "canceled":
        time.sleep(0.02)


def test_amsc_handles_files(amsc: Amsc, daemon: Daemon) -> None:
    path, data = str(daemon.home / "up" / "file"), bytes(range(256))
    amsc.result(amsc.files.upload("here", path=path, file=data))
    assert (
        base64.b64decode(amsc.result(amsc.files.download("here", amsc_iri_v2.PostDownloadRequest(path=path))))
        == data
    )
    listed = amsc.result(amsc.files.ls("here", amsc_iri_v2.PostLsRequest(path=os.path.dirname(path))))
    assert [(entry["name"], entry["size"]) for entry in listed] == [("file", "256")]
    assert amsc.result(amsc.files.stat("here", amsc_iri_v2.PostStatRequest(path=path)))["size"] == 256
    folder, there = os.path.dirname(path), str(daemon.home / "there")
    amsc.result(amsc.files.chmod("here", amsc_iri_v2.PutFileChmodRequest(path=path, mode="640")))
    made = amsc_iri_v2.PostMakeDirRequest(path=f"{there}/a", parent=True)
    assert amsc.result(amsc.files.mkdir("here", made))["type"] == "directory"
    packed = amsc_iri_v2.PostCompressRequest(path=folder, target_path=f"{there}/up.tar.gz")
    amsc.result(amsc.files.compress("here", packed))
    unpacked = amsc_iri_v2.PostExtractRequest(path=f"{there}/up.tar.gz", target_path=f"{there}/b")
    amsc.result(amsc.files.extract("here", unpacked))
    assert Path(there, "b", "up", "file").read_bytes() == data
    amsc.result(amsc.files.rm("here", amsc_iri_v2.PostRmRequest(path=path)))
    assert not Path(path).exists()
    task = amsc.tasks.get_tasks()[-1]
    assert amsc.tasks.delete_task(task.id) == f"Task {task.id} deleted successfully"


def test_amsc_is_told_what_is_wrong(amsc: Amsc) -> None:
    spec = amsc_iri_v2.JobSpec(executable="a", resources=amsc_iri_v2.ResourceSpec(node_count=2))
    with pytest.raises(amsc_iri_v2.exceptions.BadRequestException) as error:
        amsc.compute.launch_job("here", spec)
    problem = json.loads(error.value.body)
    assert [param["name"] for param in problem["invalid_params"]] == ["resources.node_count"]
    assert amsc_iri_v2.Problem.from_dict(problem).status == 400
    with pytest.raises(amsc_iri_v2.exceptions.ServiceException) as unavailable:
        amsc.storage.get_storage_locations("here")
    assert unavailable.value.status == 501
    with pytest.raises(amsc_iri_v2.exceptions.NotFoundException):
        amsc.compute.get_job("there", "1")


def test_iri_client(daemon: Daemon) -> None:
    """Its catalog is that of version 1 of the API; by paths it reaches version 2. It sends the token alone."""
    client = iri_client.Client(base_url=daemon.base, access_token=daemon.token)

    def ask(method: str, path: str, body: object = None) -> Any:  # noqa: ANN401
        answer = client.request(
            method, f"{PREFIX}{path}", body_json=None if body is None else json.dumps(body)
        )
        return json.loads(answer) if answer else None

    assert json.loads(client.get(f"{PREFIX}/facility"))["name"] == "Ours"
    job_id = ask("POST", "/compute/job/here", SPEC)["id"]
    while (job := ask("GET", f"/compute/status/here/{job_id}"))["status"]["state"] not in ENDED:
        time.sleep(0.02)
    assert job["status"]["exit_code"] == 3
    assert job_id in {
        found["id"]
        for found in json.loads(
            client.request("POST", f"{PREFIX}/compute/status/here", '{"historical": "true"}', "{}")
        )
    }
    waits = ask("POST", "/compute/job/here", {"executable": "sleep", "arguments": ["60"]})["id"]
    ask("DELETE", f"/compute/cancel/here/{waits}")
    assert daemon.wait(waits)["status"]["state"] == "canceled"
    task_id = ask("POST", "/filesystem/ls/here", {"path": str(daemon.home)})["task_id"]
    while (task := ask("GET", f"/task/{task_id}"))["status"] != "completed":
        time.sleep(0.02)
    assert "profiles" in {entry["name"] for entry in task["result"]["output"]}
    with pytest.raises(
        iri_client.IriClientError if hasattr(iri_client, "IriClientError") else Exception, match="404"
    ):
        client.call_operation("getFacility")


# The OpenAPI document

DIFFERENCES: dict[str, str] = {}
"""What differs from the operations of `amsc-iri-v2`, by operation, and why."""
SCHEMAS = (
    "Capability",
    "Event",
    "Facility",
    "Incident",
    "Job",
    "JobStatus",
    "Project",
    "ProjectAllocation",
    "Resource",
    "Site",
    "UserAllocation",
)
"""The objects in answers, but those of the storage, which is not there."""


def list_client_operations() -> dict[str, tuple[str, str, frozenset[str]]]:
    """Return the method, the path and the query parameters of each operation of `amsc-iri-v2`, by its operationId."""
    found = {}
    for name in ("Account", "Compute", "Facility", "Filesystem", "Status", "Storage", "Task"):
        for function, text in inspect.getmembers(getattr(amsc_api, f"{name}Api"), inspect.isfunction):
            if not (match := re.fullmatch(r"_(\w+)_serialize", function)):
                continue
            source = inspect.getsource(text)
            words = match[1].split("_")
            method, path = (
                re.search(rf"{word}='([^']*)'", source)[1] for word in ("method", "resource_path")
            )  # type: ignore[index]
            query = frozenset(re.findall(r"_query_params.append\(\s*\(\s*'([^']*)'", source))
            found[words[0] + "".join(map(str.capitalize, words[1:]))] = (method, path, query)
    return found


def test_the_document_has_the_operations_of_the_client(daemon: Daemon) -> None:
    document = daemon.ask("GET", "/openapi.json")
    ours = {
        operation["operationId"]: (
            method.upper(),
            path,
            frozenset(p["name"] for p in operation.get("parameters", ()) if p["in"] == "query"),
        )
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    theirs = list_client_operations()
    assert len(theirs) == 48
    assert {
        name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)
    } == DIFFERENCES.keys()


def test_the_document_has_the_members_of_the_client(daemon: Daemon) -> None:
    document = daemon.ask("GET", "/openapi.json")
    for name in SCHEMAS:
        theirs = {field.alias or key for key, field in getattr(amsc_iri_v2, name).model_fields.items()}
        ours = document["components"]["schemas"][name]["properties"].keys()
        assert theirs - ours == {"additional_properties"}, name


def test_what_has_not_changed_since_then(daemon: Daemon) -> None:
    for path in ("/facility", "/facility/sites/site", "/account/capabilities/here"):
        changed = daemon.ask("GET", path)["last_modified"]
        assert daemon.ask("GET", path, params={"modified_since": changed})["last_modified"] == changed
        answer = daemon.http.get(path, params={"modified_since": "2999-01-01T00:00:00Z"})
        assert (answer.status_code, answer.content) == (304, b"")


def test_a_resource_that_is_not_there_is_told_first(daemon: Daemon) -> None:
    for method, path in (
        ("POST", "compute/job/odd"),
        ("PUT", "compute/job/odd/1"),
        ("POST", "filesystem/ls/odd"),
    ):
        assert "no such resource" in daemon.ask(method, f"/{path}", 404, json={"odd": 1})["detail"]


def test_the_limits_of_integers_are_in_the_document(daemon: Daemon) -> None:
    schemas = daemon.ask("GET", "/openapi.json")["components"]["schemas"]
    for model, member, path in (
        ("ViewRequest", "size", "view"),
        ("HeadRequest", "bytes", "head"),
        ("TailRequest", "bytes", "tail"),
    ):
        limit = schemas[model]["properties"][member]["anyOf"][0]["maximum"]
        for count, status in ((int(limit), 200), (limit, 200), (limit + 1, 400), (1.5, 400), (True, 400)):
            body = {"path": "/etc/passwd", member: count}
            daemon.ask("POST", f"/filesystem/{path}/here", status, json=body)


@pytest.mark.parametrize("command", ["cp", "compress", "extract", "mv"])
def test_the_first_file_has_either_name(daemon: Daemon, command: str) -> None:
    """The specification's examples have `source_path`, its clients `path`."""
    paths = {"source_path": f"{daemon.home}/none", "target_path": f"{daemon.home}/new"}
    daemon.ask("POST", f"/filesystem/{command}/here", 201, json=paths)
    problem = daemon.ask("POST", f"/filesystem/{command}/here", 400, json={**paths, "path": "/x"})
    assert [param["name"] for param in problem["invalid_params"]] == ["source_path"]


def test_what_needs_a_token_in_the_document_needs_one(daemon: Daemon) -> None:
    document = daemon.ask("GET", "/openapi.json")
    with httpx.Client(base_url=daemon.base) as http:
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                answer = http.request(method, re.sub(r"\{\w+\}", "here", path), json={})
                assert (answer.status_code == 401) == ("security" in operation), (method, path)


# Who is let in


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer x",
        "Basic {token}",
        "Bearer {token}x",
        "Bearer {swapped}",
        "Bearer eyJhbGciOiJub25lIn0.e30.",
    ],
)
def test_other_tokens(daemon: Daemon, header: str | None) -> None:
    values = {"token": daemon.token, "swapped": daemon.token.swapcase()}
    headers = {} if header is None else {"Authorization": header.format(**values)}
    with httpx.Client(base_url=daemon.url, headers=headers) as http:
        for method, path in (
            ("GET", "/account/whoami"),
            ("POST", "/compute/job/here"),
            ("GET", "/task"),
            ("GET", "/nosuch"),
        ):
            answer = http.request(method, path, content=b"not read" if method == "POST" else None)
            assert answer.status_code == 401
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_token_that_was_replaced_is_valid_no_more(daemon: Daemon) -> None:
    file = daemon.home / "state" / "osprofile" / "facility-token"
    new = file.with_name("new")
    new.write_text("y" * 43)
    new.chmod(0o600)
    old = file.with_name("old")
    file.rename(old)
    new.rename(file)
    try:
        daemon.ask("GET", "/account/whoami", 401)
        daemon.ask("GET", "/account/whoami", headers={"Authorization": "Bearer " + "y" * 43})
    finally:
        old.rename(file)
    daemon.ask("GET", "/account/whoami")


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "localhost\x00", "user@127.0.0.1"]
)
def test_other_names_of_the_server(daemon: Daemon, host: str) -> None:
    assert raw(daemon, f"GET {PREFIX}/facility HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()) in {400, 403}


# What is sent


def raw(daemon: Daemon, data: bytes, more: bytes = b"") -> int:
    """Send bytes, `more` until the server closes or answers, and return the status of the answer."""
    port = int(daemon.base.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(data)
        connection.settimeout(0 if more else PATIENCE)
        answer = b""
        while not answer:
            with suppress(BlockingIOError, ConnectionError):
                answer = connection.recv(65536)
                if not answer:
                    break
            if more and not answer:
                with suppress(BlockingIOError, ConnectionError):
                    connection.send(more)
        return int(answer.split()[1]) if answer else 0


def head(daemon: Daemon, path: str, *lines: str) -> bytes:
    names = (
        "POST " + PREFIX + path + " HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {daemon.token}",
        *lines,
    )
    return "\r\n".join((*names, "", "")).encode()


def test_bodies_without_end(daemon: Daemon) -> None:
    kinds = ("Content-Type: application/json", "Transfer-Encoding: chunked")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    assert raw(daemon, head(daemon, "/compute/job/here", *kinds), chunk) == 413
    form = "Content-Type: multipart/form-data; boundary=x"
    begin = (
        b'50\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
        + b"x" * 10
        + b"\r\n"
    )
    assert raw(daemon, head(daemon, "/filesystem/upload/here?path=/x", form, kinds[1]) + begin, chunk) in {
        400,
        413,
    }
    assert raw(daemon, head(daemon, "/compute/job/here", kinds[0], f"Content-Length: {1 << 40}")) == 413
    large = b"x" * ((5 << 20) + 1)
    assert (
        daemon.ask("POST", "/filesystem/upload/here?path=/x", 413, files={"file": large})["title"]
        == "Too large"
    )
    # what follows an early answer is no chunk
    assert raw(daemon, head(daemon, "/nosuch", *kinds).replace(b"Bearer ", b"Bearer x"), b"x" * 4096) in {
        0,
        400,
        401,
    }
    daemon.ask("GET", "/account/whoami")


def test_ten_thousand_connections(daemon: Daemon) -> None:
    """The daemon has always fewer open files than the 1,024 of a usual limit, and answers when they are gone."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000), hard))
    port = int(daemon.base.rpartition(":")[2])
    try:
        with ExitStack() as stack:
            for _ in range(10_000):
                connection = stack.enter_context(socket.socket())
                connection.setblocking(False)
                connection.connect_ex(("127.0.0.1", port))
            time.sleep(1)
            # MAX_CONNECTIONS, three times BACKLOG that wait to be closed, and some files
            assert len(os.listdir(f"/proc/{daemon.process.pid}/fd")) < 900
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    daemon.ask("GET", "/account/whoami")


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b"", "body"),
        (b"{", "1"),
        (b"[]", "body"),
        (b"null", "body"),
        (b"[" * 100_000, None),
        (b'{"executable": "a", "odd": 1}', "odd"),
        (b'{"executable": "a", "resources": {"odd": 1}}', "resources.odd"),
        (b'{"executable": 1}', "executable"),
        (b'{"executable": ""}', "executable"),
        (b'{"executable": "a", "resources": {"node_count": "1"}}', "resources.node_count"),
        (b'{"executable": "a", "resources": {"node_count": true}}', "resources.node_count"),
        (b'{"executable": "a", "resources": {"node_count": 0}}', "resources.node_count"),
        (b'{"executable": "a", "resources": {"memory": 1e400}}', "resources.memory"),
        (b'{"executable": "a", "resources": {"memory": ' + b"9" * 4000 + b"}}", "resources.memory"),
        (b'{"executable": "a", "attributes": {"duration": ' + b"9" * 5000 + b"}}", None),
        (b'{"executable": "a\\ud800"}', "executable"),
        (b'{"executable": "a\\u0000"}', "executable"),
        (b'{"executable": "a", "arguments": "x"}', "arguments"),
        (b'{"executable": "a", "environment": {"A B": "x"}}', "environment"),
        (b'{"executable": "a\xff"}', None),
        (
            b'{"executable": "a", "attributes": {"custom_attributes": {"a": 1}}}',
            "attributes.custom_attributes.a",
        ),
    ],
)
def test_bodies_that_are_refused(daemon: Daemon, body: bytes, name: str | None) -> None:
    headers = {"Content-Type": "application/json"}
    problem = daemon.ask("POST", "/compute/job/here", 400, content=body, headers=headers)
    assert problem["title"] == "Invalid parameter"
    if name is not None:
        assert name in {param["name"] for param in problem["invalid_params"]}


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("GET", "/facility?odd=1", "odd"),
        ("GET", "/facility/sites?offset=-1", "offset"),
        ("GET", "/facility/sites?limit=1001", "limit"),
        ("GET", "/facility/sites?limit=1&limit=2", "limit"),
        ("GET", "/facility?modified_since=0.5", "modified_since"),
        ("GET", "/status/resources?current_status=odd", "current_status"),
        ("GET", "/status/resources?resource_type=compute", "resource_type"),
        ("GET", "/status/resources?capability=urn:doe-iri:resource:compute", "capability.0"),
        ("GET", "/account/capabilities?offset=1001", "offset"),
        ("GET", "/storage/locations/here?logicalpath=odd", "logicalpath"),
        ("POST", "/compute/status/here?limit=x", "limit"),
        ("GET", "/compute/status/here/1?historical=maybe", "historical"),
    ],
)
def test_parameters_that_are_refused(daemon: Daemon, method: str, path: str, name: str) -> None:
    assert [p["name"] for p in daemon.ask(method, path, 400)["invalid_params"]] == [name]


def test_headers_that_are_refused(daemon: Daemon) -> None:
    for key in ("x", "", "1" * 5000, "00000000-0000-0000-0000-00000000000g"):
        problem = daemon.ask("POST", "/compute/job/here", 400, json=SPEC, headers={"Idempotency-Key": key})
        assert [param["name"] for param in problem["invalid_params"]] == ["Idempotency-Key"]
    forwarded = {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "javascript"}
    assert daemon.ask("GET", "/facility", headers=forwarded)["self_uri"] == f"{daemon.url}/facility"
    assert raw(daemon, head(daemon, "/task\r\nX: y")) == 400


@pytest.mark.parametrize(
    "job_id", ["..", "%2e%2e", "1%00", "%ff", "a%0d%0ab", "'; id", "<script>", "x" * 4000]
)
def test_ids_that_are_none(daemon: Daemon, job_id: str) -> None:
    answer = daemon.http.get(f"/compute/status/here/{job_id}")
    assert answer.status_code == 404
    assert "<script>" not in answer.headers.get("Content-Type", "")
    assert daemon.http.get(f"/compute/status/{job_id}/1").status_code == 404


def test_methods_that_are_none(daemon: Daemon) -> None:
    answer = daemon.http.patch("/task/1")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "DELETE, GET")
    assert answer.json()["title"] == "Method not allowed"


def test_paths_that_are_refused(daemon: Daemon) -> None:
    for path in ("x", "/a/../b", "~/x", "/a\n", "/\ud800"):
        body = json.dumps({"path": path})
        headers = {"Content-Type": "application/json"}
        problem = daemon.ask("POST", "/filesystem/ls/here", 400, content=body, headers=headers)
        assert [param["name"] for param in problem["invalid_params"]] == ["path"]
    task = daemon.run_task("rm", {"path": "/"})
    assert (task["status"], "Error: " in task["result"]["output"]) == ("failed", True)
    quoted = daemon.run_task("view", {"path": "/$(touch canary)'`touch canary`"})
    assert quoted["status"] == "failed"
    assert not list(daemon.home.rglob("canary"))


# Ends


@pytest.fixture
def config(toy: Toy) -> str:
    profiles = toy.path.parent / "profiles"
    return f'port = 0\nmax_age = 0.1\nprofiles = ["{profiles}"]\n[resources.toy]\nprofile = "toy"\n'


@pytest.mark.race
def test_a_daemon_that_is_killed_while_it_submits(toy: Toy, config: str) -> None:
    """The client repeats its request with the same key: the job was submitted once."""
    home = toy.path.parent / "daemon"
    home.mkdir()
    key, spec = str(uuid.uuid4()), {"executable": "/bin/sh", "arguments": ["-c", "sleep 60"]}
    submit = toy.path / "bin" / "toysub"
    text = submit.read_text()
    submit.write_text(
        text.replace('echo "queued as $n"', 'touch "$TOY/done"; until [ -e "$TOY/go" ]; do sleep 0.02; done')
    )
    with run_daemon(home, config) as first:
        body = json.dumps(spec).encode()
        lines = ("Content-Type: application/json", f"Content-Length: {len(body)}", f"Idempotency-Key: {key}")
        with socket.create_connection(("127.0.0.1", int(first.base.rpartition(":")[2]))) as connection:
            connection.sendall(head(first, "/compute/job/toy", *lines) + body)
            wait_for_file(toy.path / "done")
        first.stop(signal.SIGKILL)
    submit.write_text(text)
    (toy.path / "go").touch()
    with run_daemon(home, config) as second:
        headers = {"Idempotency-Key": key}
        while (answer := second.http.post("/compute/job/toy", json=spec, headers=headers)).status_code in {
            409,
            503,
        }:
            time.sleep(0.1)
        assert answer.json()["id"] == "1"
        assert [job["id"] for job in second.ask("POST", "/compute/status/toy")] == ["1"]
        assert second.ask("POST", "/compute/job/toy", 422, json={**spec, "name": "n"}, headers=headers)
    assert len(toy.submissions) == 1


def test_a_batch_system_that_is_away(toy: Toy, config: str) -> None:
    home = toy.path.parent / "daemon"
    home.mkdir()
    (toy.path / "stopped").touch()
    with run_daemon(home, config) as running:
        job_id = running.launch("toy")["id"]
        assert running.ask("GET", "/status/resources/toy")["current_status"] == "up"
        (toy.path / "broken").write_text("no server\n")
        (toy.path / "bin" / "toyctl").write_text("#!/bin/sh\necho 'no server' >&2; exit 2\n")
        time.sleep(0.15)  # max_age
        (job,) = running.ask("POST", "/compute/status/toy")
        assert (job["id"], job["status"]["state"]) == (job_id, "queued")
        assert "does not answer" in job["status"]["message"]
        answer = running.http.delete(f"/compute/cancel/toy/{job_id}")
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")
        assert running.ask("GET", "/status/resources/toy")["current_status"] == "down"


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ('[resources.a]\nprofile = "nosuch"\n', "nosuch"),
        ('token_file = "/proc/x"\n', "token"),
        ('store = "facility.toml"\n', "file is not a database"),
    ],
)
def test_settings_that_are_refused(tmp_path: Path, config: str, words: str) -> None:
    (tmp_path / "facility.toml").write_text(config)
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    command = [sys.executable, *DAEMON, "--config", "facility.toml", "--port", "0"]
    ended = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode != 0
    assert ended.stdout == ""
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_fault_before_the_application(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is answered, and has a line of the audit, as any other; no path forges a line of the log."""

    async def find_client(_authorization: str) -> None:
        raise RuntimeError("odd")

    async def test() -> httpx.Response:
        settings = Settings(store=str(tmp_path / "jobs.db"), audit=str(tmp_path / "audit"))
        facility = Facility(settings, "me", f"http://h{PREFIX}")
        app = build_app(facility, find_client, ["h"])
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://h") as client:
            return await client.get(f"{PREFIX}/task/%0aERROR", headers={"Authorization": "Bearer x"})

    answer = asyncio.run(test())
    assert (answer.status_code, answer.json()["title"]) == (500, "Internal error")
    assert "odd" not in answer.text
    assert json.loads((tmp_path / "audit").read_text())["status"] == 500
    assert [record.getMessage() for record in caplog.records] == [
        f"GET {PREFIX}/task/?ERROR: a fault of osprofile"
    ]


def test_the_limits_are_those_of_the_manual() -> None:
    assert (facility_app.MAX_BODY_SIZE, facility_app.MAX_UPLOAD_SIZE) == (1 << 20, (5 << 20) + (64 << 10))


@pytest.mark.skipif(not HUNT, reason="a long search: HUNT=1")
def test_the_document_holds(daemon: Daemon) -> None:
    """Schemathesis finds no answer that the OpenAPI document does not have, and no fault.

    Not of what writes: it may be root who runs this.
    """
    reads = {"ls", "stat", "file", "view", "head", "tail", "download", "checksum"}
    left_out = "|".join((*({*OPERATIONS} - reads), "upload", "storage", "job"))
    command = [
        str(Path(sys.executable).with_name("schemathesis")), "run", f"{daemon.url}/openapi.json", "--phases", "fuzzing",
        "--max-examples", "3", "--exclude-path-regex", f"/({left_out})/", "-H", f"Authorization: Bearer {daemon.token}",
        "--checks", ("not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
                     "negative_data_rejection,positive_data_acceptance"),
    ]  # fmt: skip
    ended = subprocess.run(command, cwd=daemon.home, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.skipif(not HUNT, reason="a long search: HUNT=1")
def test_any_text_in_any_member(daemon: Daemon) -> None:
    """Whatever is sent is answered by the API, and never by a fault."""
    from hypothesis import given
    from hypothesis import strategies as st

    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    values = st.recursive(
        scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
    )
    members = st.sampled_from([*amsc_iri_v2.JobSpec.model_fields, "odd"])

    @given(st.dictionaries(members, values))
    def check(spec: dict[str, Any]) -> None:
        spec = {
            **spec,
            "executable": spec.get("executable") if not isinstance(spec.get("executable"), str) else "true",
        }
        headers = {"Content-Type": "application/json"}
        answer = daemon.http.post("/compute/job/here", content=json.dumps(spec), headers=headers)
        assert answer.status_code in {200, 400, 422}, answer.text

    check()
