"""Tests see no profile of the machine they run on: only the bundled ones and their own."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pathlib import Path

# The commands that tests start must not inherit that a signal is ignored, as under nohup or in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
# Where no bytecode is written, every command that tests start compiles osprofile, and every worker all tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
settings.register_profile(
    "osprofile", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("osprofile")


@pytest.fixture(scope="session")
def no_configuration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("configuration")


@pytest.fixture(autouse=True)
def _no_profiles_of_this_machine(monkeypatch: pytest.MonkeyPatch, no_configuration: Path) -> None:
    monkeypatch.delenv("OSPROFILE_PATH", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(no_configuration))
