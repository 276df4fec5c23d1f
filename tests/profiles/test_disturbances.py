"""What disturbs each batch system alike: a decimal comma, bytes that are not UTF-8, a server away at any command, cut programs."""

from __future__ import annotations

import shutil
import subprocess
from itertools import count
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import OutputError
from osprofile.jobs.shell.output import StatusOutputReader
from tests.profiles.conftest import DASH, ENDED, find_tag
from tests.profiles.systems import SYSTEMS, StandIn
from tests.profiles.test_stories import STORIES, UNTIL_GO, make, start
from tests.waiting import wait_for_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.profiles.conftest import Job
    from tests.profiles.systems import System

__all__ = ["make"]
pytestmark = DASH
BATCH_SYSTEMS = [name for name, cls in SYSTEMS.items() if issubclass(cls, StandIn)]
QUERIES = {"": "JOB_ID", "SEVERAL": "JOB_IDS", "ALL": ""}


@pytest.fixture(scope="session")
def comma(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give the environment of a caller who writes a decimal comma."""
    folder = tmp_path_factory.mktemp("locales")
    if shutil.which("localedef"):
        words = [
            "localedef",
            "-i",
            "de_DE",
            "-f",
            "ISO-8859-1",
            str(folder / "de_DE"),
        ]  # UTF-8 takes five times as long
        subprocess.run(words, capture_output=True, check=False)
    environment = {"LOCPATH": str(folder), "LC_ALL": "de_DE", "PATH": "/usr/bin:/bin"}
    words = ["awk", "BEGIN { print 1.5 }"]
    if subprocess.run(words, env=environment, capture_output=True, check=True).stdout != b"1,5\n":
        pytest.skip("there is no locale with a decimal comma, or awk does not know it")
    return {"LOCPATH": str(folder), "LC_ALL": "de_DE"}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_decimal_comma(make: Callable[[str], System], name: str, comma: dict[str, str]) -> None:
    """It changes neither what is submitted, nor what is read, nor what a job measures."""
    system = make(name)
    system.target.environment |= comma
    for title in ("usage", "reasons"):
        if title not in system.cannot:
            STORIES[title][0](system)


def read_answer(job: Job, answer: str) -> str:
    """Return the tag that an answer of GET_JOB_STATUS has for a job, or nothing."""
    text = answer.encode(errors="surrogateescape").decode(errors="replace").removesuffix("#end\n")
    try:
        found = StatusOutputReader(job.target.profile).read_statuses(text).get(job.id)
    except OutputError:  # as a query that has failed
        found = None
    return find_tag(found) if found else ""


def list_queries(job: Job) -> list[tuple[str, dict[str, str]]]:
    """Return the ways in which the engine asks for a job: a variation, and its fields."""
    template = job.target.profile.get_template("GET_JOB_STATUS")
    return [
        (name, {field: job.id} if field else {})
        for name, field in QUERIES.items()
        if name in template.invocations
    ]


def list_statuses(job: Job) -> list[str]:
    """Ask for a job in each way, as the engine does; return the tag of each answer."""
    target = job.target
    return [
        read_answer(job, target.sh(target.script("GET_JOB_STATUS", variation, **fields)).stdout)
        for variation, fields in list_queries(job)
    ]


def put_in_front(system: StandIn, directory: Path, text: str) -> None:
    """Put a program in front of each command of a batch system: `$REST` is the path, `$name` the command's name."""
    directory.mkdir()
    rest = system.target.env["PATH"]
    for command in (system.commands or "qsub qstat qselect qdel qhold qrls qsig qalter").split():
        (directory / command).write_text(
            f"#!/bin/sh\nREST='{rest}' name={command} here='{directory}'\n{text}"
        )
        (directory / command).chmod(0o755)
    system.target.path.insert(0, directory)


LATIN = r"""PATH=$REST "$name" "$@" > "$here/out" 2> "$here/err"
rc=$?
LC_ALL=C sed "s/debug\|workq\|batch$\|hostA\|all\.q\|@node1\|node1+\|\"sh\|=\"n\|None\|ts-out\|somebody\|\"n1/&$(printf '\351')/g" \
  "$here/out" | tee -a "$here/told"
cat "$here/err" >&2
exit "$rc"
"""
"""A list in which names, queues, hosts, reasons and files have a byte of their own."""
WITHOUT_NAMES = {"flux", "tcs", "cobalt", "loadleveler", "nqsv"}
"""Their lists have ids and states alone."""


@pytest.mark.parametrize("name", [name for name in BATCH_SYSTEMS if name not in WITHOUT_NAMES])
def test_bytes_that_are_not_utf8(make: Callable[[str], System], name: str, tmp_path: Path) -> None:
    """A job that runs does so."""
    system = make(name)
    assert isinstance(system, StandIn)
    job = start(system, UNTIL_GO)
    system.begin(job)
    before = [*list_statuses(job)]
    put_in_front(system, tmp_path / "latin", LATIN)
    assert [*list_statuses(job)] == before == ["RUNNING"] * len(before)
    assert b"\351" in (tmp_path / "latin/told").read_bytes()
    (job.directory / "go").touch()


AWAY = r"""n=$(($(cat "$here/count") + 1))
echo "$n" > "$here/count.$$" && mv "$here/count.$$" "$here/count" # a job asks for its own id, too
[ "$n" != "$(cat "$here/which")" ] || { : > "$(cat "$here/away")"; gone=y; }
PATH=$REST "$name" "$@"
rc=$?
[ -z "${gone-}" ] || rm "$(cat "$here/away")"
exit "$rc"
"""


class Counter:
    """The commands of a batch system, of which the one with a number does not reach the server."""

    def __init__(self, system: StandIn, directory: Path) -> None:
        self.target, self.directory = system.target, directory
        put_in_front(system, directory, AWAY)
        (directory / "away").write_text(str(system.away))
        self.set(0)

    def set(self, which: int) -> None:
        (self.directory / "count").write_text("0\n")
        (self.directory / "which").write_text(f"{which}\n")

    def run(
        self, template: str, variation: str = "", place: Path | None = None, **fields: str
    ) -> Iterator[subprocess.CompletedProcess[str]]:
        """Run a template once for each of its commands; give what it did. The server is back then."""
        for which in count(1):
            self.set(which)
            done = self.target.sh(self.target.script(template, variation, place, **fields))
            called = int((self.directory / "count").read_text())
            self.set(0)
            if called < which:
                return
            yield done


@pytest.mark.parametrize("name", BATCH_SYSTEMS)
def test_the_server_is_away_at_each_command(make: Callable[[str], System], name: str, tmp_path: Path) -> None:
    """Whichever of a template's commands does not reach it: no job ends, none is submitted twice, and no cancel is a success."""
    system = make(name)
    assert isinstance(system, StandIn)
    target, counter = system.target, Counter(system, tmp_path / "counter")
    place = target.directory()
    for _ in counter.run("START", place=place):
        assert target.start_found(place)
        assert system.count() == 1
    job = start(system, UNTIL_GO)
    system.begin(job)
    wait_for_file(job.directory / "stdout")  # before, it may ask for its own id
    for template in ("HOLD", "RESUME"):
        for _ in counter.run(template, JOB_ID=job.id):
            pass
        assert target.run("GET_JOB_STATUS", JOB_ID=job.id).returncode == 0
    for variation, fields in list_queries(job):
        for done in counter.run("GET_JOB_STATUS", variation, **fields):
            assert read_answer(job, done.stdout) not in ENDED
    assert {*list_statuses(job)} & ENDED == set()
    assert (
        next(counter.run("ABORT", JOB_ID=job.id)).returncode != 0 or name == "at"
    )  # whose list is asked for once more
    assert {*list_statuses(job)} & ENDED <= {"REMOVED"}  # a query may send what was kept
    (job.directory / "go").touch()


@pytest.mark.parametrize("name", SYSTEMS)
def test_programs_that_were_cut(make: Callable[[str], System], name: str) -> None:
    """An installed program that is empty, or ends early, ends no job."""
    system = make(name)
    job = start(system, UNTIL_GO)
    system.begin(job)
    programs = [*(system.target.home / ".gpe/bin").glob("*/*.sh")]
    assert programs
    bodies = {program: program.read_bytes() for program in programs}
    for part in (0, 0.5, 0.99):
        for program, body in bodies.items():
            program.write_bytes(body[: int(part * len(body))])
        assert {*list_statuses(job)} & ENDED == set()
    for program, body in bodies.items():
        program.write_bytes(body)
    assert {*list_statuses(job)} == {"RUNNING"}
    (job.directory / "go").touch()
    system.end(job)
