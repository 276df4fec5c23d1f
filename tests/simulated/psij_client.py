"""Submit the jobs of a plan through the plugin for PSI/J, cancel some, and follow all to their ends.

    python -m tests.simulated.psij_client DIRECTORY USER

It may be killed at any moment, and started again: it writes down the id of each job before it submits it.
"""

from __future__ import annotations

import atexit
import sys
from pathlib import Path

from tests.simulated.clock import live_in

if __name__ == "__main__":
    participant = live_in(Path(sys.argv[1]), f"psij of {sys.argv[2]}", own_files=1)
    participant.is_working = True
    # At the end, behind osprofile's own: as long as its event loop runs, it needs the clock.
    atexit.register(participant.leave)

import asyncio
import contextlib
import functools
import json
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from osprofile.jobs.session import get_loop_thread
from osprofile.jobs.state import JobState
from tests.simulated.follow import HOUR, TIMING

if TYPE_CHECKING:
    from tests.simulated.clock import Participant
    from tests.simulated.truth import End

ENDS = "psij.json"


def convert_end(end: End) -> tuple[str, int | None]:
    """Return PSI/J's word for a job's end, and its exit code."""
    state, code, signal, _ = end
    if state is JobState.DONE:
        return ("FAILED" if code else "COMPLETED"), code
    if state is JobState.REMOVED:
        return "CANCELED", None
    return "FAILED", None if signal is None else 128 + signal


def read_ends(home: Path) -> dict[str, tuple[str, object]]:
    """Return the ids and the ends of a user's jobs by their keys."""
    notes = json.loads((home / ENDS).read_text())
    return {key: (note["native"], tuple(note["end"])) for key, note in notes.items() if "end" in note}


class Program:
    """A program that uses PSI/J. What it must know when it is started again is in `notes`, by the jobs' keys."""

    def __init__(self, participant: Participant, home: Path) -> None:
        import psij

        self._psij, self._participant, self._path = psij, participant, home / ENDS
        self._plan = json.loads((home / "psij.plan").read_text())
        self.notes: dict[str, dict[str, Any]] = (
            json.loads(self._path.read_text()) if self._path.exists() else {}
        )
        self._executor = psij.JobExecutor.get_instance("osprofile-simulated")
        self._jobs: dict[str, Any] = {}
        self.ends = Counter[str]()
        """By the key of each job, how many ends were told."""

    def run(self) -> None:
        """Follow the plan to its end."""
        for key, note in self.notes.items():
            if "native" in note and "end" not in note:
                self._executor.attach(self._make_job(key), note["native"])
        while any("end" not in self.notes.get(planned["key"], {}) for planned in self._plan):
            self._do_round()
            get_loop_thread().run(self._sleep(HOUR))
        assert set(self.ends.values()) <= {1}, self.ends

    async def _sleep(self, seconds: float) -> None:
        self._participant.is_working = False
        await asyncio.sleep(seconds)
        self._participant.is_working = True

    def _note(self, key: str, **words: object) -> None:
        self.notes.setdefault(key, {}).update(words)
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(self.notes))
        new.rename(self._path)

    def _make_job(self, key: str, spec: Any = None) -> Any:  # noqa: ANN401
        job = self._jobs[key] = self._psij.Job(spec)
        # `ends` is told in a thread of its own; this one only reads it at the end.
        job.set_job_status_callback(lambda _, status: self.ends.update({key: int(status.final)}))
        return job

    def _do_round(self) -> None:
        now = self._participant.time.now
        for planned in self._plan:
            key, note = planned["key"], self.notes.get(planned["key"], {})
            if "native" not in note and planned["submitted"] <= now:
                self._submit(key)
            elif "native" in note and "end" not in note:
                if planned["cancelled"] is not None and planned["cancelled"] <= now and "removed" not in note:
                    with contextlib.suppress(self._psij.SubmitException):  # nobody answers
                        self._executor.cancel(self._jobs[key])
                        self._note(key, removed=True)
                status = self._jobs[key].status
                if status.final:
                    self._note(key, end=[str(status.state), status.exit_code])

    def _submit(self, key: str) -> None:
        attributes = self._psij.JobAttributes(duration=timedelta(days=20))
        job = self._make_job(key, self._psij.JobSpec("/bin/true", name=key, attributes=attributes))
        if key in self.notes:
            job._id = self.notes[key]["id"]
        self._note(key, id=job.id)
        with contextlib.suppress(self._psij.SubmitException):  # it is repeated in the next round
            self._executor.submit(job)
            self._note(key, native=job.native_id)


def main(root: Path, user: str, participant: Participant) -> None:
    """Follow a user's jobs to their ends."""
    import osprofile

    # The plugin has no setting for it: in this cluster, all times are hours.
    osprofile.JobSession = functools.partial(osprofile.JobSession, timing=TIMING)  # type: ignore[misc,assignment]
    Program(participant, root / "homes" / user).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], participant)
