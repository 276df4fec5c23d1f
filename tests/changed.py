"""Print the test files of what changed since the last commit, or in it where nothing changed since: `make changed`.

A module is tested by the files that import it, or are named after it; where there are none, by those of the modules
that import it, or else by those of its package. What is read as data by many is in docs/architecture.md's table "What to
change for what", whose tests are added.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PLACES = {
    "README.md": ("tests/docs",),
    "osprofile/page": ("tests/page",),
    "cli.py": ("tests/test_package.py",),
    "pyproject.toml": ("tests/test_package.py", "tests/test_wheel.py"),
}
"""The tests of what is no module, by the beginning of its path."""
ELSEWHERE = {
    "tests/lab": "make lab",
    "tests/browser": "make browser",
    "tests/plugins": "make plugins",
    "osprofile/plugins": "make plugins",
    "plugins": "make plugins",
    "benchmarks": "make bench",
}


@cache
def read_table() -> list[tuple[set[str], set[str]]]:
    """Return the files and folders of each row of the table "What to change for what", with their tests."""
    text = (ROOT / "docs/architecture.md").read_text().partition("\n## What to change for what\n")[2]
    rows = [line.split("|")[1:-1] for line in text.partition("\n## ")[0].splitlines() if line[:1] == "|"]
    return [
        (
            {*re.findall(r"`((?:osprofile|profiles|schemas)[\w./]*|docs)`", edit)},
            {*re.findall(r"`(tests/[\w./]+)`", tests)},
        )
        for _, edit, tests in rows
    ]


@cache
def list_tests() -> list[Path]:
    """Return the test files that `make test` runs."""
    found = (path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py"))
    return sorted(path for path in found if find_place(path, ELSEWHERE) is None)


def find_place(path: Path, places: dict[str, str] | dict[str, tuple[str, ...]]) -> str | None:
    """Return the longest of the places in which a path is."""
    found = [place for place in places if path.is_relative_to(place)]
    return max(found, key=len, default=None)


def read_imports(path: Path) -> Iterator[str]:
    """Yield the modules that a file may import, at its top or later: `a.b` and `a.b.c` for `from a.b import c`."""
    statements: list[ast.AST] = [ast.parse((ROOT / path).read_bytes())]
    for node in statements:  # `ast.walk` would go through the expressions, too
        for block in ("body", "handlers", "orelse", "finalbody", "cases"):
            statements += getattr(node, block, ())
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


@cache
def read_importers() -> dict[str, set[Path]]:
    """Return the files that import each module."""
    files = [*(p.relative_to(ROOT) for p in (ROOT / "osprofile").rglob("*.py")), *list_tests()]
    importers = defaultdict(set)
    for path in files:
        for module in read_imports(path):
            importers[module].add(path)
    return importers


def choose_tests(path: Path) -> set[str]:
    """Return the tests of a file; an empty set if there are none here."""
    if path.is_relative_to("tests"):
        with_tests = {test.parent for test in list_tests()}
        folders = [str(folder) for folder in path.parents if folder in with_tests]
        return {str(path)} if path in list_tests() else {*folders[:1]} - {"tests"}
    chosen = set(PLACES.get(find_place(path, PLACES) or "", ()))
    if path.suffix == ".py" and path.is_relative_to("osprofile"):
        chosen |= {str(test) for test in choose_module_tests(path)}
    folder = Path("tests", *path.parts[1:-1])
    # imported by a name that is made: a command of `incarnate`, say
    if path.is_relative_to("osprofile") and not chosen:
        while not (ROOT / folder).is_dir():
            folder = folder.parent
        chosen.add("tests/test_package.py" if folder == Path("tests") else str(folder))
    return chosen.union(*(tests for places, tests in read_table() if any(map(path.is_relative_to, places))))


def choose_module_tests(path: Path) -> set[Path]:
    """Return the tests of a module, or else those of the modules that import it, and so on."""
    seen: set[Path] = set()
    level = {path}
    while level:
        found = {test for module in level for test in list_direct_tests(module)}
        if found:
            return found
        seen |= level
        names = {module: get_module_name(module) for module in level}
        level = {user for name in names.values() for user in read_importers().get(name, ())} - seen
    return set()


def get_module_name(path: Path) -> str:
    """Return the name by which a file is imported."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def list_direct_tests(path: Path) -> Iterator[Path]:
    """Yield the test files that import a module, or are named after it."""
    importers = read_importers().get(get_module_name(path), set())
    folder = Path("tests", *path.parts[1:-1])
    for test in list_tests():
        is_named = test.parent == folder and f"{test.stem}_".startswith(f"test_{path.stem}_")
        if test in importers or is_named:
            yield test


def list_changes() -> list[Path]:
    """Return the files that changed since the last commit, or else in it."""
    for command in (
        ("diff --name-only HEAD", "ls-files --others --exclude-standard"),
        ("diff --name-only HEAD~1 HEAD",),
    ):
        texts = [subprocess.check_output(["git", *c.split()], cwd=ROOT, text=True) for c in command]
        if paths := sorted({Path(line) for text in texts for line in text.splitlines()}):
            return paths
    return []


def main() -> None:
    """Print the tests, and on standard error what has none here."""
    chosen: set[str] = set()
    for path in list_changes():
        if place := find_place(path, ELSEWHERE):
            print(f"{path}: {ELSEWHERE[place]}", file=sys.stderr)  # noqa: T201
        elif tests := {test for test in choose_tests(path) if (ROOT / test).exists()}:
            chosen |= tests
        else:
            print(f"{path}: has no test", file=sys.stderr)  # noqa: T201
    print("\n".join(sorted(chosen)))  # noqa: T201


if __name__ == "__main__":
    main()
