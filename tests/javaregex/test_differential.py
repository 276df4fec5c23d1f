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

from tests.javaregex.generator import Maker, answer, ask_java, verdict


def _has_java_17() -> bool:
    if shutil.which("java") is None:
        return False
    told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    return 'version "17' in told.stderr


@pytest.mark.skipif(not _has_java_17(), reason="needs a JDK 17's java on the PATH")
def test_no_result_differs_from_java() -> None:
    maker = Maker(Random(int(os.environ.get("OSPROFILE_SEED", "1"))))
    cases = [maker.case() for _ in range(int(os.environ.get("OSPROFILE_ROUNDS", "3000")))]
    told: Counter[str] = Counter()
    for case, java in zip(cases, ask_java(cases), strict=True):
        found = verdict(case, java)
        told[found] += 1
        assert found != "DIFFERENT", (case, java, answer(case))
    compared = len(cases) - told["left out"]
    assert told["equal"] >= 0.995 * compared
    assert told["halves"] <= 1 + compared // 2000
