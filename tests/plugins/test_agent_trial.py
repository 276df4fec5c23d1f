"""Ten tasks for an agent, done by a script that knows only what the tools say, with a real client of osprofile-mcp.

After each answer, the script does what the answer names: the `next` call, or, of a refusal, the member with its limit or place.
What it takes from elsewhere is the task itself.
"""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from osprofile.executors.facility.tools import follow_job
from tests.plugins.test_facility_mcp import call, home, refusal, start_program

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcp import Client

__all__ = ["home"]
MAX_SIZE = 2048
"""Bytes of the description of a tool: an agent reads all of them before its first call."""


async def follow(client: Client, answer: dict[str, Any], *expected: str, **changes: object) -> dict[str, Any]:
    """Make the calls that answers name, one after the other; they must be those that are expected.

    A job that has ended already is not waited for.
    """
    for tool in expected:
        state = answer.get("status", {}).get("state")
        if tool == "wait" and state in {"completed", "failed", "canceled"}:
            continue
        step = answer["next"]
        assert step["tool"] == tool, answer
        answer = await call(client, tool, **{**step["arguments"], **changes})
    return answer


async def submit(client: Client, *words: str, **members: object) -> dict[str, Any]:
    found: dict[str, Any] = await call(
        client, "submit", executable=words[0], arguments=[*words[1:]], **members
    )
    return found


async def run_and_show(client: Client) -> None:
    """Run this, and show me what it prints."""
    answer = await submit(client, "sh", "-c", "sleep 1; echo 42")
    answer = await follow(client, answer, "wait", "output")
    assert (answer["text"], answer["state"]) == ("42\n", "completed")


async def ask_for_too_much(client: Client) -> None:
    """Run it on two nodes. The site has one."""
    refused = await refusal(client, "submit", executable="true", resources={"node_count": 2})
    (param,) = refused["invalid_params"]
    limit = re.search(r"(\d+) to (\d+)", param["reason"])
    assert (param["name"], limit is not None) == ("resources.node_count", True)
    answer = await submit(client, "true", resources={"node_count": int(limit[2])})  # type: ignore[index]
    assert (await follow(client, answer, "wait"))["status"]["exit_code"] == 0


async def put_members_elsewhere(client: Client) -> None:
    """Run it for at most a minute, with 100 MB: the words of other batch systems are found in their places."""
    wrong = {"walltime": 60, "mem": 100 << 20, "resources": {"nodes": 1}, "partition": "x", "array": "1-2"}
    refused = await refusal(client, "submit", executable="true", **wrong)
    places = {
        param["name"]: re.search(r"it belongs in (\S+)", param["reason"])
        for param in refused["invalid_params"]
    }
    assert {name: place and place[1] for name, place in places.items()} == {
        "walltime": "attributes.duration",
        "mem": "resources.memory",
        "resources.nodes": "resources.node_count",
        "partition": None,
        "array": "attributes.custom_attributes.ARRAY",
    }
    assert "seconds" in json.dumps(refused)
    assert "this resource has no attributes.queue_name: leave it out" in json.dumps(refused)
    job = {"attributes": {"duration": 60}, "resources": {"memory": 100 << 20, "node_count": 1}}
    assert (await follow(client, await submit(client, "true", **job), "wait"))["status"]["exit_code"] == 0
    (param,) = (await refusal(client, "submit", executable="true", argumnets=["a"]))["invalid_params"]
    assert "did you mean arguments?" in param["reason"]


async def ask_where(client: Client) -> None:
    """Say which queues and nodes are there, and what a job may ask for."""
    queues = await call(client, "queues")
    assert "attributes.queue_name" in json.dumps(queues)
    nodes = await call(client, "nodes")
    assert nodes["next"] == {"tool": "submit", "member": "resources"}
    assert nodes["nodes"] or nodes["note"]
    found = await call(client, "members", names=["node_count", "attributes.custom_attributes.ARRAY"])
    assert found["members"]["resources.node_count"]["limits"] == "1 to 1"
    assert "GPE_ARRAY_INDEX" in found["members"]["attributes.custom_attributes.ARRAY"]["description"]


async def tell_why_it_failed(client: Client) -> None:
    """Run my program, and if it fails, tell me why."""
    answer = await submit(client, "sh", "-c", "exec nosuchprogram")
    answer = await follow(client, answer, "wait", "explain")
    assert "nosuchprogram is not found" in answer["likely_cause"]
    assert answer["stderr"]


async def run_again_with_more(client: Client) -> None:
    """Run it again with more, if it is killed at its limit."""
    answer = await submit(client, "sh", "-c", "sleep 3", attributes={"duration": 1})
    answer = await follow(client, answer, "wait", "explain")
    (member,) = re.findall(r"attributes\.duration|resources\.memory", answer["likely_cause"])
    assert member == "attributes.duration"
    spec = answer["next"]["arguments"]
    attributes = {**spec["attributes"], "duration": spec["attributes"]["duration"] * 60}
    answer = await follow(client, answer, "submit", attributes=attributes)
    assert (await follow(client, answer, "wait"))["status"]["exit_code"] == 0


