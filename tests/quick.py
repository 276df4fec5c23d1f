"""Write tests/quick.txt: the files that `make check` leaves out, as their tests take longest.

Get the durations from `make test PYTEST=--junitxml=report.xml`; then run `python -m tests.quick report.xml`.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Final

from lxml import etree

_SECONDS: Final = 120
"""How long the tests of the other files take together, one after the other."""


def choose_long_files(report: str) -> list[str]:
    """Return the longest files of a JUnit report; the others take `_SECONDS` together."""
    durations: dict[str, float] = defaultdict(float)
    for case in etree.parse(report).iter("testcase"):
        durations[case.attrib["classname"].replace(".", "/") + ".py"] += float(case.attrib["time"])
    left = float(_SECONDS)
    long = []
    for file, seconds in sorted(durations.items(), key=lambda item: item[1]):
        left -= seconds
        if left < 0:
            long.append(file)
    return sorted(long)


if __name__ == "__main__":
    files = choose_long_files(sys.argv[1])
    Path("tests/quick.txt").write_text("\n".join(["tests", *(f"--ignore={file}" for file in files)]))
