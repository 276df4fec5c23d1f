"""The wheel works from any directory: it holds the schemas and the profiles."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PROBE = """
import os, osprofile, sys
from osprofile.cli.command_line import run_command_line
from osprofile.profile import data_directories
assert osprofile.__file__.startswith(sys.argv[1]), osprofile.__file__
for path in (data_directories.get_schemas_directory(), data_directories.get_bundled_directory()):
    assert path.startswith(sys.argv[1]), path
assert run_command_line(["page", "--profile", "pbs", "-o", "page.html"]) == 0
assert run_command_line(["--version"]) == 0
sys.exit(run_command_line(["START", "--profile", "pbs"]))
"""


def test_the_wheel_from_another_directory(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "-w", str(wheels), str(CHECKOUT)], check=True)
    (wheel,) = wheels.iterdir()
    installed = tmp_path / "installed"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target"]
    subprocess.run([*install, str(installed), str(wheel)], check=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", PROBE, str(installed)],
        cwd=elsewhere,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "qsub" in ended.stdout
    check = [sys.executable, str(installed / "bin" / "incarnate"), "check", "pbs"]
    checked = subprocess.run(
        check,
        cwd=elsewhere,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout) == (2, "")
    assert checked.stderr == (
        "the golden cases of the bundled profile pbs are not installed: they are in the source of osprofile\n"
        "    hint: in a clone or an unpacked sdist of this version, run incarnate check profiles/pbs\n"
    )
    commit = subprocess.run(
        ["git", "-C", str(CHECKOUT), "rev-parse", "--short=12", "HEAD"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"({commit.stdout.strip()})\n" in ended.stdout
    assert "prefers-color-scheme" in (elsewhere / "page.html").read_text()
    files = {path.name for path in (installed / "osprofile" / "page").iterdir()}
    assert {"page.css", "page.js", "form.js"} <= files
    shipped, here = (
        {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}
        for root in (installed / "osprofile/_data/profiles", CHECKOUT / "profiles")
    )
    assert shipped == {name for name in here if "/golden/" not in name}
    assert "pbs/profile.xml" in shipped
    (metadata,) = installed.glob("osprofile_hpc-*.dist-info")
    licenses = {path.name for path in (metadata / "licenses").rglob("*") if path.is_file()}
    assert licenses == {"LICENSE", "unicode13.LICENSE"}
    names = {path.name for path in (installed / "bin").iterdir()}
    assert "incarnate" in names


def test_the_checkout_from_another_directory(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, str(CHECKOUT / "cli.py"), "show", "--list"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(CHECKOUT / "profiles" / "pbs") in ended.stdout
