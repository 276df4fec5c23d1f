"""A profile that was edited into one with errors, or deleted, takes nothing away from its jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.job.conftest import template

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Ended
    from tests.cli.job.conftest import Machine

USED = "; the version of the last submission is used for its jobs\n"
PATTERN = '<idb:Field name="STATUS_PATTERN" isSettable="false"><idb:Value>(</idb:Value></idb:Field>'
CHANGES = {
    "not XML": ("<osp:Delimiter>", "<osp:Delim>"),
    "no parent": ('extends="linux"', 'extends="linus"'),
    "another name": ('name="site"', 'name="sites"'),
    "a script": ("</osp:Profile>", template("ABORT", "kill <NO_SUCH_FIELD>") + "</osp:Profile>"),
    "a pattern": ("</osp:Profile>", template("GET_JOB_STATUS", "ps", PATTERN) + "</osp:Profile>"),
}


def break_profile(path: Path, change: str) -> str:
    """Break or delete a profile, and return how the warnings begin."""
    if change == "deleted":
        path.unlink()
        return "incarnate: warning: profile site cannot be used: there is no "
    path.write_text(path.read_text().replace(*CHANGES[change]))
    return f"incarnate: warning: profile site cannot be used: {path}:"


def warns(ended: Ended, told: str) -> bool:
    """Return whether a command succeeded, with one line of warning."""
    return (
        ended.code == 0 and ended.err.startswith(told) and ended.err.find(USED) == len(ended.err) - len(USED)
    )


@pytest.mark.parametrize("change", [*CHANGES, "deleted"])
def test_jobs_go_on(machine: Machine, change: str) -> None:
    machine.add("site", "")
    path = machine.root / "profiles/site.xml"
    text = path.read_text()
    ending = machine.submit(
        "sh", "-c", "echo written; while [ ! -e end ]; do sleep 0.05; done", profile="site"
    )
    running = machine.submit("--key", "k", "sleep", "100", profile="site")
    other = machine.submit("sleep", "100")
    told = break_profile(path, change)
    listed = machine.run("job", "list")
    assert warns(listed, told), listed
    states = {line.split()[0]: line.split()[3] for line in listed.out.splitlines()[1:]}
    assert states == dict.fromkeys((ending, running, other), "RUNNING")
    (machine.root / "end").touch()
    verbs = [
        ("wait", ending),
        ("list", running),
        ("list", "-p", "site"),
        ("show", "k"),
        ("show", "-p", "site", running),
    ]
    for words in verbs if change in {"not XML", "deleted"} else verbs[:1]:
        assert warns(ended := machine.run("job", *words), told), (words, ended)
    output = machine.run("job", "output", ending)
    assert (warns(output, told), output.out) == (True, "written\n")
    assert warns(machine.run("job", "cancel", "k"), told)
    assert [job["state"] for job in machine.run_json("list", ending, running, other)] == [
        "DONE",
        "REMOVED",
        "RUNNING",
    ]
    assert machine.run("job", "list", other).err == ""
    if change not in {"a script", "a pattern"}:  # these do not concern START
        for words in (("submit", "-p", "site", "true"), ("rerun", ending)):
            refused = machine.run("job", *words)
            assert refused.code in {2, 3}, refused
            assert f"{path}:" in refused.err or "there is no profile 'site'" in refused.err
    path.write_text(text)
    assert machine.run("job", "list", "--all").err == ""
    assert machine.submit("true", profile="site")


@pytest.mark.parametrize("change", ["not XML", "deleted"])
def test_a_profile_that_was_given_by_its_path(machine: Machine, tmp_path: Path, change: str) -> None:
    machine.add("site", "")
    path = (machine.root / "profiles/site.xml").rename(tmp_path / "own.xml")
    job_id = machine.submit("sleep", "100", profile=str(path))
    other = machine.submit("sleep", "100")
    told = break_profile(path, change)
    assert warns(machine.run("job", "list", job_id), told)
    assert warns(machine.run("job", "list", job_id, "-p", str(path)), told)
    assert machine.run("job", "list", other, OSPROFILE_PROFILE=str(path)).code == 0
    assert warns(machine.run("job", "cancel", job_id, OSPROFILE_PROFILE=str(path)), told)
    assert machine.run("job", "submit", "true", OSPROFILE_PROFILE=str(path)).code in {2, 3}
