"""Tools for agents, by the client of the SDK: a refusal with its limit, its correction, the output, and a person's word."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import uuid
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from osprofile.executors.facility.compute import Resource
from osprofile.executors.facility.facility import Facility
from osprofile.executors.facility.mcp_server import build_server
from osprofile.executors.facility.settings import Settings, read_settings
from tests.executors.facility.conftest import ROOTED
from tests.plugins.test_facility import ENDED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.client.session import ElicitationFnT

PROFILES = Path(__file__).parents[2] / "profiles"
MODES = ("legacy", "auto")
CONFIRM = """  <idb:Template xmlns:idb="http://gpe.intel.com/idb">
    <idb:Field name="SITE_CONFIRM" isSettable="false"><idb:Value>yes</idb:Value></idb:Field>
  </idb:Template>
</osp:Profile>"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home with the profile `here`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    profile = tmp_path / "profiles" / "here" / "profile.xml"
    profile.parent.mkdir(parents=True)
    profile.write_text(ROOTED.format(root=tmp_path / "work"))
    return tmp_path


@asynccontextmanager
async def start(
    home: Path, mode: str = "auto", answer: ElicitationFnT | None = None
) -> AsyncIterator[Client]:
    """Yield a client of the tools, which are in this process."""
    settings = read_settings(write_settings(home), Settings())
    facility = Facility(settings, "me", "")
    account = facility.open_account("me")
    async with Client(
        build_server(facility, lambda _: account), mode=mode, elicitation_callback=answer
    ) as client:
        yield client
    await facility.close()


def write_settings(home: Path) -> str:
    path = home / "facility.toml"
    path.write_text(
        f'profiles = ["{home}/profiles"]\nmax_age = 0.1\nstore = "{home}/jobs.db"\n[resources.here]\nprofile = "here"\n'
    )
    return str(path)


@asynccontextmanager
async def start_program(home: Path) -> AsyncIterator[Client]:
    """Run osprofile-mcp, and yield its client."""
    words = [
        "-m",
        "osprofile.executors.facility.mcp_main",
        "--config",
        write_settings(home),
        "--log",
        f"{home}/log",
    ]
    environment = {**os.environ, "HOME": str(home)}
    async with Client(StdioServerParameters(command=sys.executable, args=words, env=environment)) as client:
        yield client
    assert "Traceback" not in (home / "log").read_text()


async def call(client: Client, tool: str, **arguments: Any) -> Any:  # noqa: ANN401
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> Any:  # noqa: ANN401
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content  # type: ignore[union-attr]
    return result.structured_content


async def wait(client: Client, job_id: str) -> Any:  # noqa: ANN401
    while (job := await call(client, "status", job_id=job_id))["status"]["state"] not in ENDED:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    return job


def test_an_agent_corrects_its_job(home: Path) -> None:
    async def test() -> None:
        async with start_program(home) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            names = "submit queues nodes members status wait output files explain list cancel"
            assert [*tools] == names.split()
            nodes = tools["submit"].input_schema["properties"]["resources"]["properties"]["node_count"]
            assert (nodes["minimum"], nodes["maximum"]) == (1, 1)
            job: dict[str, Any] = {
                "executable": "sh",
                "arguments": ["-c", 'echo "it\'s $0"; echo no >&2; exit 3'],
            }
            refused = await refusal(client, "submit", **job, resources={"node_count": 2})
            assert refused["invalid_params"][0]["name"] == "resources.node_count"
            assert "1 to 1" in json.dumps(refused)
            assert "exit 3" in (await call(client, "submit", **job, dry_run=True))["script"]
            assert (await call(client, "list", historical=True))["jobs"] == []
            job["idempotency_key"] = str(uuid.uuid4())
            job_id = (await call(client, "submit", **job))["id"]
            assert (await call(client, "submit", **job))["id"] == job_id
            assert (await wait(client, job_id))["status"]["exit_code"] == 3
            assert (await call(client, "output", job_id=job_id))["text"] == "it's sh\n"
            explained = await call(client, "explain", job_id=job_id)
            assert (explained["status"]["state"], explained["stderr"]) == ("failed", "no")
            assert "likely_cause" not in explained
            missing = (await call(client, "submit", executable="nosuchprogram"))["id"]
            await wait(client, missing)
            cause = (await call(client, "explain", job_id=missing))["likely_cause"]
            assert cause.startswith("the command nosuchprogram is not found on ")
            waits = (await call(client, "submit", executable="sleep", arguments=["60"]))["id"]
            assert [found["id"] for found in (await call(client, "list"))["jobs"]] == [waits]
            await call(client, "cancel", job_id=waits)
            assert (await wait(client, waits))["status"]["state"] == "canceled"

    asyncio.run(test())


