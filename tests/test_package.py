"""The package from outside: its public names, and what importing it costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import osprofile

# docs/architecture.md, Performance guarantees; the rest are costly modules of the standard library.
NOT_LOADED = [
    "lxml", "xmlschema", "typer", "regex", "asyncio",
    "dataclasses", "importlib.metadata", "inspect", "pathlib", "typing", "xml", "sqlite3",
]  # fmt: skip


def in_python(code: str, *options: str) -> str:
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout


def test_import_loads_nothing_that_costs() -> None:
    # -I -S: what site-packages' own .pth files load is not ours.
    path = [p for p in sys.path if p]
    code = f"import sys; sys.path[:] = {path!r}; import osprofile; print(*sys.modules)"
    loaded = set(in_python(code, "-I", "-S").split())
    assert {"osprofile"} == {name for name in loaded if name.startswith("osprofile")}
    assert [name for name in NOT_LOADED if name in loaded] == []


def test_a_valid_profile_is_read_without_the_explaining_engine() -> None:
    code = "import sys, osprofile; osprofile.load('linux'); print(*sys.modules)"
    loaded = set(in_python(code).split())
    assert [name for name in ("xmlschema", "typer", "asyncio", "regex") if name in loaded] == []


def test_exports() -> None:
    names = dir(osprofile)
    assert vars(osprofile)["__all__"] == names
    for name in names:
        assert getattr(osprofile, name).__doc__, name


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(osprofile.__file__).read_bytes())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    found = {alias.asname: node.module for node in imports for alias in node.names}
    assert found == osprofile._MODULE_BY_NAME


def test_star_import() -> None:
    names: dict[str, object] = {}
    exec("from osprofile import *", names)  # noqa: S102  # the star is what is tested
    assert {*dir(osprofile)} <= {*names}


def test_no_such_name() -> None:
    with pytest.raises(AttributeError, match="module 'osprofile' has no attribute 'incarnatte'"):
        osprofile.incarnatte  # noqa: B018


def test_version() -> None:
    assert osprofile.__version__.count(".") == 2


def test_load_gives_a_bundled_profile() -> None:
    assert osprofile.load("linux").name == "linux"
