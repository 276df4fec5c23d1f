"""The stand-in of squeue prints of a real Slurm's job what the real squeue prints."""

from __future__ import annotations

import pwd
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from osprofile.jobs.record.store import Store
from tests.lab.conftest import INCARNATE, PROFILES, STARTED, USER
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

# Not the ids and the priority, nor what differs between the caller and the jobs' user.
COLUMNS = "%t|%T|%D|%C|%m|%c|%a|%k|%q|%l|%P|%N|%B|%R|%r|%h|%n|%O|%H|%I|%J|%z|%X|%y|%Y|%E|%f|%b|%v|%w|%W|%u|%d|%K|%j|%s"
LONG_COLUMNS = "statecompact:5,numnodes,numcpus:.7,minmemory:3,timelimit:.12,partition: ,batchhost:10-"
"""Seconds, only to end a test that hangs."""


def run(*words: str | Path) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_columns(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins, store = tmp_path / "bin", tmp_path / "jobs.db"
    run(
        INCARNATE, "shim", stand_ins, "--as", "slurm", "--profile", "slurm", "--store", store,
        "--profiles", site, "--profiles", PROFILES, "--context", f"USER_NAME={USER}",
    )  # fmt: skip
    monkeypatch.chdir(pwd.getpwnam(USER).pw_dir)
    words = ["-J", "columns", "-n1", "-c2", "--mem=2G", "-t", "10", "-o", "/dev/null", "--wrap", "sleep 600"]
    run(stand_ins / "sbatch", *words)
    (record,) = Store(str(store)).list_all_jobs()
    real = record.status.job_id
    STARTED.add(Path(pwd.getpwnam(USER).pw_dir, ".gpe", "jobs", "slurm", real))
    wait_until(lambda: run(stand_ins / "squeue", "-h", "-o", "%t") == "R\n", every=0.1)

    def compare(options: Sequence[str]) -> None:
        assert run(stand_ins / "squeue", "-j1", *options) == run("squeue", f"-j{real}", *options)

    try:
        compare(["-o", COLUMNS])
        compare(["-O", LONG_COLUMNS])
        compare(["-h", "--form", "%.5t|%20P|%.9l|%D"])
        assert run(stand_ins / "squeue").split("\n")[0] == run("squeue").split("\n")[0]
    finally:
        run(stand_ins / "scancel", "1")
