"""What JDK 17 was recorded to do: see RecordVectors.java and record.py."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest

from tests.javaregex.generator import Case, compare_answers, run_case
from tests.javaregex.record import VECTORS

MAY_REFUSE = {"canonical equivalence is not supported", "nothing on the right of && in a character class"}


@pytest.fixture(scope="module")
def vectors() -> list[tuple[Case, list[object]]]:
    lines = gzip.decompress(VECTORS.read_bytes()).decode("ascii").splitlines()
    rows = [json.loads(line) for line in lines]
    return [(Case(*row[:3]), row[3:]) for row in rows]


def test_there_are_enough_vectors_of_every_kind(vectors: list[tuple[Case, list[object]]]) -> None:
    kinds = Counter(java[0] for _, java in vectors)
    assert kinds["ok"] >= 6000
    assert kinds["bad pattern"] >= 600
    assert kinds["bad replacement"] >= 500


def test_every_vector(vectors: list[tuple[Case, list[object]]]) -> None:
    verdicts: Counter[str] = Counter()
    for case, java in vectors:
        found = compare_answers(case, java)
        verdicts[found] += 1
        assert found != "DIFFERENT", (case, java, run_case(case))
        if found == "refused" and len(ours := run_case(case)) > 2:
            assert ours[2] in MAY_REFUSE, case
    assert verdicts["equal"] >= 0.99 * len(vectors)
    assert verdicts["halves"] <= 2
