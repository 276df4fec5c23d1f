"""The fixtures of dask-jobqueue's own tests, for one class of clusters: `pytest -p dask_fixtures`.

OSPROFILE_SUITE_PROFILE is the profile of OSProfileCluster; without it, the tests are for dask-jobqueue's
LocalCluster. dask-jobqueue's conftest.py, which is not in its wheel, has the same fixtures for all of its clusters.
"""

import copy
import os
from collections.abc import Iterator
from typing import Any

import dask.config
import distributed.utils_test
import pytest
from dask_jobqueue import JobQueueCluster
from dask_jobqueue.local import LocalCluster

from osprofile.plugins.dask import OSProfileCluster

profile = os.environ.get("OSPROFILE_SUITE_PROFILE")
cluster_class: type[JobQueueCluster] = OSProfileCluster if profile else LocalCluster
settings = {
    "profile": profile,
    "store": os.environ["OSPROFILE_STORE"],
    # The network is that of this machine, unless a test gives an address.
    "scheduler-options": {
        "host": os.environ.get("SUITE_ADDRESS", "127.0.0.1"),
        "dashboard_address": "127.0.0.1:0",
    },
}
dask.config.set({f"jobqueue.{cluster_class.job_cls.config_name}.{key}": value for key, value in settings.items()})
original_config = copy.deepcopy(dask.config.config)
loop, loop_in_thread = distributed.utils_test.loop, distributed.utils_test.loop_in_thread


def make_cluster_for_pbs(*, job_extra_directives: list[str], **settings: Any) -> JobQueueCluster:  # noqa: ANN401
    """Make a cluster without PBS's option -V: jobs have the caller's environment."""
    assert job_extra_directives == ["-V"]
    return cluster_class(**settings)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of the tests that start jobs."""
    config.addinivalue_line("markers", "env(NAME): the batch system that the test needs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the tests for every cluster, and those for one batch system that start jobs."""
    general = {"test_job.py", "test_jobqueue_core.py"}
    selected = [item for item in items if item.path.name in general or item.get_closest_marker("env")]
    config.hook.pytest_deselected(items=[item for item in items if item not in selected])
    items[:] = selected


@pytest.fixture(autouse=True)
def _replace_clusters(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("env"):
        monkeypatch.setattr(request.module, "PBSCluster", make_cluster_for_pbs, raising=False)
        monkeypatch.setattr(request.module, "SLURMCluster", cluster_class, raising=False)
        monkeypatch.setattr(request.module, "SGECluster", cluster_class, raising=False)
    elif request.node.name == "test_nworkers_scale":
        monkeypatch.setattr(request.module, "LocalCluster", cluster_class)


@pytest.fixture
def cleanup() -> Iterator[None]:
    """Replace the fixture of distributed, as dask-jobqueue's conftest.py does."""
    dask.config.config.clear()
    dask.config.config.update(copy.deepcopy(original_config))
    yield


@pytest.fixture(name="Cluster")
def cluster_fixture() -> type[JobQueueCluster]:
    """Return the class for the tests that start no job."""
    return cluster_class


@pytest.fixture(name="EnvSpecificCluster")
def live_cluster_fixture() -> type[JobQueueCluster]:
    """Return the class for the tests that start jobs."""
    return cluster_class
