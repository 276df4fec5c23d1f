"""No number has two jobs, and no job is lost: many submissions at once, and those that are killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.hunting import rounds
from tests.waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from tests.shim.conftest import Place

COUNTER = "jobs.db.shim-number"


@pytest.mark.race
def test_many_at_once(place: Place) -> None:
    count = rounds(20, 6)
    place.script('echo "$SLURM_JOB_ID" >> ran\n')
    started = [place.start("sbatch", "--parsable", "-o", "/dev/null", "job.sh") for _ in range(count)]
    ended = [process.communicate("", timeout=PATIENCE) for process in started]
    assert {err for _, err in ended} == {""}
    numbers = sorted(int(out) for out, _ in ended)
    assert numbers == list(range(1, count + 1))
    wait_until(lambda: place.ok("squeue", "-h") == "")
    assert sorted(map(int, (place.work / "ran").read_text().split())) == numbers
    assert place.ok("sacct", "-nP", "-o", "State").splitlines() == ["COMPLETED"] * count
    assert len(place.sessions) == count


def test_a_killed_submission_is_found_and_not_repeated(gated: Place) -> None:
    gates = gated.root.parent / "gates"
    gated.script("echo ran >> ran\n")
    gated.ok("sbatch", "-W", "-o", "/dev/null", "job.sh")
    for number, moment in ((2, "before"), (3, "after")):
        (gates / f"gate-{moment}").touch()
        process = gated.start("sbatch", "-o", "/dev/null", "job.sh")
        wait_until((gates / "begun").exists)
        process.kill()
        process.communicate()
        os.kill(int((gates / "begun").read_text()), signal.SIGKILL)
        (gates / "begun").unlink()
        if moment == "before":  # nothing was submitted: nothing is listed, and nothing runs later
            assert gated.ok("squeue", "-h", "-t", "all", "-o", "%i %t") == "1 CD\n"
            assert gated.run("squeue", "-j", str(number)).code == 1
        else:
            wait_until(lambda: gated.ok("squeue", "-h", "-t", "all", "-o", "%i %t") == "1 CD\n3 CD\n")
    assert gated.ok("sbatch", "--parsable", "-o", "/dev/null", "job.sh") == "4\n"
    wait_until(lambda: gated.ok("squeue", "-h") == "")
    assert (gated.work / "ran").read_text() == "ran\n" * 3


@pytest.mark.race
def test_killed_at_any_moment(place: Place) -> None:
    """Each number that was told has one job; a job that was not told is listed nevertheless."""
    place.script('echo "$SLURM_JOB_ID" >> ran\n')
    told = set[int]()
    for i in range(0, 12, rounds(1, 2)):
        process = place.start("sbatch", "--parsable", "-o", "/dev/null", "job.sh")
        time.sleep(0.04 * i)
        process.kill()
        out, _ = process.communicate()
        told |= {int(out)} if out else set()
    wait_until(lambda: place.ok("squeue", "-h") == "")
    listed = [int(line) for line in place.ok("squeue", "-h", "-t", "all", "-o", "%i").splitlines()]
    ran = (
        [int(line) for line in (place.work / "ran").read_text().split()]
        if (place.work / "ran").exists()
        else []
    )
    assert len(set(listed)) == len(listed)
    assert told <= set(listed)
    assert sorted(ran) == sorted(listed)
    assert int(place.ok("sbatch", "--parsable", "-o", "/dev/null", "job.sh")) > max(listed, default=0)


def test_an_interrupted_submission_tells_its_number(gated: Place) -> None:
    gates = gated.root.parent / "gates"
    (gates / "gate-before").touch()
    process = gated.start("sbatch", "--wrap", "sleep 1000")
    wait_until((gates / "begun").exists)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (128 + signal.SIGTERM, "")
    assert "interrupted by signal 15; " in err
    assert "Traceback" not in err
    (gates / "begun").unlink()


def test_a_lost_counter_is_made_anew(place: Place) -> None:
    for content in (None, "", "nonsense\n"):
        counter = Path(place.root, COUNTER)
        if content is None:
            place.ok("sbatch", "--wrap", "true", "-o", "/dev/null")
            counter.unlink()
        else:
            counter.write_text(content)
        assert place.ok("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "true")
    numbers = place.ok("sacct", "-nP", "-o", "JobID").split()
    assert numbers == ["1", "2", "3", "4"]


def test_a_record_that_cannot_be_used(place: Place) -> None:
    Path(place.store).write_text("no database" * 100)
    for program in ("squeue", "sacct", "qstat", "qselect"):
        ended = place.run(program)
        assert (ended.code, ended.out) == (1, "")
        assert "not a database" in ended.err
    assert place.run("sbatch", "--wrap", "true").code == 1