async def find_results(client: Client) -> None:
    """Say which files it wrote, and what is in the result."""
    script = "mkdir sub; echo 0.5 > sub/x.txt; echo first > a.txt; sleep 1.1; echo 99 > result.txt"
    answer = await submit(client, "sh", "-c", script)
    answer = await follow(client, answer, "wait", "output", "files")
    listed = {file["path"]: file["type"] for file in answer["files"]}
    assert {"a.txt": "f", "result.txt": "f", "sub": "d"}.items() <= listed.items()
    job = answer["next"]["arguments"]["job_id"]
    assert answer["next"] == {"tool": "output", "arguments": {"job_id": job, "path": "result.txt"}}
    assert (await follow(client, answer, "output"))["text"] == "99\n"
    below = await call(client, "files", job_id=job, path="sub")
    assert (await follow(client, below, "output"))["text"] == "0.5\n"
    assert "files" in (await refusal(client, "output", job_id=job, path="nosuch"))["detail"]
    for path in ("../x", "/etc/passwd", "a\n"):
        assert (await refusal(client, "output", job_id=job, path=path))["status"] == 400


async def stop_a_long_job(client: Client) -> None:
    """Stop it if it takes long."""
    answer = await submit(client, "sleep", "600")
    answer = await follow(client, answer, "wait", "wait", seconds=1)
    assert answer["status"]["state"] in {"queued", "active"}
    answer = await call(client, "cancel", job_id=answer["next"]["arguments"]["job_id"])
    answer = await follow(client, answer, "wait")
    assert (answer["status"]["state"], "next" in answer) == ("canceled", False)


async def repeat_a_cut_call(client: Client) -> None:
    """Find out whether it was submitted before the connection was cut."""
    key = str(uuid.uuid4())
    first = await submit(client, "true", idempotency_key=key)
    again = await submit(client, "true", idempotency_key=key)
    assert again["id"] == first["id"]
    await follow(client, again, "wait")
    answer = await call(client, "list")
    assert answer["jobs"] == []
    answer = await follow(client, answer, "list", "status")
    assert answer["id"] == first["id"]
    assert answer["job_spec"]["executable"] == "true"


async def try_before_it_runs(client: Client) -> None:
    """Show me what would be submitted, then run the array."""
    job = {"attributes": {"custom_attributes": {"ARRAY": "1-2"}}}
    answer = await submit(client, "sh", "-c", "echo $GPE_ARRAY_INDEX", **job, dry_run=True)
    assert "GPE_ARRAY_INDEX" in answer["script"]
    assert (await call(client, "list"))["jobs"] == []
    answer = await follow(client, answer, "submit", "wait")
    texts = [await call(client, "output", job_id=task["id"]) for task in answer["tasks"]]
    assert [text["text"] for text in texts] == ["1\n", "2\n"]
    assert (await follow(client, answer, "output"))["text"] == "1\n"
    whole = await call(client, "output", job_id=answer["id"])
    assert (await follow(client, whole, "output"))["text"] == "1\n"
    answer = await submit(client, "sh", "-c", "exit $((GPE_ARRAY_INDEX == 2))", **job)
    whole = await follow(client, answer, "wait")
    for explained in (
        await follow(client, whole, "explain"),
        await follow(client, await call(client, "explain", job_id=whole["id"]), "explain"),
    ):
        assert (explained["id"].rpartition("_")[2], explained["status"]["exit_code"]) == ("2", 1)


TASKS: list[Callable[[Client], Awaitable[None]]] = [
    run_and_show, ask_for_too_much, put_members_elsewhere, ask_where, tell_why_it_failed, run_again_with_more, find_results,
    stop_a_long_job, repeat_a_cut_call, try_before_it_runs,
]  # fmt: skip


@pytest.mark.parametrize("task", TASKS)
def test_a_task(home: Path, task: Callable[[Client], Awaitable[None]]) -> None:
    async def test() -> None:
        async with start_program(home) as client:
            await task(client)

    asyncio.run(test())


@pytest.mark.parametrize(
    ("state", "message", "expected"),
    [
        ("queued", "Priority", "wait"),
        ("queued", "PartitionNodeLimit (it asks for more nodes: as it is, it will not start)", "cancel"),
        ("held", "", "wait"),
        ("active", "", "wait"),
        ("completed", "", "output"),
        ("failed", "", "explain"),
        ("canceled", "", ""),
    ],
)
def test_what_follows_from_a_state(state: str, message: str, expected: str) -> None:
    job = {"id": "7", "status": {"state": state, "message": message}}
    assert follow_job(job) == (expected, {"job_id": "7"})


def test_what_an_agent_reads_before_its_first_call(home: Path) -> None:
    async def test() -> None:
        async with start_program(home) as client:
            for tool in (await client.list_tools()).tools:
                text = tool.model_dump_json(exclude_none=True)
                assert len(text) <= MAX_SIZE, tool.name

    asyncio.run(test())
