"""What a Prometheus server would read of a daemon: by its own parser, from the port or the file."""

from __future__ import annotations

import re
import time
import urllib.request
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Numbers:
    """The samples of one answer."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self._samples = [sample for family in self.families.values() for sample in family.samples]

    def sum(self, name: str, **labels: str) -> float:
        """Return the sum of the samples that have these labels."""
        return sum(s.value for s in self._samples if s.name == name and labels.items() <= s.labels.items())

    def labels(self, name: str, label: str) -> set[str]:
        """Return the values of a label."""
        return {sample.labels[label] for sample in self._samples if sample.name == name}


def read_port(log: Path) -> Callable[[], Numbers]:
    """Return a function that asks the port that is in a daemon's log."""
    until = time.monotonic() + PATIENCE
    while (match := re.search(r"served at (http://127\S+)", log.read_text() if log.exists() else "")) is None:
        assert time.monotonic() < until
        time.sleep(0.02)

    def read() -> Numbers:
        with urllib.request.urlopen(match[1], timeout=PATIENCE) as answer:  # noqa: S310  # a loopback address
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            return Numbers(answer.read().decode())

    return read


def await_numbers(read: Callable[[], Numbers], condition: Callable[[Numbers], object]) -> Numbers:
    """Read until a condition holds."""
    until = time.monotonic() + PATIENCE
    while not condition(numbers := read()):
        assert time.monotonic() < until, numbers.families
        time.sleep(0.05)
    return numbers
