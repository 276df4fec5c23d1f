"""What PSI/J's tests share."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from psij import Job, JobAttributes, JobExecutor, JobState, JobStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor_test_params import ExecutorTestParams


def _make_test_dir() -> Path:
    directory = Path.home() / ".psij" / "test"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _get_timeout(_params: ExecutorTestParams) -> timedelta:
    return timedelta(minutes=10)


def _get_executor_instance(params: ExecutorTestParams, job: Job | None = None) -> JobExecutor:
    if job is not None:
        assert job.spec is not None
        job.spec.launcher = params.launcher
        job.spec.attributes = JobAttributes()
    return JobExecutor.get_instance(params.executor)


def assert_completed(job: Job, status: JobStatus | None, attached: bool = False) -> None:
    assert status is not None
    assert status.state == JobState.COMPLETED, f"{job}, {attached=}: {status}"


@contextlib.contextmanager
def _deploy(file: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=_make_test_dir()) as directory:
        yield Path(shutil.copy(file, directory))