def test_calls_that_are_refused(home: Path) -> None:
    rows: list[tuple[str, dict[str, Any], int, str]] = [
        ("submit", {}, 400, "executable"),
        ("submit", {"executable": 1}, 400, "executable"),
        ("submit", {"executable": "a", "odd": 1}, 400, "odd"),
        ("submit", {"executable": "a", "idempotency_key": "x"}, 400, "idempotency_key"),
        ("submit", {"executable": "a\0", "dry_run": True}, 400, "executable"),
        ("submit", {"executable": "a", "dry_run": 1}, 400, "dry_run"),
        ("members", {"names": ["nosuch"]}, 400, "names"),
        ("wait", {"job_id": "1", "seconds": 1000}, 400, "seconds"),
        ("wait", {"job_id": "1'; id"}, 404, ""),
        ("files", {"job_id": "1", "path": "/etc"}, 400, "path"),
        ("status", {}, 400, "job_id"),
        ("status", {"job_id": 1}, 400, "job_id"),
        ("output", {"job_id": "1", "stream": "../x"}, 400, "stream"),
        ("output", {"job_id": "1", "lines": 100000}, 400, "lines"),
        ("list", {"limit": True}, 400, "limit"),
        ("list", {"states": ["odd"]}, 400, "state"),
        ("cancel", {"job_id": "1'; id"}, 404, ""),
        ("explain", {"job_id": "../1"}, 404, ""),
        ("nosuch", {}, 404, ""),
    ]

    async def test() -> None:
        async with start(home) as client:
            for tool, arguments, status, name in rows:
                refused = await refusal(client, tool, **arguments)
                assert refused["status"] == status, tool
                assert name in {"", *(item["name"] for item in refused.get("invalid_params", ()))}, tool

    asyncio.run(test())


MACHINE = """  <idb:Template xmlns:idb="http://gpe.intel.com/idb" name="LIST_QUEUES">
    <idb:Invocation><idb:Body>echo 'short open default WALLTIME&lt;=600 MEMORY&lt;=1024'; echo 'old closed'</idb:Body></idb:Invocation>
    <idb:Field name="QUEUE_STATE" isSettable="false"><idb:Tag name="open">OPEN</idb:Tag><idb:Tag name="closed">STOPPED</idb:Tag></idb:Field>
  </idb:Template>
  <idb:Template xmlns:idb="http://gpe.intel.com/idb" name="LIST_NODES">
    <idb:Invocation><idb:Body>for n in n1 n2; do echo "$n idle 8 16000"; done; echo n3 down</idb:Body></idb:Invocation>
    <idb:Field name="NODE_STATE" isSettable="false"><idb:Tag name="idle">UP</idb:Tag><idb:Tag name="down">DOWN</idb:Tag></idb:Field>
  </idb:Template>
</osp:Profile>"""


def test_queues_and_nodes(home: Path) -> None:
    profile = home / "profiles" / "here" / "profile.xml"
    profile.write_text(profile.read_text().replace("</osp:Profile>", MACHINE))

    async def test() -> None:
        async with start(home) as client:
            queues = (await call(client, "queues"))["queues"]
            limits = ["attributes.duration <= 600", "resources.memory <= 1024 MiB on each node"]
            short = {
                "name": "short",
                "state": "open",
                "accepts_jobs": True,
                "default": True,
                "limits": limits,
            }
            old = {"name": "old", "state": "closed", "accepts_jobs": False, "default": False, "limits": []}
            assert queues == [short, old]
            idle = {
                "state": "idle",
                "is_up": True,
                "count": 2,
                "cpus": 8,
                "memory_mib": 16000,
                "names": ["n1", "n2"],
            }
            down = {"state": "down", "is_up": False, "count": 1, "names": ["n3"]}
            assert (await call(client, "nodes"))["nodes"] == [idle, down]

    asyncio.run(test())


