"""The house rules of the shell programs in `profiles/`: `make lint` runs it.

shfmt has formatted them, a line has at most 100 columns and two `&&`, and a function at most 30 lines; a function of
awk inside one counts by itself. Bodies with replacements are no shell yet: they are left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

PROFILES = Path(__file__).parents[1] / "profiles"
SHFMT = Path(sysconfig.get_path("scripts"), "shfmt")
MAX_COLUMNS = 100
MAX_FUNCTION_LINES = 30
MAX_AND = 2
REPLACEMENT = re.compile(r"<[A-Z][A-Z_:]*[/>]")
FUNCTION = re.compile(r"(\w+)\(\) [{(]( #.*)?$")


def find_problems(path: Path) -> list[str]:
    """Return the lines that break a rule, as `file:line: what`."""
    problems = []
    begin, name = 0, ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if len(line) > MAX_COLUMNS:
            problems.append(f"{path}:{number}: {len(line)} columns, at most {MAX_COLUMNS}")
        if line.count("&&") > MAX_AND:
            problems.append(f"{path}:{number}: more than {MAX_AND} && in a command")
        if found := FUNCTION.match(line):
            begin, name = number, found[1]
        elif begin and line in {"}", ")"}:
            if (count := number - begin - 1) > MAX_FUNCTION_LINES:
                problems.append(f"{path}:{begin}: {name} has {count} lines, at most {MAX_FUNCTION_LINES}")
            begin = 0
    return problems


def main() -> int:
    """Print each problem; 1 if there are some."""
    paths = sorted(p for p in PROFILES.glob("*/*.sh") if not REPLACEMENT.search(p.read_text()))
    problems = [problem for path in paths for problem in find_problems(path)]
    print("".join(f"{problem}\n" for problem in problems), end="")  # noqa: T201
    formatted = subprocess.run([SHFMT, "-ln", "posix", "-i", "2", "-sr", "-d", *paths], check=False)
    return 1 if problems or formatted.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
