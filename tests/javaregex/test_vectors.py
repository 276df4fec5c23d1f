"""What JDK 17 was recorded to do: see RecordVectors.java and record.py."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest

from tests.javaregex.generator import Case, answer, verdict
from tests.javaregex.record import VECTORS

MAY_REFUSE = {
    "canonical equivalence is not supported",
    "nothing on the right of && in a character class",
}


@pytest.fixture(scope="module")
def vectors() -> list[tuple[Case, list[object]]]:
    lines = gzip.decompress(VECTORS.read_bytes()).decode("ascii").splitlines()
    loaded = [json.loads(line) for line in lines]
    return [(Case(*one[:3]), one[3:]) for one in loaded]


def test_there_are_enough_vectors_of_every_kind(vectors: list[tuple[Case, list[object]]]) -> None:
    kinds = Counter(java[0] for _, java in vectors)
    assert kinds["ok"] >= 6000
    assert kinds["bad pattern"] >= 600
    assert kinds["bad replacement"] >= 500


def test_every_vector(vectors: list[tuple[Case, list[object]]]) -> None:
    told: Counter[str] = Counter()
    for case, java in vectors:
        found = verdict(case, java)
        told[found] += 1
        assert found != "DIFFERENT", (case, java, answer(case))
        if found == "refused" and len(ours := answer(case)) > 2:
            assert ours[2] in MAY_REFUSE, case
    assert told["equal"] >= 0.99 * len(vectors)
    assert told["halves"] <= 2
