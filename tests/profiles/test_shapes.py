"""Batch systems of which only a manual is known: a list of another shape is no answer, and no job ends by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.profiles.conftest import DASH
from tests.profiles.systems import make_stand_in
from tests.profiles.test_stories import UNTIL_GO, start

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target

LISTS = {
    "cobalt": ("qstat", "State    JobID\n==============\nrunning  101\n"),
    "loadleveler": ("llq", "Id      St\n101.0   R\n\n1 job step(s) in query, 0 waiting\n"),
    "moab": ("showq", '<Data><queue option="active"><job id="101" status="Running"/></queue></Data>\n'),
    "nqsv": ("qstat", "RequestID  Stt  Queue\n101.nqsv   RUN  batch\n"),
    "tcs": ("pjstat", "H,JOB_ID,ST\n101,RUN\n"),
}
"""The command that lists, and a list that is not as the manual says."""
OTHERS = ('[{"id": 101, "status": "running"}]\n', "job 101 runs on node1\n")


@DASH
@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_an_unknown_shape(name: str, target_of: Callable[..., Target], tmp_path: Path) -> None:
    system = make_stand_in(name, target_of, tmp_path / "commands")
    target, job = system.target, start(system, UNTIL_GO)
    system.begin(job)
    command, text = LISTS[name]
    directory = tmp_path / "drift"
    directory.mkdir()
    (directory / command).write_text('#!/bin/sh\ncat "$0.out"\n')
    (directory / command).chmod(0o755)
    target.path.insert(0, directory)
    try:
        for other in (text, *OTHERS):
            (directory / f"{command}.out").write_text(other)
            for variation, fields in (
                ("ALL", {}),
                ("", {"JOB_ID": job.id}),
                ("SEVERAL", {"JOB_IDS": job.id}),
            ):
                done = target.run("GET_JOB_STATUS", variation, **fields)
                assert (done.returncode, done.stdout) == (2, ""), (other, done)
            assert command in done.stderr
            assert "already ended" not in target.fails("ABORT", JOB_ID=job.id)
    finally:
        (job.directory / "go").touch()
        system.close()
