"""Hostile values in each member of a JobSpec, through real shells: nothing of them runs, and what is not refused arrives."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from osprofile.executors.facility.problems import ProblemError
from tests.executors.facility.conftest import make_resource

if TYPE_CHECKING:
    from pathlib import Path

    from osprofile.profile.model import Profile

HOSTILE = [
    "$(touch {canary})", "`touch {canary}`", "'; touch {canary}; '", '"; touch {canary}; "', "; touch {canary}", "| touch {canary}",
    "\ntouch {canary}\n", "\n#SBATCH --uid=root\n", "\r\ntouch {canary}", "'\\''$(touch {canary})'\\''", "\\", "'", '"', "''", "-x",
    "--", "-oProxyCommand=touch {canary}", "<EXECUTABLE>", "<SITE_SETUP>", "a b", "\t", "*", "~", "$HOME", "${{HOME}}", "!!", "é☃",
    "%s%n", "../../etc/passwd", "/dev/tcp/127.0.0.1/1", "GPE_END", "\x1b[2J", "\x7f", "x" * 3000,
]  # fmt: skip
RECORD = (
    "import json, os, sys\n"
    "names = sorted(n for n in os.environ if n.startswith('V'))\n"
    "print(json.dumps([sys.argv[1:], {n: os.environ[n] for n in names}]))\n"
)
TEXT_MEMBERS = (
    "executable", "directory", "name", "stdin_path", "stdout_path", "stderr_path", "pre_launch", "post_launch", "launcher",
    "attributes.queue_name", "attributes.account", "attributes.reservation_id", "container.image",
    "attributes.custom_attributes.NODE_FILE", "attributes.custom_attributes.TMP_DIR", "attributes.custom_attributes.ARRAY",
    "attributes.custom_attributes.STDOUT_NAME", "attributes.custom_attributes.DEPENDENCY", "attributes.custom_attributes.OPTIONS",
    "attributes.custom_attributes.START_TIME", "attributes.custom_attributes.NODES",
)  # fmt: skip


async def test_arguments_and_variables_arrive_unchanged(linux: Profile, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    values = [value.format(canary=canary) for value in HOSTILE]
    environment = {f"V{number:02}": value for number, value in enumerate(values)}
    resource = make_resource(linux)
    for inherits in (True, False):
        spec = {
            "executable": sys.executable,
            "arguments": ["-c", RECORD, *values],
            "environment": environment,
            "inherit_environment": inherits,
        }
        try:
            job_id = (await resource.launch_job(spec, None))["id"]
        except ProblemError as error:  # only what no text of a script may hold
            pytest.fail(str(error))
        await resource.target.wait(job_id)
        arguments, variables = json.loads(await resource.target.read_stdout(job_id))
        assert arguments == values
        assert variables == environment
        found = await resource.get_job(job_id, historical=True, include_spec=True)
        assert found["status"]["state"] == "completed"
        assert found["job_spec"]["arguments"] == spec["arguments"]
        assert found["job_spec"]["environment"] == environment
    await resource.close()
    assert not canary.exists()


@pytest.mark.hunt(7)
@pytest.mark.parametrize("member", TEXT_MEMBERS)
async def test_a_member_is_refused_by_its_name_or_harmless(
    linux: Profile, tmp_path: Path, member: str
) -> None:
    canary = tmp_path / "canary"
    resource = make_resource(linux)
    jobs = []
    for value in HOSTILE:
        spec: dict[str, Any] = {"executable": "true"}
        part = spec
        *parents, name = member.split(".")
        for parent in parents:
            part = part.setdefault(parent, {})
        part[name] = value.format(canary=canary)
        try:
            jobs.append((await resource.launch_job(spec, None))["id"])
        except ProblemError as error:
            assert error.status in {400, 422}, error  # noqa: PT017
            if error.status == 400:
                assert member in {param.name for param in error.invalid_params}  # noqa: PT017
    await asyncio.gather(*map(resource.target.wait, jobs))
    await resource.close()
    assert not canary.exists()
