"""The table of what a job is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from osprofile.jobs.fields import DEPENDENCY_ATTRIBUTES, FIELD_BY_ATTRIBUTE, FIELDS, JobDescription

ROOT = Path(__file__).parents[2]
ROW = """    frobs: Annotated[Text, JobField("FROBS", "What it takes of frobs.", "--frobs -L NAMES")] = None
"""
SITE = """<Profile xmlns="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
  xmlns:ext="urn:osprofile:extension" name="site" extends="slurm">
  <UspaceRoot>/tmp</UspaceRoot><Delimiter>/</Delimiter>
  <idb:Template name="">
    <idb:Field name="FROBS" ext:directive="#SBATCH --frobs=$1" ext:pattern="[a-z:0-9]*">
      <idb:Description>Frobs.</idb:Description>
      <idb:Default/>
    </idb:Field>
  </idb:Template>
</Profile>
"""
SBATCH = """#!/bin/sh
for script do :; done
grep frobs "$script" >> "$HOME/asked"
echo $$
"""
PYTHON = """
from osprofile import JobDescription
from osprofile.jobs.request import build_request
from osprofile.page.submit_options import format_option
print(build_request(JobDescription(frobs="c")), format_option("FROBS"))
"""


def test_a_new_field_is_one_row_and_one_line_of_a_profile(tmp_path: Path) -> None:
    """The option, its short form, the column of a file, the attribute, the page: all come from the row."""
    for name in ("osprofile", "profiles", "schemas"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "golden"))
    for name in ("cli.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    table = tmp_path / "osprofile/jobs/fields.py"
    before, mark, after = table.read_text().partition("    exclusive: Annotated[\n")
    table.write_text(before + ROW + mark + after)
    (tmp_path / "site").mkdir()
    (tmp_path / "site/site.xml").write_text(SITE)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sbatch").write_text(SBATCH)
    (tmp_path / "bin/sbatch").chmod(0o755)
    (tmp_path / "jobs.csv").write_text("frobs\nb:2\n")
    environment = {
        "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "OSPROFILE_PATH": str(tmp_path / "site"),
        "PYTHONPATH": str(tmp_path),
    }

    def run(*words: str) -> str:
        command = [sys.executable, *words]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "-L, --frobs NAMES" in run("cli.py", "job", "submit", "--help", "all")
    run("cli.py", "job", "submit", "-p", "site", "-L", "a", "true")
    run("cli.py", "job", "submit", "-p", "site", "--from", "jobs.csv", "true")
    assert (tmp_path / "asked").read_text() == "#SBATCH --frobs=a\n#SBATCH --frobs=b:2\n"
    assert run("-c", PYTHON) == "{'FROBS': 'c'} --frobs NAMES\n"


def test_every_attribute_is_a_field_a_context_or_a_choice() -> None:
    others = {"working_directory", "application", "passed_options", "fields"}
    others |= {"inputs", "fetch", "fetch_to", "retry"}
    assert set(JobDescription.__slots__) == set(FIELD_BY_ATTRIBUTE) | set(DEPENDENCY_ATTRIBUTES) | others
    assert FIELDS.keys() == set(JobDescription.__slots__)


def test_each_option_is_that_of_one_attribute() -> None:
    flags = [flag for row in FIELDS.values() for flag in row.flags]
    assert len(flags) == len(set(flags))
    assert all(
        row.flags[0].startswith("--") and row.help.endswith(".") for row in FIELDS.values() if row.option
    )
