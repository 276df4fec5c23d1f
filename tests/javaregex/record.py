"""Write vectors.json.gz anew: python -m tests.javaregex.record, with JDK 17's java."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from random import Random

from tests.javaregex.generator import Case, CaseGenerator, ask_java
from tests.javaregex.handwritten import cases

VECTORS = Path(__file__).with_name("vectors.json.gz")
SEED = 17
RANDOM = 3000


def main() -> None:
    """Ask Java about the cases by hand, and about random ones."""
    asked = [Case(*case) for case in cases()]
    generator = CaseGenerator(Random(SEED))
    asked += [generator.make_case() for _ in range(RANDOM)]
    lines = [json.dumps([*case, *answer]) for case, answer in zip(asked, ask_java(asked), strict=True)]
    VECTORS.write_bytes(gzip.compress("\n".join(lines).encode("ascii"), mtime=0))
    sys.stdout.write(f"{len(lines)} vectors\n")


if __name__ == "__main__":
    main()
