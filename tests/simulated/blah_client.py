"""Submit the jobs of a plan through the BLAH daemon, and ask for them until they have ended, as HTCondor does.

The client lives on when the daemon is killed: it starts the next one, and sends again what was not answered.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING, Any, Final

from osprofile.jobs.state import JobState
from tests.executors.blah.gridmanager import GridManager, ad
from tests.simulated.clock import Participant
from tests.simulated.site import REPOSITORY
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from tests.simulated.site import Site
    from tests.simulated.truth import End

HOUR: Final = 3600.0
SETTINGS: Final = """\
fastest = 3600
slowest = 10800
max_age = 5
grace = 43200
extra_submit_args = { "--job-name" = "JOB_NAME" }
"""
BlahEnd = tuple[int, str | None]
LOST: Final[BlahEnd] = (0, None)


def convert_end(end: End) -> BlahEnd:
    """Return the number of a job's end, and its exit code, or its signal after a minus."""
    state, code, signal, _ = end
    if state is JobState.REMOVED:
        return 3, None
    if state is JobState.LOST:
        return LOST
    return 4, str(code) if state is JobState.DONE else f"-{signal or 9}"


class BlahClient:
    """A user's jobs: `ends` has the id and the end of each by its key."""

    def __init__(self, site: Site, user: str, plan: list[dict[str, Any]], every: float = 2 * HOUR) -> None:
        self.plan, self._every = plan, every
        self.participant = Participant(site.root, f"client of {user}")
        config = site.root / "homes" / user / "blahpd.toml"
        self.metrics = site.root / "homes" / user / "blahpd.prom"
        """The numbers of the daemon, when it has ended."""
        config.write_text(f'{SETTINGS}metrics = "{self.metrics}"\n')
        program = (sys.executable, "-m", "tests.simulated.daemon", str(site.root), user)
        log = str(config.with_name("log"))
        self.daemon = GridManager(
            "--config", str(config), "--profiles", str(site.root / "profiles"), "--log", log,
            environment={**site.environment(user), "PYTHONPATH": str(REPOSITORY)}, program=program,
        )  # fmt: skip
        self.ids: dict[str, str] = {}
        self.ends: dict[str, tuple[str, object]] = {}
        self._cancelled = set[str]()

    async def run(self) -> None:
        """Follow the plan to its end."""
        await self._start()
        while len(self.ends) < len(self.plan):
            await self._unless_killed(self.do_round())
            await self._unless_killed(self.participant.sleep(self._every))
        while code := await self.daemon.terminate():
            assert code == -signal.SIGKILL  # it was killed as it ended, and time waits for its successor
            await self.daemon._stop()
            await self._start()
        await self.daemon.end()
        self.participant.leave()

    async def _start(self) -> None:
        await self.daemon.spawn()
        await self._unless_killed(self.daemon.greet())

    async def _unless_killed(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something to its end, or until the daemon is killed; then start another one."""
        task = asyncio.ensure_future(work)
        death = asyncio.ensure_future(self.daemon.wait())
        await asyncio.wait((task, death), return_when=asyncio.FIRST_COMPLETED)
        if task.done() and task.exception() is not None:  # its pipes are closed before its end is known
            await asyncio.wait((death,), timeout=PATIENCE)
        if death.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self.daemon._stop()
            await self._start()
        else:
            death.cancel()
            task.result()

    async def do_round(self) -> None:
        now = self.participant.time.now
        due = [job for job in self.plan if job["submitted"] <= now and job["key"] not in self.ids]
        await self._do_all(self._submit, due)
        live = [job for job in self.plan if job["key"] in self.ids and job["key"] not in self.ends]
        withdrawn = [job for job in live if job["cancelled"] is not None and job["cancelled"] <= now]
        await self._do_all(self._cancel, withdrawn)
        await self._do_all(self._ask, live)

    async def _do_all(
        self, work: Callable[[str], Coroutine[Any, Any, None]], jobs: Iterable[dict[str, Any]]
    ) -> None:
        """Do something for each of these jobs; if the daemon is killed meanwhile, for no more of them."""
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(work(job["key"]))

    async def _submit(self, key: str) -> None:
        text = ad(
            Cmd="/bin/true", gridtype="simulated", StageCmd=False, JobDirectory=key,
            BatchExtraSubmitArgs=f"--job-name {key}", In="/dev/null", Out="/dev/null", Err="/dev/null",
        )  # fmt: skip
        code, _, job_id = await self.daemon.ask("BLAH_JOB_SUBMIT", text)
        if code == "0":
            self.ids[key] = job_id

    async def _cancel(self, key: str) -> None:
        if key not in self._cancelled:
            code, *_ = await self.daemon.ask("BLAH_JOB_CANCEL", self.ids[key])
            if code == "0":
                self._cancelled.add(key)

    async def _ask(self, key: str) -> None:
        code, words, number, text = await self.daemon.ask("BLAH_JOB_STATUS", self.ids[key])
        native_id = self.ids[key].rpartition("/")[2]
        if code != "0":
            if "vanished" in words:
                self.ends[key] = native_id, LOST
            return
        pairs = dict(part.split(" = ", 1) for part in text[2:-2].split("; "))
        if number in {"3", "4"}:
            code_or_signal = pairs.get("ExitCode") or (number == "4" and f"-{pairs['ExitSignal']}") or None
            self.ends[key] = native_id, (int(number), code_or_signal)
