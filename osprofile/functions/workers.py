"""A job of workers: several processes that take tasks until it ends.

The tasks go to the job in files, and its log says which of them have begun and ended; see `remote`.
"""

from __future__ import annotations

import logging
import pickle
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, final

import osprofile
from osprofile.functions.calls import DIRECTORY, pack_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.functions.future import Task

log: Final = logging.getLogger("osprofile.functions")


@final
class WorkerJob:
    """A job of workers, and what is known of it."""

    def __init__(self, job: osprofile.Job) -> None:
        self.job = job
        self._session, self._directory = job.session, job.directory()
        self.status: osprofile.JobStatus | None = None
        """Its end."""
        self.tasks: dict[int, Task] = {}
        """Those without a result, by index."""
        self.refusal = ""
        """Why its interpreter cannot run functions."""
        self._has_begun = False
        self._taken: set[int] = set()
        """The indices of the tasks that have begun."""
        self._sent_tasks = self._sent_files = 0
        self._position: Any = None
        self._rest = b""
        """The begin of a line of the log."""

    def _get_file(self, name: str) -> osprofile.JobFile:
        return osprofile.JobFile(self._directory, f"{DIRECTORY}/{name}")

    def _write_file(self, name: str, content: bytes) -> None:
        file = self._get_file(name)
        self._session.run(lambda target: target.files.upload_file(BytesIO(content), file))

    def send(self, tasks: Sequence[Task]) -> None:
        """Have tasks run."""
        arriving = []
        for task in tasks:
            self._sent_tasks += 1
            task.index, task.job = self._sent_tasks, self.job
            self.tasks[task.index] = task
            arriving.append((task.index, pack_calls(task.function, [task.calls])))
        self._sent_files += 1
        self._write_file(f"inbox/{self._sent_files}", pickle.dumps(arriving))

    def stop(self) -> None:
        """Let the job end."""
        try:
            self._write_file("stop", b"")
        except (osprofile.OSProfileError, RuntimeError) as error:  # also if the session was closed
            log.warning("the workers of job %s end later: %s", self.job.id, error)

    def read_log(self) -> list[Task] | None:
        """Return the tasks that have ended since the last time; None if nothing has happened."""
        file, position = self._get_file("log"), self._position
        try:
            part = self._session.run(lambda target: target.files.read_file_part(file, position))
        except osprofile.ScriptFailedError:  # the directory is missing until the job begins
            return None
        except osprofile.OSProfileError as error:
            log.warning("results of job %s cannot be read now: %s", self.job.id, error.message)
            return None
        if part is None or not part.data:
            return None
        self._position = part.position
        *lines, self._rest = (self._rest + part.data).split(b"\n")
        done: list[Task] = []
        for line in lines:
            word, _, text = line.decode("utf-8", "replace").partition(" ")
            index = int(text) if text.isdecimal() else 0
            if word == "begun":
                self._has_begun = True
            elif word == "refused":
                self.refusal = text
            elif word == "taken" and index in self.tasks:
                self._taken.add(index)
                self.tasks[index].is_running = True
            elif word == "done" and index in self.tasks:  # noted twice if its worker was killed in between
                done.append(self.tasks.pop(index))
        return done

    def may_run_elsewhere(self, index: int) -> bool:
        """Return whether another job may have a task of this one, which has ended: it took others, or waited in vain."""
        is_sound = self._taken or (self.status is not None and self.status.exit_code == 0)
        return self._has_begun and bool(is_sound) and index not in self._taken
