"""What a removal writes down if the job ends in the same moment (profiles/linux/job-directory.sh)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize(
    ("code", "is_removed"),
    [(None, True), ("143", True), ("137", True), ("139", False), ("0", False), ("3", False)],
)
def test_a_job_that_ended_by_the_removal(
    tmp_path: Path, shell: str, code: str | None, is_removed: bool
) -> None:
    """The batch system has taken the removal of a job that had not ended: a signal was that of the removal."""
    job = tmp_path / "12"
    task = job / ".gpe/tasks" / "3"
    task.mkdir(parents=True)
    (task / ".gpe_exit_status").write_text("143\n")  # it ended before, by itself
    if code is not None:
        (job / ".gpe_exit_status").write_text(f"{code}\n")
    pieces = [
        (ROOT / "profiles/linux" / name).read_text() for name in ("job-directory.sh", "note-removal.sh")
    ]
    script = "\n".join([f"gpe_jobs='{tmp_path}'", *pieces, "gpe_note_removal 12"])
    subprocess.run([shell, "-c", script], check=True)
    assert (job / ".gpe/removed").exists() is is_removed
    assert not (task / ".gpe/removed").exists()
