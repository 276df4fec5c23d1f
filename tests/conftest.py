"""Tests see no profile of the machine they run on: only the bundled ones and their own."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import inspect
import os
import signal
import sys
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, settings

from tests.again import pytest_sessionfinish  # noqa: F401  # a hook
from tests.bundled_documents import keep_bundled_documents
from tests.hunting import HUNT, rounds
from tests.waiting import PATIENCE, end_processes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The commands that tests start must not inherit that a signal is ignored, as under nohup or in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
gc.set_threshold(
    50_000
)  # collected tests are many objects, and stay: a search for garbage among them costs more
# Where no bytecode is written, every command that tests start compiles osprofile, and every worker all tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
keep_bundled_documents()
settings.register_profile(
    "osprofile",
    deadline=None,
    max_examples=rounds(100, 15),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("osprofile")

_LONG: Final = (
    "tests/simulated/test_ends.py",
    "tests/jobs/test_submitter.py::test_find_job_has_its_own_time_limit",
    "tests/jobs/test_submit_many.py::test_killed_between_every_two_steps_of_a_part",
    "tests/shim/test_clients.py::test_what_programs_ask",
    "tests/executors/ptp/test_agent_ends.py::test_a_thousand_jobs",
    "tests/profiles/test_crashes.py::test_find_job_before_each_command",
    # Slurm's shortest limit is a minute
    "tests/lab/test_arrays.py::test_many_tasks_with_mixed_ends",
    "tests/lab/test_arrays.py::test_dependencies_on_a_job_that_did_not_end_by_itself[over its limit]",
    "tests/lab/test_ends.py::test_ends[slurm]",
    "tests/lab/test_usage.py::test_why_a_job_ended[slurm-wall time]",
    "tests/lab/test_sge_arrays.py::test_many_tasks_with_mixed_ends",
    "tests/lab/test_ssh_session.py::test_a_connection_that_is_cut_anywhere",
    "tests/lab/test_upgrade.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an `async` test in an event loop of its own, and close what is open of its arguments, as target systems."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}

    async def main() -> None:
        async with asyncio.timeout(2 * PATIENCE), contextlib.AsyncExitStack() as stack:
            for value in arguments.values():
                if hasattr(value, "__aenter__"):
                    await stack.enter_async_context(value)
            await pyfuncitem.obj(**arguments)

    asyncio.run(main())
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Have each worker import a part of the tests first, and find the bytecode of the others: else each compiles all."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    unwanted = {*session.config.getini("norecursedirs")}
    top = session.config.rootpath
    files = sorted(
        file
        for directory in session.config.getini("testpaths")
        if directory in session.config.args
        for file in (top / directory).rglob("test_*.py")
        if unwanted.isdisjoint(file.relative_to(top).parts)
    )
    worker = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    for file in files[worker :: int(os.environ["PYTEST_XDIST_WORKER_COUNT"])]:
        # what fails fails again as it is collected, which tells why
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(file.relative_to(top).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Have searches for garbage leave out what was collected: it is large, and stays."""
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without HUNT=1, keep one in N cases of each test marked `hunt(N)`, or of each file; start the long tests first."""
    if not HUNT:
        _leave_out(config, items)
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items.sort(key=lambda item: not item.nodeid.startswith(_LONG))
    count = sum(item.nodeid.startswith(_LONG) for item in items)
    if len(items) < count * workers:
        return
    long, others, left = items[:count], iter(items[count:]), len(items)
    items.clear()
    for worker in range(workers):  # xdist gives each a part of this size, in this order
        size = left // (workers - worker)
        first = long[worker::workers]
        items += [*first, *islice(others, size - len(first))]
        left -= size


def _leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    cases = Counter[str]()
    left = []
    for item in items:
        if marker := item.get_closest_marker("hunt"):
            name = item.nodeid.partition("::" if marker.kwargs.get("of") == "file" else "[")[0]
            if cases[name] % marker.args[0]:
                left.append(item)
            cases[name] += 1
    if left:
        config.hook.pytest_deselected(items=left)
        unwanted = set(left)
        items[:] = [item for item in items if item not in unwanted]


@pytest.fixture(scope="session")
def no_configuration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("configuration")


@pytest.fixture(autouse=True)
def _no_processes_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Nothing that a test has started in its directory outlives the test: it would take the time of the next one."""
    directory: Path | None = (
        request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    )
    yield
    if directory:
        end_processes(directory)


@pytest.fixture(autouse=True)
def _no_profiles_of_this_machine(monkeypatch: pytest.MonkeyPatch, no_configuration: Path) -> None:
    monkeypatch.delenv("OSPROFILE_PATH", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(no_configuration))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(no_configuration))
