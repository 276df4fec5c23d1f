"""The machine of the tests of `incarnate job`: a profile `here`, a record, and a stand-in for ssh."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile import Executor
from tests.cli.conftest import home
from tests.cli.job.conftest import Machine, machine

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["home", "machine"]


@pytest.fixture
def executor(machine: Machine) -> Iterator[Executor]:  # noqa: ARG001  # the profile is its own
    with Executor("here") as executor:
        yield executor
        executor.shutdown(cancel_futures=True)
    executor.session.close()
