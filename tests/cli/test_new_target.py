"""`incarnate new --workspace`: a profile for one's own account, which is tried at once; and the default profile."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from osprofile.incarnation.context import get_user_name
from osprofile.profile import repository
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Ended, Incarnate


@pytest.fixture
def new(incarnate: Incarnate, tmp_path: Path) -> Incarnate:
    """Write a profile `mine` over `linux` whose jobs work below tmp_path."""

    def run(*words: str, workspace: str = str(tmp_path / "work")) -> Ended:
        return incarnate("new", "mine", "--extends", "linux", "--workspace", workspace, *words)

    return run


def test_a_profile_that_works_is_written(
    new: Incarnate, incarnate: Incarnate, home: Path, tmp_path: Path
) -> None:
    file = home / ".config/osprofile/profiles/mine/profile.xml"
    ended = new("--try")
    assert (ended.code, ended.out) == (0, f"{file}\n")
    lines = ended.err.splitlines()
    assert lines[0] == f"mine: the login works, and {tmp_path}/work/{get_user_name()} can be written"
    assert lines[1] == "mine: the batch system answers (0 jobs listed)"
    assert lines[-2].endswith("which sees the workspace")
    assert lines[-1] == "ready: incarnate job submit -p mine PROGRAM"
    assert Repository([]).load("mine").uspace_root == str(tmp_path / "work")
    assert incarnate("lint", "mine").code == 0
    ended = new()
    assert (ended.code, f"{file} exists" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("workspace", "root"), [("/var/tmp/{user}", "/var/tmp"), ("/var/tmp/{user}/", "/var/tmp"), ("/var/tmp/", "/var/tmp")]
)  # fmt: skip
def test_a_workspace_that_ends_with_the_user(new: Incarnate, workspace: str, root: str) -> None:
    """Jobs work in UspaceRoot/USER: both names of the directory mean the same."""
    assert new(workspace=workspace.format(user=get_user_name())).code == 0
    assert Repository([]).load("mine").uspace_root == root


@pytest.mark.parametrize(
    ("words", "workspace", "expected"),
    [
        ((), "/proc/none", (1, "hint: --workspace DIR names a directory of yours")),
        ((), "work", (2, "--workspace 'work' is not an absolute path")),
        (("--host", "me@"), "/var/tmp", (1, "field SSH:HOST: 'me@' does not match")),
        (("--host", "-oProxyCommand=touch x"), "/var/tmp", (1, "field SSH:HOST")),
        (("--host", "me@127.0.0.1:1"), "/var/tmp", (1, "incarnate login me@127.0.0.1")),
        (("--host", "me@h:99999"), "/var/tmp", (1, "field SSH:PORT")),
        (("--host", ""), "/var/tmp", (2, "--host '' does not name a host")),
        (("--batch-system",), "/var/tmp", (2, "cannot be used together")),
    ],
)
def test_what_does_not_work_leaves_nothing(
    new: Incarnate, home: Path, words: tuple[str, ...], workspace: str, expected: tuple[int, str]
) -> None:
    ended = new(*words, workspace=workspace)
    assert (ended.code, ended.out) == (expected[0], "")
    assert expected[1] in ended.err
    assert not (home / ".config/osprofile/profiles/mine").exists()


def test_the_users_default_profile(incarnate: Incarnate, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / ".config/osprofile/config.toml"
    file.parent.mkdir(parents=True)
    assert incarnate("show", "--fields").code == 2
    file.write_text('default = "slurm"\n')
    assert incarnate("show", "--fields").out == incarnate("show", "--fields", "-p", "slurm").out
    monkeypatch.setenv("OSPROFILE_PROFILE", "linux")
    assert incarnate("show", "--fields").out == incarnate("show", "--fields", "-p", "linux").out


@pytest.mark.parametrize(
    "text",
    [
        "default = 3\n", "default = [\n", 'other = "x"\n', "\xff",
        "default = " + "1" * 5000, "default = " + "[" * 5000,
    ],
    ids=lambda text: repr(text[:20]),
)  # fmt: skip
def test_a_configuration_with_errors(incarnate: Incarnate, home: Path, text: str) -> None:
    file = home / ".config/osprofile/config.toml"
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode("latin-1"))
    ended = incarnate("job", "submit", "true")
    assert ended.code in {2, 125}
    assert str(file) in ended.err
    assert 'default = "NAME"' in ended.err
    shutil.rmtree(file.parent)


SINFO = """#!/bin/sh
cat <<'END'
debug*|up|30:00|10:00|1-2|all|64000|(null)
gpu.a100|up|1-00:00:00|n/a|1-infinite|ai,staff|256000|gpu:a100:4
END
"""
QUEUES = """\
    <idb:Field name="QUEUE" ext:pattern="debug|gpu\\.a100">
      <idb:Description>The queue (Slurm: partition). Empty: the default queue.</idb:Description>
      <idb:Tag name="">debug</idb:Tag>
      <idb:Default>debug</idb:Default>
    </idb:Field>
    <idb:Field name="WALLTIME" ext:for="QUEUE=debug"><idb:Max>1800</idb:Max><idb:Default>600</idb:Default></idb:Field>
    <idb:Field name="NODES" ext:for="QUEUE=debug"><idb:Max>2</idb:Max></idb:Field>
    <idb:Field name="MEMORY" ext:for="QUEUE=debug"><idb:Max>64000</idb:Max></idb:Field>
    <idb:Field name="GPUS" ext:for="QUEUE=debug"><idb:Max>0</idb:Max></idb:Field>
    <idb:Field name="WALLTIME" ext:for="QUEUE=gpu.a100"><idb:Max>86400</idb:Max></idb:Field>
    <idb:Field name="USER_GROUPS" ext:for="QUEUE=gpu.a100" ext:pattern="ai|staff"></idb:Field>
    <idb:Field name="MEMORY" ext:for="QUEUE=gpu.a100"><idb:Max>256000</idb:Max></idb:Field>
    <idb:Field name="GPUS" ext:for="QUEUE=gpu.a100"><idb:Max>4</idb:Max></idb:Field>
