"""A batch system whose answer is cut off at any byte: a job that runs is not told as ended."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import OutputError
from osprofile.jobs.shell.output import StatusOutputReader
from tests.hunting import rounds
from tests.profiles.conftest import DASH, ENDED, find_tag
from tests.profiles.systems import SYSTEMS, StandIn, make_stand_in
from tests.profiles.test_stories import UNTIL_GO, start

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target

CUTTER = """#!/bin/sh
answer=$0.$(printf '%s' "$*" | cksum) # the same question has the same answer
[ -e "$answer" ] || PATH={rest} "${{0##*/}}" "$@" > "$answer" 2> /dev/null
read -r size code < {directory}/cut
head -c "$size" "$answer"
exit "$code"
"""


@DASH
@pytest.mark.parametrize("name", [name for name, cls in SYSTEMS.items() if issubclass(cls, StandIn)])
def test_a_cut_answer_ends_no_job(name: str, target_of: Callable[..., Target], tmp_path: Path) -> None:
    system = make_stand_in(name, target_of, tmp_path / "commands")
    job, target = start(system, UNTIL_GO), system.target
    system.begin(job)
    directory, rest = tmp_path / "cutters", target.env["PATH"]
    directory.mkdir()
    for command in (system.commands or "qstat").split():
        (directory / command).write_text(CUTTER.format(rest=rest, directory=directory))
        (directory / command).chmod(0o755)
    target.path.insert(0, directory)

    def ask(variation: str, size: int, code: int) -> None:
        (directory / "cut").write_text(f"{size} {code}\n")
        text = target.run("GET_JOB_STATUS", variation, **{} if variation else {"JOB_ID": job.id}).stdout
        try:
            found = StatusOutputReader(target.profile).read_statuses(text).get(job.id)
        except OutputError:  # as a query that has failed
            return
        assert not found or find_tag(found).partition("/")[0] not in ENDED, (size, code, text)

    try:
        for variation in ("", "ALL"):
            ask(variation, 1 << 20, 0)
            most = max(path.stat().st_size for path in directory.glob("*.*"))
            # Of a command that fails, it matters only whether it has said nothing, a part, or all of a line.
            for code, cuts in ((0, rounds(25, 3)), (1, rounds(8, 1))):
                for size in range(0, most, math.ceil(most / cuts)):
                    ask(variation, size, code)
    finally:
        (job.directory / "go").touch()
        system.close()
