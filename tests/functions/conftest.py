"""The machine of the tests of `incarnate job`: a profile `here`, a record, and a stand-in for ssh."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from osprofile import Executor, NoResultError
from tests.cli.conftest import home
from tests.cli.job.conftest import Machine, machine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

__all__ = ["home", "machine"]


@contextmanager
def open_executor(**options: Any) -> Iterator[Executor]:  # noqa: ANN401  # those of an executor
    """Yield an executor of the profile `here`; at the end, wait for its jobs and close its session."""
    with Executor("here", **options) as executor:
        yield executor
    executor.session.close()


def get_failure(future: Future[Any]) -> NoResultError:
    """Return why a job has ended without a result."""
    error = future.exception()
    assert isinstance(error, NoResultError)
    return error


@pytest.fixture
def executor(machine: Machine) -> Iterator[Executor]:  # noqa: ARG001  # the profile is its own
    with Executor("here") as executor:
        yield executor
        executor.shutdown(cancel_futures=True)
    executor.session.close()