def test_a_profile_that_limits_list_limits_the_files_of_a_job(home: Path) -> None:
    source = (PROFILES / "linux" / "profile.xml").read_text()
    text = source[
        source.index('<idb:Template name="LIST">') : source.index('<idb:Template name="LIST_NODES">')
    ]
    text = text.replace('<idb:Field name="PATH">', f'<idb:Field name="PATH" ext:pattern="{home}/in(/.*)?">')
    text = re.sub(r' ext:src="list.sh [^"]*"/>', ">echo f 0644 1 1 file</idb:StaticScript>", text)
    space = 'xmlns:ext="urn:osprofile:extension" xmlns:idb="http://gpe.intel.com/idb" xmlns:osp='
    profile = home / "profiles" / "here" / "profile.xml"
    limited = (
        profile.read_text().replace("xmlns:osp=", space).replace("</osp:Profile>", f"{text}</osp:Profile>")
    )
    profile.write_text(limited)
    for name in ("in", "out"):
        (home / name).mkdir()
        (home / name / "file").write_text(f"{name}\n")

    async def test() -> None:
        async with start(home) as client:
            inside, outside = [
                (await call(client, "submit", executable="true", directory=str(home / name)))["id"]
                for name in ("in", "out")
            ]
            assert (await call(client, "output", job_id=inside, path="file"))["text"] == "in\n"
            assert (await call(client, "files", job_id=inside))["files"][0]["path"] == "file"
            for tool, arguments in (("output", {"path": "file"}), ("files", {})):
                refused = await refusal(client, tool, job_id=outside, **arguments)
                assert "field PATH" in refused["detail"]
            await wait(client, outside)

    asyncio.run(test())


def test_what_is_known_of_a_call_that_fails_by_a_fault(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts: dict[str, object] = {}
    monkeypatch.setattr(Resource, "get_job", {}.__getitem__)

    async def test() -> None:
        facility = Facility(read_settings(write_settings(home), Settings()), "me", "")
        account = facility.open_account("me")
        server = build_server(facility, lambda _: account, lambda _context, more: facts.update(more))
        async with Client(server) as client:
            assert (await refusal(client, "status", job_id="1"))["status"] == 500
        await facility.close()

    asyncio.run(test())
    assert facts == {"operation": "tool status", "job": "1", "status": 500}


@pytest.mark.parametrize("mode", MODES)
def test_a_person_confirms(home: Path, mode: str) -> None:
    profile = home / "profiles" / "here" / "profile.xml"
    profile.write_text(profile.read_text().replace("</osp:Profile>", CONFIRM))
    asked: list[str] = []
    answers = [
        types.ElicitResult(action="decline"),
        types.ElicitResult(action="accept", content={"confirm": False}),
    ]
    answers += [types.ElicitResult(action="accept", content={"confirm": True})]

    async def answer(_context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return answers[len(asked) - 1]

    async def test() -> None:
        async with start(home, mode, answer) as client:
            job: dict[str, Any] = {"executable": "true", "name": "n1"}
            await refusal(client, "submit", **job, resources={"node_count": 2})
            assert not asked  # nobody is asked about what is refused anyway
            assert [(await refusal(client, "submit", **job))["status"] for _ in range(2)] == [403, 403]
            assert (await call(client, "list", historical=True))["jobs"] == []
            assert (await wait(client, (await call(client, "submit", **job))["id"]))["status"][
                "exit_code"
            ] == 0
        async with start(home, mode) as client:  # one that cannot ask
            with pytest.raises(MCPError) if mode == "auto" else nullcontext():
                assert (await refusal(client, "submit", **job))["status"] == 403
            assert len((await call(client, "list", historical=True))["jobs"]) == 1

    asyncio.run(test())
    assert len(asked) == 3
    assert asked[0] == 'submit, on here:\n{\n "executable": "true",\n "name": "n1"\n}'


@pytest.mark.parametrize("mode", MODES)
def test_a_person_sees_the_program_and_the_whole_job(home: Path, mode: str) -> None:
    profile = home / "profiles" / "here" / "profile.xml"
    profile.write_text(profile.read_text().replace("</osp:Profile>", CONFIRM))
    asked: list[str] = []

    async def answer(_context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"confirm": True})

    async def test() -> None:
        async with start(home, mode, answer) as client:
            job: dict[str, Any] = {"arguments": ["x" * 4000], "environment": {"A": "1"}, "executable": "echo"}
            refused = await refusal(client, "submit", **job)
            assert (refused["status"], asked) == (413, [])
            assert "it is too long to be shown" in refused["detail"]
            assert (await call(client, "list", historical=True))["jobs"] == []
            await wait(client, (await call(client, "submit", **{**job, "arguments": ["x" * 3000]}))["id"])

    asyncio.run(test())
    assert len(asked) == 1
    lines = asked[0].splitlines()
    assert lines[2] == ' "executable": "echo",'
    assert f'  "{"x" * 3000}"' in lines
    assert lines[-1] == "}"
