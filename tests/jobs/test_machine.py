"""What LIST_NODES and LIST_QUEUES print, read; a part of a file; all that a poll showed."""

from __future__ import annotations

import asyncio
import copy
import os
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import InvalidProfileError, OutputError, ScriptFailedError, TemplateNotFoundError
from osprofile.jobs.shell.output import MachineOutputReader, NodeStatus, QueueStatus
from osprofile.jobs.state import NODE_STATE_TAGS, QUEUE_STATE_TAGS, NodeState, QueueState
from osprofile.jobs.target_system import TargetSystem
from tests.jobs.conftest import QUICK, shell

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from osprofile.profile.model import Profile
    from tests.jobs.conftest import Toy

TEMPLATE = """
  <idb:Template name="LIST_{kind}S">
    <idb:Invocation name=""><idb:Body>{body}</idb:Body></idb:Invocation>
    <idb:Field name="{kind}_PATTERN" isSettable="false"><idb:Value><![CDATA[{pattern}]]></idb:Value></idb:Field>
    <idb:Field name="{kind}_STATE" isSettable="false">{tags}</idb:Field>
  </idb:Template>"""
PATTERN = r"(?m)^(?<name>\S+) (?<state>\w+)(?:/(?<substate>\w+))?(?<default> \*)?$"


def template(kind: str, *, body: str = ":", pattern: str = PATTERN, **tags: str) -> str:
    text = "".join(f'<idb:Tag name="{n.replace("_", "/")}">{w}</idb:Tag>' for n, w in tags.items())
    return TEMPLATE.format(kind=kind, body=body, pattern=pattern, tags=text)


def test_the_words() -> None:
    assert NODE_STATE_TAGS == ("UP", "DOWN", "ERROR")
    assert QUEUE_STATE_TAGS == ("OPEN", "STOPPED")


def test_substates_go_before_states_and_the_last_of_one_name_counts(load: Callable[[str], Profile]) -> None:
    reader = MachineOutputReader(
        load(template("NODE", a="UP", a_b="DOWN") + template("QUEUE", a="OPEN", c="STOPPED"))
    )
    found = reader.read_nodes("n1 a\nnoise\nn2 a/b\nn3 a/x\nn4 x/b\nn1 a/b\n")
    assert found == (
        NodeStatus("n1", NodeState.DOWN, "a/b"),
        NodeStatus("n2", NodeState.DOWN, "a/b"),
        NodeStatus("n3", NodeState.UP, "a/x"),
        NodeStatus("n4", NodeState.UNKNOWN, "x/b"),
    )
    assert reader.read_nodes("n1 a\nnoise\nn2 a/b\nn3 a/x\nn4 x/b\nn1 a/b\n") is found
    assert reader.read_nodes("") == ()
    assert reader.read_queues("q1 a *\nq2 c\nq3 d\n") == (
        QueueStatus("q1", QueueState.OPEN, "a", is_default=True),
        QueueStatus("q2", QueueState.STOPPED, "c"),
        QueueStatus("q3", QueueState.UNKNOWN, "d"),
    )


def test_a_text_that_is_not_understood(load: Callable[[str], Profile]) -> None:
    reader = MachineOutputReader(load(template("NODE", a="UP")))
    with pytest.raises(OutputError, match="LIST_NODES printed 'down for repair', in which NODE_P"):
        reader.read_nodes("down for repair")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (template("NODE", a="OPEN"), "tag 'a' of NODE_STATE has the value 'OPEN', which is not a state"),
        (template("NODE", pattern="(?<name>x)", a="UP"), r"no group \(\?<state>"),
        (template("NODE", pattern="", a="UP"), "no fixed field NODE_PATTERN"),
    ],
)
def test_a_profile_that_cannot_be_understood(load: Callable[[str], Profile], text: str, words: str) -> None:
    with pytest.raises(InvalidProfileError, match=words):
        MachineOutputReader(load(text)).read_nodes("")


async def test_both_templates_are_optional(toy: Toy) -> None:
    async with TargetSystem(_without(toy.profile), timing=QUICK) as target:
        with pytest.raises(TemplateNotFoundError, match="LIST_NODES"):
            await target.list_nodes()
        with pytest.raises(TemplateNotFoundError, match="LIST_QUEUES"):
            await target.list_queues()


def _without(profile: Profile) -> Profile:
    found = copy.copy(profile)
    found.templates = {n: t for n, t in profile.templates.items() if not n.startswith("LIST_")}
    return found


async def test_they_are_inherited_and_asked_on_the_target(
    target: TargetSystem, load: Callable[[str], Profile]
) -> None:
    (node,) = await target.list_nodes()
    assert node[:3] == NodeStatus(os.uname().nodename, NodeState.UP, "up")[:3]
    megabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    assert (node.cpus, node.memory) == (os.cpu_count(), megabytes)
    assert await target.list_queues() == ()
    profile = load(template("NODE", body="echo 'no answer' >&amp;2; exit 3", a="UP"))
    async with TargetSystem(profile, timing=QUICK) as other:
        with pytest.raises(ScriptFailedError, match=r"LIST_NODES failed .exit status 3.: no answer"):
            await other.list_nodes()


async def test_a_poll_gives_all_jobs(toy: Toy, target: TargetSystem) -> None:
    job_id = await target.submit(shell("sleep 600"))
    await asyncio.sleep(0.3)
    assert set(await target.poll()) == {job_id}
    asked = toy.asked
    assert set(await target.poll(60)) == {job_id}
    assert toy.asked == asked
    await target.abort(job_id)


async def test_a_part_of_a_file(target: TargetSystem, tmp_path: Path) -> None:
    data = bytes(range(256)) * 1000
    source = tmp_path / "it's a file"
    source.write_bytes(data)
    for begin, count in ((0, 10), (10, 1), (255_990, 100), (256_000, 5), (300_000, 5), (3, 0)):
        with (tmp_path / "part").open("w+b") as file:
            await target.files.download_file(str(source), file.fileno(), begin, count)
            file.seek(0)
            assert file.read() == data[begin : begin + count]
    with pytest.raises(ScriptFailedError, match="No such file"):
        await target.files.download_file(f"{source}.not", 1, 0, 5)
