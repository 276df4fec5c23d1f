"""Jobs that work below the home of their user on the target system, which only its shell knows."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from osprofile.errors import OSProfileError, ScriptFailedError, TargetError
from osprofile.incarnation.context import get_user_name
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.repository import Repository
from tests.jobs.conftest import shell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Make = Callable[..., TargetSystem]

PROFILE: Final = r"""<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
    xmlns:idb="http://gpe.intel.com/idb" name="there" extends="linux">
  <osp:UspaceRoot>~/.gpe/work</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="SHELL">
    <idb:Invocation name=""><idb:Body>{there} {shell} -s</idb:Body></idb:Invocation>
    <idb:Invocation name="SSH"><idb:Body>{there} {shell} -s</idb:Body></idb:Invocation>
  </idb:Template>
</osp:Profile>
"""
THERE: Final = r"""#!/bin/sh
echo >> "$0.calls"
[ ! -e "$0.away" ] || { echo "ssh: connect to host there port 22: No route to host" >&2; exit 255; }
IFS= read -r HOME < "$0.home"
export HOME
# as an ordinary user of that host, if this is root
[ ! -e "$0.user" ] || [ "$(id -u)" != 0 ] || exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"
exec "$@"
"""
HOMES: Final = ['it\'s "a" $(touch x) `id` * ? %j \\n', "plain", " blanks ", "-n", "é; exit", "a//b/"]
SHELLS: Final = [
    words for words in ("dash", "bash", "busybox sh", "ksh", "mksh", "yash") if shutil.which(words.split()[0])
]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def make(home: Path | str, *, shell: str = "sh", **context: str) -> TargetSystem:
        program = tmp_path / "there"
        program.write_text(THERE)
        program.chmod(0o755)
        (tmp_path / "there.home").write_text(f"{home}\n")
        (tmp_path / "there.xml").write_text(PROFILE.format(there=program, shell=shell))
        return TargetSystem(Repository([str(tmp_path)]).load("there"), context)

    return make


def exists(path: str) -> bool:
    return os.path.lexists(path)


def count_calls(tmp_path: Path) -> int:
    return len((tmp_path / "there.calls").read_text().splitlines())


@pytest.mark.parametrize(
    ("name", "shell_name"), [*((n, "sh") for n in HOMES), *((HOMES[0], s) for s in SHELLS)]
)
async def test_a_job_from_submission_to_deletion(
    tmp_path: Path, make: Make, name: str, shell_name: str
) -> None:
    home = tmp_path / name
    home.mkdir(parents=True)
    async with make(f"{tmp_path}/{name}", shell=shell_name) as target:
        job = await target.submit(shell('pwd; printf "%s\\n" "$GPE_WORKING_DIRECTORY"'))
        assert (await target.wait(job)).exit_code == 0
        directory = await target.find_job_directory(job)
        assert Path(directory).parent == home / ".gpe/work" / get_user_name()
        assert (await target.read_stdout(job)).decode() == f"{directory}\n" * 2
        for kept in (home, home / ".gpe", home / ".gpe/work", Path(directory).parent):
            with pytest.raises(ScriptFailedError, match="must not be removed"):
                await target.files.delete_path(str(kept))
        await target.files.delete_path(directory)
        assert not exists(directory)
    assert not exists("x")


@pytest.mark.parametrize("context", [{}, {"SSH:HOST": "me@there"}], ids=["wrapper", "ssh"])
async def test_the_target_is_asked_once_and_this_machines_home_is_not_used(
    tmp_path: Path, make: Make, context: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "ours").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "ours"))
    async with make(tmp_path / "home", **context) as target:
        directories = await asyncio.gather(*(target.new_job_directory() for _ in range(8)))
        assert count_calls(tmp_path) == 1
        assert len(set(directories)) == 8
        assert all(d.startswith(f"{tmp_path}/home/.gpe/work/") for d in directories)
        assert f"'{tmp_path}/home/.gpe/work/" in await target.render_start_script(shell("true"))
        assert f"'{tmp_path}/home/.gpe/work/" in (await target.preview(shell("true"))).text
        jobs = await target.submit_many([shell("exit 3"), shell("true", array="1-2")])
        assert [(await target.wait(job)).state for job in jobs] == [JobState.DONE] * 2
        for record in target.store.list_all_jobs():
            assert record.directory.startswith(f"{tmp_path}/home/.gpe/work/")
            assert "USER_HOME" not in (target.store.read_details(record.number).context or {})
    assert not os.listdir(tmp_path / "ours")


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[str]:
    """Give a directory that nobody but root can write, and have the scripts run as somebody else."""
    (tmp_path / "there.user").touch()
    path = Path(tempfile.mkdtemp(prefix="osprofile-"))
    path.chmod(0o555)
    yield str(path)
    path.rmdir()


@pytest.mark.parametrize("what", ["missing", "/", "", "file", "closed"])
async def test_a_home_in_which_no_job_can_work(
    request: pytest.FixtureRequest, tmp_path: Path, make: Make, what: str
) -> None:
    """The error says so, before anything is recorded."""
    (tmp_path / "file").touch()
    home = what if what in {"/", ""} else str(tmp_path / what)
    if what == "closed":
        home = request.getfixturevalue("closed")
    async with make(home) as target:
        for act in (target.submit(shell("true")), target.new_job_directory(), target.preview(shell("true"))):
            with pytest.raises(
                ScriptFailedError, match=r"jobs cannot work in the home of .* UspaceRoot"
            ) as caught:
                await act
            assert f"'{home}'" in caught.value.message
        assert not [*target.store.list_all_jobs()]


async def test_a_home_that_others_can_write(tmp_path: Path, make: Make) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o777)
    async with make(home) as target:
        with pytest.raises(
            OSProfileError, match="is not a safe directory for a job, because others can change"
        ):
            await target.submit(shell("true"))
        home.chmod(0o755)
        assert (await target.wait(await target.submit(shell("true")))).exit_code == 0


async def test_a_host_that_is_away_has_not_submitted_anything(tmp_path: Path, make: Make) -> None:
    (tmp_path / "there.away").touch()
    async with make(tmp_path, **{"SSH:HOST": "me@there"}) as target:
        with pytest.raises(TargetError, match=r"No route to host.*nothing was submitted"):
            await target.submit(shell("true"), key="k")
        assert not [*target.store.list_all_jobs()]
