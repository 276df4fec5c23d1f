"""Choose the files that `make check` runs: those whose tests take least, until a minute of two processors is full.

`make test PYTEST=--junitxml=report.xml` on an idle machine measures them, and `python -m tests.quick report.xml` writes
tests/quick.txt: a file of tests, and how many seconds it took, in each line. A new file of tests is not in it until then.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Final

from lxml import etree

LIST: Final = Path("tests/quick.txt")
SECONDS: Final = 190.0
"""How long the tests may take by the report, as of `make test` in which six workers share two processors."""


def read_durations(report: str) -> dict[str, float]:
    """Return the seconds of each file of tests in a JUnit report."""
    durations: dict[str, float] = defaultdict(float)
    for case in etree.parse(report).iter("testcase"):
        durations[case.attrib["classname"].replace(".", "/") + ".py"] += float(case.attrib["time"])
    return durations


def choose_files(durations: dict[str, float]) -> dict[str, float]:
    """Return the shortest file of each folder, and the shortest of the others, with their seconds."""
    by_time = sorted(durations, key=lambda file: durations[file])
    first = {str(Path(file).parent): file for file in reversed(by_time)}
    chosen: dict[str, float] = {}
    for file in [*first.values(), *(file for file in by_time if file not in first.values())]:
        if sum(chosen.values()) + durations[file] <= SECONDS:
            chosen[file] = durations[file]
    return chosen


def read_list() -> dict[str, float]:
    """Return the files that `make check` runs, with their seconds."""
    pairs = (line.split() for line in LIST.read_text(encoding="utf-8").splitlines())
    return {file: float(seconds) for file, seconds in pairs}


if __name__ == "__main__":
    files = choose_files(read_durations(sys.argv[1]))
    LIST.write_text("".join(f"{file} {seconds:.2f}\n" for file, seconds in sorted(files.items())))
