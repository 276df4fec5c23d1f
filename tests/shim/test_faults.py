"""What could lose a job, run one twice, or tell of another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.shim.conftest import Place


def test_output_that_cannot_be_written(place: Place) -> None:
    """The job is there: who tried again would have it twice."""
    place.script("#!/bin/sh\ntrue\n")
    for number, (command, code) in enumerate([("sbatch job.sh", 1), ("qsub job.sh", 1)], 1):
        ended = place.shell(f"{command} > /dev/full")
        assert ended.code == code
        assert (
            f"job {number} was submitted, but its id could not be printed: standard output cannot be written"
            in ended.err
        )
        assert "bug" not in ended.err
    ended = place.shell("sbatch job.sh >&-")
    assert (ended.code, ended.err) == (0, "")
    ended = place.shell("squeue > /dev/full")
    assert (ended.code, "bug" in ended.err) == (1, False)
    ended = place.shell("squeue --noheader -t all | wc -l")
    assert ended.out.strip() == "3"


def test_a_script_from_a_closed_input(place: Place) -> None:
    ended = place.shell("sbatch <&-")
    assert ended.code == 2
    assert "cannot be read from standard input: Bad file descriptor" in ended.err


def test_a_file_of_the_last_number_that_is_older_than_the_record(place: Place) -> None:
    name = place.script("#!/bin/sh\ntouch ran.$SLURM_JOB_ID\n")
    for _ in range(2):
        place.ok("sbatch", "--wait", name)
    for number, text in enumerate(("0\n", "", "garbage", "0" * 400, f"{1:>20}\n"), 3):
        Path(f"{place.store}.shim-number").write_text(text)
        assert place.ok("sbatch", "--wait", name) == f"Submitted batch job {number}\n", text
        assert (place.work / f"ran.{number}").exists()


def test_an_array_without_indices(place: Place) -> None:
    name = place.script("#!/bin/sh\ntrue\n")
    for words in (["sbatch", "-a", "", name], ["qsub", "-t", "", name]):
        ended = place.run(*words)
        assert (ended.code, ended.out) == (2, "")
        assert "there are no indices" in ended.err


def test_ids_that_are_no_ids(place: Place) -> None:
    name = place.script("#!/bin/sh\nsleep 100\n")
    assert place.ok("qsub", name) == "1.osprofile\n"
    for word in ("1.pbs.example.org", "1_1", "-1", "99999999999999999999", "1.", "1.osprofile2"):
        for command in ("qstat", "qdel"):
            words = [command, "--", word] if word.startswith("-") else [command, word]
            ended = place.run(*words)
            assert (ended.code, ended.out) == (153 if "--" not in words else ended.code, ""), (words, ended)
            assert ended.code != 0
    assert "job_state = R" in place.ok("qstat", "-f", "1") or "job_state = Q" in place.ok("qstat", "-f", "1")
    ended = place.run("qsub", "-W", "depend=afterok:1.pbs.example.org", name)
    assert (ended.code, ended.out) == (2, "")
    place.ok("qdel", "1.osprofile")


def test_names_of_output_files(place: Place) -> None:
    name = place.script("#!/bin/sh\necho out\n")
    place.ok("qsub", "-N", "foo:bar", "-j", "oe", name)
    place.shell("until qstat -f 1 | grep -q 'job_state = C'; do sleep 0.1; done")
    assert (place.work / "foo:bar.o1").read_text() == "out\n"
    ended = place.run("qsub", "-N", "a/b", name)
    assert (ended.code, ended.out) == (2, "")
    assert "has a /" in ended.err
