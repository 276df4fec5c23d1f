"""A configuration for Parsl's own tests, as its `htex_local.py`: `pytest parsl/tests --config THIS`.

OSPROFILE_SUITE_PROFILE is the profile of the blocks; without it, Parsl's LocalProvider starts them.
"""

import os

from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SimpleLauncher
from parsl.providers import LocalProvider

from osprofile.plugins.parsl import OSProfileProvider


def fresh_config() -> Config:
    """Return the configuration; Parsl's conftest looks for this name."""
    profile = os.environ.get("OSPROFILE_SUITE_PROFILE")
    provider = (
        OSProfileProvider(profile, launcher=SimpleLauncher(), store=os.environ["OSPROFILE_STORE"])
        if profile
        else LocalProvider(launcher=SimpleLauncher())
    )
    executor = HighThroughputExecutor(
        label="htex_local",
        address="127.0.0.1",
        loopback_address="127.0.0.1",
        worker_debug=True,
        cores_per_worker=1,
        encrypted=True,
        provider=provider,
    )
    return Config(executors=[executor], strategy="none")
