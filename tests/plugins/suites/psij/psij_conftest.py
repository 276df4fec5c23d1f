"""What PSI/J's tests need and its sdist lacks: the option --executors, and executors that do or do not load.

psij.sh copies this file to the folder of these tests, as conftest.py.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

EXECUTOR = """
from psij import JobExecutor, JobExecutorConfig
{line}
class Idle(JobExecutor):
    def __init__(self, url=None, config=None):
        super().__init__(url, config or JobExecutorConfig())
    def submit(self, job): pass
    def cancel(self, job): pass
    def list(self): return []
    def attach(self, job, native_id): pass
"""
DESCRIPTORS = """
from packaging.version import Version
from psij.descriptor import Descriptor
__PSI_J_EXECUTORS__ = [
    Descriptor(name=name, version=Version("1"), cls=cls)
    for name, cls in [
        ("_always_loads", "idle_executors.good.Idle"),
        ("_never_loads", "idle_executors.bad.Idle"),
        ("p1-tp1", "idle_executors.good.Idle"),
        ("p2-tp1", "idle_executors.elsewhere.Idle"),
        ("p2-tp3", "other_executors.elsewhere.Idle"),
    ]
]
"""
FILES = {
    "here/idle_executors/good.py": EXECUTOR.format(line=""),
    "here/idle_executors/bad.py": EXECUTOR.format(line="import no_such_module_at_all"),
    "here/psij-descriptors/idle_descriptors.py": DESCRIPTORS,
    "there/idle_executors/elsewhere.py": EXECUTOR.format(line=""),
    "there/other_executors/elsewhere.py": EXECUTOR.format(line=""),
}

for name, text in FILES.items():
    file = Path(__file__).parent / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
sys.path += [str(Path(__file__).parent / root) for root in ("here", "there")]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--executors", required=True, help="EXECUTOR:LAUNCHER, separated by commas")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "timeout(seconds): not enforced here")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "execparams" in metafunc.fixturenames:
        from executor_test_params import ExecutorTestParams

        pairs = metafunc.config.getoption("executors").split(",")
        metafunc.parametrize("execparams", [ExecutorTestParams(*p.split(":")) for p in pairs], ids=pairs)
