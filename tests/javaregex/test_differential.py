"""Random patterns on random values, compared with a live java.

OSPROFILE_SEED chooses others, OSPROFILE_ROUNDS how many.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from random import Random

import pytest

from tests.hunting import rounds
from tests.javaregex.generator import CaseGenerator, ask_java, compare_answers, run_case


def _has_java_17() -> bool:
    if shutil.which("java") is None:
        return False
    done = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    return 'version "17' in done.stderr


@pytest.mark.skipif(not _has_java_17(), reason="needs a JDK 17's java on the PATH")
def test_no_result_differs_from_java() -> None:
    generator = CaseGenerator(Random(int(os.environ.get("OSPROFILE_SEED", "1"))))
    cases = [generator.make_case() for _ in range(int(os.environ.get("OSPROFILE_ROUNDS", rounds(3000, 600))))]
    verdicts: Counter[str] = Counter()
    for case, java in zip(cases, ask_java(cases), strict=True):
        found = compare_answers(case, java)
        verdicts[found] += 1
        assert found != "DIFFERENT", (case, java, run_case(case))
    compared = len(cases) - verdicts["left out"]
    assert verdicts["equal"] >= 0.995 * compared
    assert verdicts["halves"] <= 1 + compared // 2000
