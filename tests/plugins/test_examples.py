"""The examples of docs/python.md, and a notebook."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from nbclient import NotebookClient

from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """Return an environment with an empty home, and the commands of this one."""
    bin_directory = os.path.dirname(sys.executable)
    return {"HOME": str(tmp_path), "PATH": f"{bin_directory}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("blocking.py", "[55, 5050, 500500]\n"),
        ("asynchronous.py", "[0, 3, 255]\n"),
        ("functions.py", "[168, 135, 127]\n1229\n"),
    ],
)
def test_a_program(name: str, output: str, environment: Mapping[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, output, "")


@pytest.mark.filterwarnings("default")  # of the packages that run the notebook
def test_a_notebook(environment: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", dict(environment))
    notebook = nbformat.read(EXAMPLES / "jobs.ipynb", as_version=4)
    assert all(cell.get("outputs", []) == [] for cell in notebook.cells), "commit it without its outputs"
    client = NotebookClient(notebook, timeout=PATIENCE, resources={"metadata": {"path": str(tmp_path)}})
    done = client.execute()
    outputs = [cell["outputs"] for cell in done.cells if cell.cell_type == "code"]
    assert "<Job " in outputs[0][0]["data"]["text/plain"]
    assert outputs[1][0]["text"] == "DONE 3 hello\n\n"
    assert outputs[2][0]["data"]["text/plain"] == "[1, 0]"
    assert outputs[3][0]["text"] == "REMOVED\n"
    assert outputs[4][0]["data"]["text/plain"] == "[4.0, ZeroDivisionError('division by zero')]"
