"""What `incarnate job submit` makes of the directives of real job scripts, by the bundled profiles.

Each file of `headers` is a script; its name begins with the profile's. What is asked for is in one golden file for each
profile.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.incarnation.context import get_user_name

if TYPE_CHECKING:
    from pytest_regressions.file_regression import FileRegressionFixture

    from tests.cli.job.conftest import Machine

HEADERS = Path(__file__).parent / "headers"
PROFILES = ("slurm", "pbs", "torque", "lsf", "sge")
REFUSED = {
    "slurm-23.sh", "slurm-24.sh", "slurm-25.sh", "slurm-31.sh",
    "pbs-08.sh", "pbs-10.sh", "sge-05.sh",
}  # fmt: skip
"""What asks for something that has no field, or is no header of that batch system."""


def describe(machine: Machine, profile: str, name: str) -> str:
    """Return what is told of a script: its fields, each with its directive, and the directives that the job has."""
    shutil.copy(HEADERS / name, machine.root / name)
    ended = machine.run("job", "submit", "-p", profile, "--dry-run", "--json", f"./{name}")
    text = f"=== {name}\n{ended.err.replace(str(machine.root), '/HERE')}"
    assert (ended.code == 0) == (name not in REFUSED), ended
    if ended.code:
        assert f"incarnate: {name}:" in ended.err
        assert "    hint: " in ended.err
        assert ended.out == ""
        return text
    told = json.loads(ended.out)
    for field, value in told["fields"].items():
        where = told["directives"].get(field, "")
        shown = re.sub(r"\A.{400}.*", "...", value, flags=re.DOTALL)
        text += f"{field} = {shown.replace(str(machine.root), '/HERE')!r}{f'  <- {where}' if where else ''}\n"
    prefix = {"slurm": "#SBATCH", "lsf": "#BSUB", "sge": "#$"}.get(profile, "#PBS")
    lines = [line for line in told["script"].splitlines() if line.startswith(prefix)]
    return "\n".join([text.rstrip("\n"), *lines, ""])


@pytest.mark.parametrize("profile", PROFILES)
def test_headers(machine: Machine, profile: str, file_regression: FileRegressionFixture) -> None:
    names = sorted(path.name for path in HEADERS.glob(f"{profile}-*.sh"))
    texts = [describe(machine, profile, name) for name in names]
    user = get_user_name()
    text = "\n".join(texts).replace(f"NOTIFY = '{user}'", "NOTIFY = 'USER'")
    text = text.replace(f"--mail-user={user}\n", "--mail-user=USER\n")
    file_regression.check(text, basename=profile, encoding="utf-8")
