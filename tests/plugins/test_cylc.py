"""The job runner for Cylc, with real jobs on profile `linux`; its page is docs/plugins/cylc.md.

It imports nothing of Cylc, which needs an environment of its own: tests/plugins/suites/cylc.sh runs a workflow.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from osprofile.plugins.cylc import JOB_RUNNER_HANDLER as RUNNER
from tests.waiting import PATIENCE


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OSPROFILE_STORE", str(tmp_path / "jobs.db"))


def write_job(directory: Path, body: str, limit: float | None = None, **directives: str) -> str:
    """Write a job file as Cylc does; return its path."""
    conf: dict[str, Any] = {
        "task_id": "1/task",
        "workflow_name": "flow/run1",
        "execution_time_limit": limit,
        "directives": {"profile": "linux", **directives},
    }
    path = directory / "job"
    path.write_bytes("\n".join(["#!/bin/bash", *RUNNER.format_directives(conf), body, ""]).encode())
    path.chmod(0o755)
    return str(path)


def submit(path: str) -> str:
    """Submit a job file; return the id that Cylc reads."""
    code, stdout, stderr = RUNNER.submit(path, {"env": dict(os.environ)})
    assert code == 0, stderr
    (line,) = stdout.splitlines()
    match = RUNNER.REC_ID_FROM_SUBMIT_OUT.match(line)
    assert match
    return match["id"]


def poll(*job_ids: str) -> list[str]:
    """Return which jobs have not ended, as Cylc asks for them."""
    command = RUNNER.get_poll_many_cmd(list(job_ids))
    return RUNNER.filter_poll_many_output(
        subprocess.run(command, capture_output=True, text=True, check=False).stdout
    )


def wait(job_id: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while poll(job_id):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_job_runs_and_its_output_is_where_cylc_looks(tmp_path: Path) -> None:
    path = write_job(tmp_path, "echo out; echo err >&2")
    wait(submit(path))
    assert (Path(f"{path}.out").read_text(), Path(f"{path}.err").read_text()) == ("out\n", "err\n")


def test_a_job_file_is_submitted_once_and_one_written_anew_again(tmp_path: Path) -> None:
    path = write_job(tmp_path, "true")
    first = submit(path)
    assert submit(path) == first
    time.sleep(0.01)
    assert submit(write_job(tmp_path, "true")) != first


def test_kill(tmp_path: Path) -> None:
    job_id = submit(write_job(tmp_path, "sleep 300"))
    assert poll(job_id, "unknown") == [job_id]
    subprocess.run(shlex.split(RUNNER.KILL_CMD_TMPL % {"job_id": job_id}), check=True)
    wait(job_id)


@pytest.mark.parametrize(
    "value", ["a 'b' \"c\"", "$(touch pwned)`touch pwned`", "; touch pwned #", "a\rb", "--x \\", "ä"]
)
def test_values_reach_the_job_unchanged(value: str, tmp_path: Path) -> None:
    path = write_job(tmp_path, """printf '%s' "$VALUE"; test ! -e pwned""", env=f"VALUE={value}")
    wait(submit(path))
    assert Path(f"{path}.out").read_bytes() == value.encode()
    assert not list(tmp_path.rglob("pwned"))


def test_a_line_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has a line end"):
        write_job(tmp_path, "true", env="X=\ntouch pwned")


def test_the_options_of_a_job(tmp_path: Path) -> None:
    text = Path(write_job(tmp_path, "true", limit=0.5, **{"--queue": "long", "requeue": ""})).read_text()
    assert text.splitlines()[1] == (
        "#OSPROFILE --name=task.1.flow_run1 --walltime=1 --profile=linux --queue=long --requeue"
    )
    assert "--walltime=60 " in Path(write_job(tmp_path, "true", limit=600, walltime="60")).read_text()


def test_a_refused_submission_says_why(tmp_path: Path) -> None:
    code, stdout, stderr = RUNNER.submit(write_job(tmp_path, "true", profile="nosuch"), {})
    assert code
    assert not stdout
    assert "nosuch" in stderr


def test_a_failed_poll_ends_no_job() -> None:
    with pytest.raises(json.JSONDecodeError):
        RUNNER.filter_poll_many_output("")
