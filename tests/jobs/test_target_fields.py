"""SSH:HOST, SSH:PORT and CLUSTER of a profile itself select the target system, as those of the context do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import OutcomeUnknownError, ScriptError
from osprofile.incarnation.context import add_target_fields
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.session import JobSession
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.repository import Repository
from tests.jobs.conftest import QUICK

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from osprofile.profile.model import Profile

FIELDS = """<idb:Template>
<idb:Field name="SSH:HOST" isSettable="false"><idb:{kind}>login.example.org</idb:{kind}></idb:Field>
<idb:Field name="SSH:PORT" isSettable="false"><idb:Default>2222</idb:Default></idb:Field>
</idb:Template>"""
SHELL = """<idb:Template name="SHELL">
<idb:Invocation><idb:Body>sh -c 'echo here >&amp;2; exit 9'</idb:Body></idb:Invocation>
<idb:Invocation name="SSH"><idb:Body>sh -c 'echo &lt;SSH:HOST>:&lt;SSH:PORT> > {file}; exec sh'</idb:Body></idb:Invocation>
</idb:Template>"""


@pytest.mark.parametrize(
    ("kind", "context", "address"),
    [
        ("Default", {}, "login.example.org:2222"),
        ("Default", {"SSH:HOST": "other", "SSH:PORT": "1"}, "other:1"),
        ("Value", {}, "login.example.org:2222"),
        ("Value", {"SSH:HOST": "other"}, "login.example.org:2222"),
    ],
)
async def test_the_profiles_host(
    kind: str, context: dict[str, str], address: str, load: Callable[[str], Profile], tmp_path: Path
) -> None:
    file = tmp_path / "host"
    profile = load(FIELDS.format(kind=kind) + SHELL.format(file=file))
    host, _, port = address.partition(":")
    assert add_target_fields(profile, context) == {"SSH:HOST": host, "SSH:PORT": port}
    async with TargetSystem(profile, context, timing=QUICK) as target:
        await target.wait(await target.submit(JobDescription(executable="true")))
        assert target.name == f"made@{address}"
    assert file.read_text() == f"{address}\n"


def test_a_profile_without_these_fields(load: Callable[[str], Profile]) -> None:
    assert add_target_fields(load(""), {}) == {}
    assert add_target_fields(load(""), {"SSH:HOST": "h", "X": "y"}) == {"SSH:HOST": "h", "X": "y"}


@pytest.mark.parametrize(("host", "name"), [("me@h", "made@me@h"), ("h:2222", "made@h:2222"), (None, "made")])
def test_the_host_of_a_session(load: Callable[[str], Profile], host: str | None, name: str) -> None:
    with JobSession(load(""), {"USER_NAME": "me"}, host=host, store=":memory:") as session:
        assert session.name == name


async def test_another_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Scripts run by sudo; one that refuses is not taken for a script that knows no job, or has refused one."""
    sudo = tmp_path / "sudo"
    sudo.write_text('#!/bin/sh\necho "$*" >> "$0.log"; shift 5; exec "$@"\n')
    sudo.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    async with TargetSystem(Repository().load("linux"), {"SUDO:USER": "bob"}, timing=QUICK) as target:
        assert (target.user_name, target.name) == ("bob", "linux")
        entries = await target.files.list_directory(str(tmp_path))
        assert {entry.name for entry in entries} >= {"sudo", "sudo.log"}
    sudo.write_text("#!/bin/sh\necho 'sudo: a password is required' >&2; exit 1\n")
    async with TargetSystem(Repository().load("linux"), {"SUDO:USER": "bob"}, timing=QUICK) as target:
        for call in (target.status("1-1-00000000"), target.submit(JobDescription(executable="true"))):
            with pytest.raises(ScriptError, match="a password is required") as error:
                await call
            assert not isinstance(error.value, OutcomeUnknownError)
    assert {*sudo.with_suffix(".log").read_text().splitlines()} == {"-n -H -u bob -- sh -s"}
