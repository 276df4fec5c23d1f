"""The jobs that somebody follows, and what is known of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from osprofile.errors import NotRegisteredError
from osprofile.jobs.live_job import UNKNOWN_JOB_REASON, LiveArray, LiveJob
from osprofile.jobs.state import JobState, JobStatus
from osprofile.jobs.status_history import StatusHistory

if TYPE_CHECKING:
    from osprofile.jobs.store import JobRecord


@final
class LiveJobs:
    """The followed jobs by their ids, until they are forgotten.

    A job is polled if the batch system is to be asked for it; one that is only registered is told what others ask.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, LiveJob] = {}
        self._full_ids: dict[str, str] = {}
        # Some of the jobs, so that a query finds them without a look at all:
        self.polled: dict[str, LiveJob] = {}
        """Those that are queried, and have not ended."""
        self.untold: dict[str, LiveJob] = {}
        """Those whose next answer is told in any case; see `LiveJob.untold_since`."""
        self.logged_ends: dict[str, LiveJob] = {}
        """Those that have ended according to the log."""
        self.live_arrays: dict[str, LiveArray] = {}
        """The arrays of which a task has not ended."""

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._jobs

    def get_status(self, job_id: str) -> JobStatus:
        """Return the last known status of a registered job. Raises `NotRegisteredError`."""
        job = self._jobs.get(job_id)
        if job is None:
            message = f"job {job_id} is not registered"
            raise NotRegisteredError(message)
        return job.history.status

    def describe_status(self, job_id: str, answer: JobStatus | None) -> JobStatus:
        """Return the status of a registered job for which the batch system's last answer was `answer`.

        A state that the profile does not define is UNKNOWN. If the answer is None or LOST, the last state is
        returned during the grace period. The reason of a live array has the numbers of its tasks.
        """
        last = self.get_status(job_id)
        if last.state.is_terminal:
            return last
        if (array := self._jobs[job_id].array) is not None:
            return last._replace(reason=array.summarize(job_id).reason)
        if answer is None or answer.state is JobState.LOST:
            return last._replace(reason=UNKNOWN_JOB_REASON)
        return last._replace(state=JobState.UNKNOWN) if answer.state is JobState.UNKNOWN else last

    def is_polled(self, job_id: str) -> bool:
        """Return whether a job, or the tasks of an array, are queried; False when they have ended."""
        return job_id in self.polled or job_id in self.live_arrays

    def is_array(self, job_id: str) -> bool:
        """Return whether a job is a registered array."""
        return job_id in self._jobs and self._jobs[job_id].array is not None

    def find_array(self, job_id: str) -> str | None:
        """Return the id of the registered array that a job is a task of; None for any other job."""
        job = self._jobs.get(job_id)
        return None if job is None or self.get_array(job) is None else job.array_id

    def get_array(self, task: LiveJob) -> LiveArray | None:
        """Return the tasks of the registered array that a job belongs to; None for any other job."""
        whole = None if task.array_id is None else self._jobs.get(task.array_id)
        return None if whole is None else whole.array

    def list_task_ids(self, job_id: str) -> list[str]:
        """Return the ids of an array's tasks; nothing for any other job."""
        array = self._jobs[job_id].array if job_id in self._jobs else None
        return [] if array is None else list(array.tasks)

    def is_removed(self, job_id: str) -> bool:
        """Return whether the batch system has accepted the removal of a registered job."""
        return job_id in self._jobs and self._jobs[job_id].removed_at is not None

    def awaits_first_answer(self, job_id: str) -> bool:
        """Return whether a job is polled, and nothing has been told of it yet, or not since another source was."""
        return job_id in self.untold

    def note_full_id(self, short_id: str, job_id: str) -> None:
        """Note that callers use a short id for a job."""
        self._full_ids[short_id] = job_id

    def get_full_id(self, job_id: str) -> str:
        """Return the id that the batch system reports for a job, or the same id if it is not known."""
        return self._full_ids.get(job_id, job_id)

    def list_ended(self) -> list[JobStatus]:
        """Return the statuses of the registered jobs that have ended, without those of tasks."""
        jobs = [job for job in self._jobs.values() if job.array_id is None]
        return [job.history.status for job in jobs if job.history.status.state.is_terminal]

    # Which jobs are followed

    def get(self, job_id: str) -> LiveJob | None:
        """Return a registered job; None for any other."""
        return self._jobs.get(job_id)

    def __getitem__(self, job_id: str) -> LiveJob:
        return self._jobs[job_id]

    def add_array(self, array_id: str, array: LiveArray) -> None:
        """Make a registered job an array."""
        self._jobs[array_id].array = self.live_arrays[array_id] = array

    def remove(self, job_id: str) -> list[str]:
        """Forget a job, or an array and its tasks, and return their ids. A task stays with its array, whose end it decides."""
        if job_id not in self._jobs or self.find_array(job_id) is not None:
            return []
        removed = [job_id, *self.list_task_ids(job_id)]
        self.live_arrays.pop(job_id, None)
        for removed_id in removed:
            self.stop_polling(removed_id)
            self._jobs.pop(removed_id, None)
        return removed

    def add(self, record: JobRecord) -> LiveJob:
        """Follow a job, and return it with what is recorded."""
        status = record.status
        job = self._jobs[status.job_id] = LiveJob(
            StatusHistory(status),
            array_id=record.array_id,
            walltime=record.walltime,
            removed_at=record.aborted_at,
            missing=record.missing,
        )
        return job

    def stop_polling(self, job_id: str) -> None:
        """Query a job no longer."""
        for jobs in (self.polled, self.untold, self.logged_ends):
            jobs.pop(job_id, None)