"""


def test_the_queues_of_the_batch_system(
    incarnate: Incarnate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sinfo").write_text(SINFO)
    (tmp_path / "bin/sinfo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    file = tmp_path / "profiles/mine/profile.xml"
    ended = incarnate("new", "mine", "--extends", "slurm", "--from-queues", "-o", str(tmp_path / "profiles"))
    place = "jobs work below ~/.gpe/work, which all nodes must see: else give --workspace DIR\n"
    assert (ended.code, ended.out, ended.err) == (0, f"{file}\n", place)
    assert QUEUES in file.read_text()
    assert incarnate("lint", str(file)).out == ""
    words = ("job", "submit", "-p", str(file), "--dry-run", "--gpus", "1", "--queue", "auto")
    ended = incarnate(*words, "--context", "USER_GROUPS=ai", "date")
    assert "#SBATCH --partition=gpu.a100\n" in ended.out
    assert "queue gpu.a100: the first" in ended.err
    ended = incarnate("new", "mine", "--extends", "linux", "--from-queues")
    assert (ended.code, ended.out) == (2, "")
    assert "--from-queues: profile mine lists no queues" in ended.err
    (tmp_path / "bin/sinfo").write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2; exit 1\n")
    ended = incarnate("new", "other", "--extends", "slurm", "--from-queues", "-o", str(tmp_path / "profiles"))
    assert ended.code != 0
    assert "Unable to contact slurm controller" in ended.err
    assert not (tmp_path / "profiles/other").exists()


def test_the_default_profile_of_a_site(
    incarnate: Incarnate, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "SITE_DIRECTORY", str(tmp_path / "etc"))
    assert "no profile is given" in incarnate("START").err
    for directory, name in ((tmp_path / "etc", "slurm"), (home / ".config/osprofile", "pbs")):
        directory.mkdir(parents=True)
        (directory / "config.toml").write_text(f'default = "{name}"\n')
        assert incarnate("show").out.startswith(f"profile {name} ")
