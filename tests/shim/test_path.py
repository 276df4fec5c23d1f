"""A stand-in first in PATH, with a profile of the same batch system: START runs the real command."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("system", "profile", "command"), [("slurm", "slurm", "sbatch"), ("pbs", "pbs", "qsub")]
)
def test_the_real_command_submits(system: str, profile: str, command: str, tmp_path: Path) -> None:
    real, job = tmp_path / "real" / command, tmp_path / "job.sh"
    real.parent.mkdir()
    real.write_text(f"#!/bin/sh\necho called >> {tmp_path}/calls\nenv > {tmp_path}/seen\necho 42\n")
    real.chmod(0o755)
    job.write_text("#!/bin/sh\ntrue\n")
    incarnate = os.path.join(os.path.dirname(sys.executable), "incarnate")
    path = f"{tmp_path}/stand-ins:{real.parent}:{os.environ['PATH']}"
    environment = {"HOME": str(tmp_path), "PATH": path}
    subprocess.run(
        [incarnate, "shim", "stand-ins", "--profile", profile, "--as", system],
        cwd=tmp_path, env=environment, capture_output=True, check=True,
    )  # fmt: skip
    ended = subprocess.run(
        [command, str(job)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "calls").read_text() == "called\n"
