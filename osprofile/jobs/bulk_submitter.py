"""Submit many jobs: those that others depend on first, in parts that one script submits, some of these side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError, SubmissionsFailedError
from osprofile.jobs.request import list_named_jobs
from osprofile.jobs.submitter import run_together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.submitter import JobSubmitter

MAX_PART_SIZE: Final = 20
"""Jobs of `submit_many` submitted by one script. Their states are unknown until that script returns."""
_PREPARED_PARTS: Final = 2
"""Parts that are recorded while the scripts of others run. What else is asked meanwhile waits for them."""


@final
class BulkSubmitter:
    """Submits many jobs of one target system, given with their keys.

    `before_part()` is called before each part, `on_submitted(job_id)` for each job. A part has at most `max_part_size` jobs.
    """

    def __init__(
        self,
        submitter: JobSubmitter,
        before_part: Callable[[], object],
        on_submitted: Callable[[str], object],
        *,
        max_parallel_scripts: int,
        max_part_size: int,
    ) -> None:
        self._submitter, self._before_part, self._on_submitted = submitter, before_part, on_submitted
        self._max_parallel_scripts, self._max_part_size = max_parallel_scripts, max_part_size

    async def submit_many(
        self,
        jobs: Sequence[tuple[JobDescription, str | None]],
        on_result: Callable[[int, str | OSProfileError], object],
    ) -> list[str]:
        """Submit jobs that are checked; see `TargetSystem.submit_many`."""
        results: dict[int, str | OSProfileError] = {}

        def take_result(position: int, result: str | OSProfileError) -> None:
            results[position] = result
            on_result(position, result)

        for positions in _list_levels(jobs):
            await self._submit_parts(jobs, self._form_parts(positions), take_result)
        errors = {i: r for i, r in sorted(results.items()) if isinstance(r, OSProfileError)}
        ids = [r if isinstance(r := results[i], str) else None for i in range(len(jobs))]
        if errors:
            raise SubmissionsFailedError(ids, errors)
        return [job_id for job_id in ids if job_id is not None]

    async def _submit_parts(
        self,
        jobs: Sequence[tuple[JobDescription, str | None]],
        parts: Iterable[Sequence[int]],
        on_result: Callable[[int, str | OSProfileError], object],
    ) -> None:
        """Submit jobs, given by their positions in parts; few parts at the same time, so that only few scripts are in memory."""
        waiting = iter(parts)

        async def submit_next() -> None:
            for part in waiting:

                def take_result(index: int, result: str | OSProfileError, part: Sequence[int] = part) -> None:
                    if isinstance(result, str):
                        self._on_submitted(result)
                    on_result(part[index], result)

                self._before_part()
                await self._submitter.submit_jobs([jobs[position] for position in part], take_result)

        await run_together(submit_next() for _ in range(self._max_parallel_scripts + _PREPARED_PARTS))

    def _form_parts(self, positions: Sequence[int]) -> list[Sequence[int]]:
        """Return jobs in parts of about the same size: as few as go, and as many as may run at the same time."""
        rounds = math.ceil(len(positions) / (self._max_parallel_scripts * self._max_part_size))
        size = math.ceil(len(positions) / (self._max_parallel_scripts * rounds))
        return [positions[i : i + size] for i in range(0, len(positions), size)]


def _list_levels(jobs: Iterable[tuple[JobDescription, str | None]]) -> list[list[int]]:
    """Return the positions of jobs by levels.

    Each job is on a later level than the jobs it depends on, and than earlier jobs with the same key.
    """
    levels: list[list[int]] = []
    level_by_key: dict[str, int] = {}
    for position, (job, key) in enumerate(jobs):
        names = [*list_named_jobs(job), *([key] if key is not None else [])]
        level = max((level_by_key[name] + 1 for name in names if name in level_by_key), default=0)
        if key is not None:
            level_by_key.setdefault(key, level)
        levels += [[] for _ in range(len(levels), level + 1)]
        levels[level].append(position)
    return levels
