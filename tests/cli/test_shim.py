"""The stand-ins as files; what they do is in tests/shim."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from osprofile.cli.shim import format_stand_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Incarnate


def call(path: Path, *words: str, **environment: str) -> tuple[int, str, str]:
    """Run a stand-in with a small environment."""
    base = {"HOME": os.environ["HOME"], "PATH": "/usr/bin:/bin", **environment}
    done = subprocess.run([path, *words], capture_output=True, text=True, check=False, env=base)
    return done.returncode, done.stdout, done.stderr


def test_a_stand_in_has_the_search_path_of_its_writer(
    incarnate: Incarnate, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSPROFILE_PATH", str(site.parent))
    assert incarnate("shim", str(tmp_path / "a b" / "bin"), "-p", "site", "--as", "slurm").code == 0
    monkeypatch.delenv("OSPROFILE_PATH")
    code, out, err = call(
        tmp_path / "a b" / "bin" / "sbatch", "--parsable", "-o", "/dev/null", "--wrap", "true"
    )
    assert (code, out, err) == (0, "1\n", "")


def test_a_stand_in_is_replaced_and_nothing_else(incarnate: Incarnate, tmp_path: Path) -> None:
    place = tmp_path / "a" / ("long" * 20)
    place.mkdir(parents=True)
    words = ("shim", str(place), "-p", "linux", "--as", "slurm")
    assert incarnate(*words).code == incarnate(*words).code == 0
    (place / "scancel").write_text("#!/bin/sh\necho the real one\n")
    before = (place / "sbatch").stat().st_mtime_ns
    ended = incarnate(*words, "--host", "h")
    assert (ended.code, f"'{place}/scancel' exists, and is not a stand-in" in ended.err) == (2, True)
    assert (place / "sbatch").stat().st_mtime_ns == before
    assert (place / "scancel").read_text() == "#!/bin/sh\necho the real one\n"


@pytest.mark.parametrize("name", ["it's blank", "long" * 40])
def test_an_interpreter_that_no_line_can_name(tmp_path: Path, name: str) -> None:
    python = tmp_path / name / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    settings = '{"profile": "it\'s", "profiles": [], "context": {}, "target": "x", "store": ":memory:"}'
    stand_in = tmp_path / "squeue"
    stand_in.write_text(format_stand_in(str(python), "slurm", "squeue", settings))
    stand_in.chmod(0o755)
    code, out, err = call(stand_in, "--help")
    assert (code, err) == (0, "")
    assert out.startswith("usage: squeue ")
    assert call(stand_in, "-j", "x y")[2].startswith("squeue: error: -j: 'x y' is not the id of a job")


def test_a_profile_that_is_gone(incarnate: Incarnate, site: Path, tmp_path: Path) -> None:
    assert incarnate("shim", str(tmp_path / "bin"), "-p", str(site), "--as", "pbs").code == 0
    site.write_text(site.read_text().replace('name="site"', 'name="other"'))
    script = tmp_path / "job"
    script.write_text("true\n")
    code, out, err = call(tmp_path / "bin" / "qsub", str(script))
    assert (code, out, "write the stand-ins again" in err) == (1, "", True)
    site.unlink()
    code, out, err = call(tmp_path / "bin" / "qsub", str(script))
    assert (code != 0, out) == (True, "")
    assert str(site) in err
