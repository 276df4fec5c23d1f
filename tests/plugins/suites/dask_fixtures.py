"""The fixtures of dask-jobqueue's own tests, for one class of clusters: `pytest -p dask_fixtures`.

OSPROFILE_SUITE_PROFILE is the profile of OSProfileCluster; without it, the tests are for dask-jobqueue's
LocalCluster. dask-jobqueue's conftest.py, which is not in its wheel, has the same fixtures for all of its clusters.
"""

import copy
import os
from typing import Any

import dask.config
import distributed.utils_test
import pytest
from dask_jobqueue import JobQueueCluster
from dask_jobqueue.local import LocalCluster

from osprofile.plugins import dask as plugin

profile = os.environ.get("OSPROFILE_SUITE_PROFILE")


class OSProfileCluster(plugin.OSProfileCluster):
    """The cluster with the first argument of dask-jobqueue's clusters; the profile is in the configuration."""

    def __init__(self, n_workers: int = 0, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(n_workers=n_workers, **settings)


OSProfileCluster.__doc__ = plugin.OSProfileCluster.__doc__  # there is a test of it
cluster_class: type[JobQueueCluster] = OSProfileCluster if profile else LocalCluster
section = f"jobqueue.{cluster_class.job_cls.config_name}"
values = {
    "profile": profile,
    "store": os.environ["OSPROFILE_STORE"],
    # On the loopback device, unless a test gives another address.
    "scheduler-options": {
        "host": os.environ.get("SUITE_ADDRESS", "127.0.0.1"),
        "dashboard_address": "127.0.0.1:0",
    },
}
dask.config.set({f"{section}.{key}": value for key, value in values.items()})
original_config = copy.deepcopy(dask.config.config)
DEFAULT_ADDRESS = {"test_config_interface", "test_forward_ip", "test_scheduler_options_interface"}
"""Tests of the address that a scheduler has by default."""
loop, loop_in_thread = distributed.utils_test.loop, distributed.utils_test.loop_in_thread


def make_cluster_for_pbs(*, job_extra_directives: list[str], **settings: Any) -> JobQueueCluster:  # noqa: ANN401
    """Make a cluster without PBS's option -V: jobs have the caller's environment."""
    assert job_extra_directives == ["-V"]
    return cluster_class(**settings)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    config.addinivalue_line("markers", "xfail_env(REASONS): fails for these batch systems")
    config.addinivalue_line("markers", "env(NAME): the batch system that the test needs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the tests for every cluster, and those for one batch system that start jobs."""
    general = {"test_job.py", "test_jobqueue_core.py"}
    selected = [item for item in items if item.path.name in general or item.get_closest_marker("env")]
    config.hook.pytest_deselected(items=[item for item in items if item not in selected])
    items[:] = selected


@pytest.fixture(autouse=True)
def _replace_clusters(cleanup: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    del cleanup  # it comes before
    if request.node.get_closest_marker("env"):
        monkeypatch.setattr(request.module, "PBSCluster", make_cluster_for_pbs, raising=False)
        monkeypatch.setattr(request.module, "SLURMCluster", cluster_class, raising=False)
        monkeypatch.setattr(request.module, "SGECluster", cluster_class, raising=False)
    elif request.node.name == "test_nworkers_scale":
        monkeypatch.setattr(request.module, "LocalCluster", cluster_class)
    elif request.node.name in DEFAULT_ADDRESS:
        dask.config.set({f"{section}.scheduler-options": {}})


def reset_config() -> None:
    """Restore the configuration, in place of distributed's function, which knows nothing of dask-jobqueue."""
    dask.config.config.clear()
    dask.config.config.update(copy.deepcopy(original_config))


distributed.utils_test.reset_config = reset_config


@pytest.fixture(autouse=True)
def cleanup() -> None:
    """Restore the configuration before each test, in place of distributed's fixture, as dask-jobqueue does."""
    reset_config()


@pytest.fixture(name="Cluster")
def cluster_fixture() -> type[JobQueueCluster]:
    """Return the class for the tests that start no job."""
    return cluster_class


@pytest.fixture(name="EnvSpecificCluster")
def live_cluster_fixture() -> type[JobQueueCluster]:
    """Return the class for the tests that start jobs."""
    return cluster_class
