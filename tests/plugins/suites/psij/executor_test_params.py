"""The executor and the launcher of one run of a test."""

from dataclasses import dataclass


@dataclass
class ExecutorTestParams:
    executor: str
    launcher: str
