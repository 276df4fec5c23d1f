"""The work of each request, on the target systems: one function for each command.

Each gives a result of its request's kind, whatever happens: what goes wrong is the result's text.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import stat
import sys
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.errors import (
    AttributeRefusedError,
    IncarnationError,
    JobIdError,
    OSProfileError,
    ProfileNotFoundError,
    RequestError,
    ScriptCutError,
    quote_name,
)
from osprofile.executors.blah import job_status as statuses
from osprofile.executors.blah import requests as r
from osprofile.executors.blah.attributes import Proxy, name_source_attribute, submission_from_ad
from osprofile.executors.blah.batch_systems import PendingSubmission
from osprofile.executors.blah.job_id import JobId
from osprofile.executors.blah.results import (
    HELD,
    IDLE,
    MALFORMED_ID_CODE,
    RUNNING,
    AdsResult,
    Result,
    SignalResult,
    StatusResult,
    SubmitResult,
    format_error,
    format_log_entry,
    make_state_result,
)
from osprofile.executors.blah.staging import PROXY_FILE_NAME, build_staged_job
from osprofile.executors.blah.submit_ad import SubmitAd
from osprofile.jobs.description import FIELD_BY_ATTRIBUTE, build_request
from osprofile.jobs.state import JobState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from osprofile.executors.blah.attributes import Submission
    from osprofile.executors.blah.batch_systems import BatchSystem, BatchSystems
    from osprofile.executors.blah.results import AnyResult
    from osprofile.executors.blah.settings import Settings
    from osprofile.jobs.state import JobStatus

log: Final = logging.getLogger("osprofile.blah")
_MAX_PROXY_SIZE: Final = 1024 * 1024


@final
class RequestHandler:
    """Does what a client asks for; `dry_run`: scripts are shown instead of run."""

    def __init__(
        self, batch_systems: BatchSystems, settings: Settings, *, dry_run: bool = False
    ) -> None:
        self._batch_systems, self._settings, self._dry_run = batch_systems, settings, dry_run
        self._cached_proxies: dict[str, str] = {}
        self._selected_proxy: str | None = None
        self._handlers: dict[type[Any], Callable[[Any], Awaitable[AnyResult]]] = {
            r.Submit: self._submit_job,
            r.Status: self._get_job_status,
            r.Cancel: self._cancel_job,
            r.Hold: self._hold_job,
            r.Resume: self._resume_job,
            r.Signal: self._signal_job,
            r.RefreshProxy: self._refresh_proxy,
            r.SendProxy: self._refresh_proxy,
            r.Ping: self._ping_batch_system,
            r.StatusAll: self._list_status_ads,
            r.StatusSelect: self._select_status_ads,
        }

    async def handle_request(self, request: r.AnyRequest) -> AnyResult:
        """Do the work of a request and give its result. It raises nothing but a cancellation."""
        try:
            return await self._handlers[type(request)](request)
        except JobIdError as error:
            return request.make_failure(format_error(error), MALFORMED_ID_CODE)
        except OSProfileError as error:
            log.info(
                "%s %s: %s", type(request).__name__, request.request_id, format_log_entry(error)
            )
            return request.make_failure(format_error(error))
        except Exception as error:  # a request must not end the daemon
            log.exception(
                "%s %s: a fault of osprofile's", type(request).__name__, request.request_id
            )
            return request.make_failure(f"internal error: {type(error).__name__}: {error}")

    # Submitting

    async def _submit_job(self, request: r.Submit) -> SubmitResult:
        try:
            ad = SubmitAd.parse(request.ad)
            site = self._batch_systems[ad.grid_type]
            submission = submission_from_ad(
                ad, site.settable_fields, accepted_options=self._settings.extra_submit_args
            )
            proxy = submission.proxy or (
                Proxy(self._selected_proxy) if self._selected_proxy else None
            )
            if proxy is None and self._settings.proxy_required:
                message = "attribute x509UserProxy is missing: this site runs no job without one"
                raise AttributeRefusedError(message, attribute="x509UserProxy")
        except RequestError as error:
            return _refuse_submission(request, error)
        except ProfileNotFoundError as error:
            error.message = f"attribute GridType: {error.message}"
            return _refuse_submission(request, error)
        for warning in submission.warnings:
            log.warning("submit %s: %s", request.request_id, warning)
        try:
            build_request(submission.description)
        except IncarnationError as error:
            return _refuse_submission(request, name_source_attribute(submission, error))
        work = _StagedSubmission(site, submission, proxy)
        try:
            if self._dry_run:
                sys.stderr.write(work.render_script())
                return SubmitResult.failure("dry run: the script is shown, nothing was submitted")
            return SubmitResult.success(await site.submit_once(submission.key, work))
        except IncarnationError as error:
            if (
                error.field == FIELD_BY_ATTRIBUTE["arguments"]
            ):  # staging put a script of ours into them
                log.info("submit %s: %s", request.request_id, format_log_entry(error))
                error.message = "the program's arguments and the names of its files are refused"
            return _refuse_submission(request, name_source_attribute(submission, error))

    # Asking

    async def _get_job_status(self, request: r.Status) -> StatusResult:
        job_id, site = self._locate_job(request.job_id)
        found = await site.get_job_status(job_id.native, self._settings.max_age)
        if found is None:
            return StatusResult.failure(f"Job {job_id} is not known")
        if found.state.is_terminal:
            site.release_key(job_id.native)
        return statuses.make_status_result(found, held_as_idle=self._settings.held_as_idle)

    async def _ping_batch_system(self, request: r.Ping) -> Result:
        site = self._batch_systems[request.lrms]
        await site.target.poll(self._settings.max_age)
        return Result()

    async def _list_status_ads(self, _request: r.StatusAll) -> AdsResult:
        return AdsResult.success(await self._collect_status_ads())

    async def _select_status_ads(self, request: r.StatusSelect) -> AdsResult:
        return AdsResult.success(
            statuses.select_status_ads(await self._collect_status_ads(), request.expression)
        )

    async def _collect_status_ads(self) -> list[str]:
        """Give the status ads of all jobs of the record, asked for now."""
        ads = []
        for site in self._batch_systems.open_recorded_systems().values():
            target = site.target
            records = [rec for rec in target.store.list_all_jobs() if rec.target == target.name]
            ids = [rec.status.job_id for rec in records if rec.is_submitted]
            found = await target.statuses(ids, max_age=self._settings.max_age)
            ads += [
                statuses.format_status_ad(status, held_as_idle=self._settings.held_as_idle)
                for status in found.values()
                if status.state is not JobState.LOST
            ]
        return ads

    # Acting

    def _locate_job(self, text: str) -> tuple[JobId, BatchSystem]:
        job_id = JobId.parse(text)
        return job_id, self._batch_systems[job_id.lrms]

    async def _query_job(self, text: str) -> tuple[JobId, BatchSystem, JobStatus | None, int]:
        """Give a job, its state as it is now, and that state's number (0: nobody knows it)."""
        job_id, site = self._locate_job(text)
        found = await site.get_job_status(job_id.native, 0.0)
        return job_id, site, found, statuses.get_status_number(found) if found is not None else 0

    async def _cancel_job(self, request: r.Cancel) -> Result:
        job_id, site = self._locate_job(request.job_id)
        await site.cancel_job(job_id.native)
        return Result()

    async def _hold_job(self, request: r.Hold) -> Result:
        job_id, site, _, number = await self._query_job(request.job_id)
        if number == HELD:
            return make_state_result(number, str(job_id), code=0)
        return await self._act_if_allowed(job_id, site, number, site.target.hold, {IDLE, RUNNING})

    async def _resume_job(self, request: r.Resume) -> Result:
        job_id, site, _, number = await self._query_job(request.job_id)
        return await self._act_if_allowed(job_id, site, number, site.target.resume, {HELD})

    @staticmethod
    async def _act_if_allowed(
        job_id: JobId,
        batch_system: BatchSystem,
        number: int,
        action: Callable[[str], Awaitable[None]],
        allowed: set[int],
    ) -> Result:
        if not number:
            return Result.failure(f"Job {job_id} is not known on {batch_system.name}")
        if number not in allowed:
            return make_state_result(number, str(job_id))
        await action(job_id.native)
        return Result()

    async def _signal_job(self, request: r.Signal) -> SignalResult:
        job_id, site, _, number = await self._query_job(request.job_id)
        if number != RUNNING:
            why = (
                make_state_result(number, str(job_id)).text
                if number
                else f"Job {job_id} is not known"
            )
            return SignalResult.failure(why)
        await site.target.signal(job_id.native, request.signal)
        return SignalResult.success(number)

    async def _refresh_proxy(self, request: r.RefreshProxy | r.SendProxy) -> Result:
        job_id, site, found, number = await self._query_job(request.job_id)
        if found is None or found.state.is_terminal:
            return await self._act_if_allowed(job_id, site, number, site.target.hold, set())
        data = _read_proxy_file(request.path)
        directory = await site.target.find_job_directory(job_id.native)
        await site.target.upload_file(io.BytesIO(data), f"{directory}/{PROXY_FILE_NAME}")
        return Result(0, "Proxy renewed")

    # The proxy cache

    def handle_immediate(self, request: r.ImmediateRequest) -> r.Reply:
        """Answer what needs an answer at once."""
        match request:
            case r.CacheProxy(proxy_id, path):
                try:
                    _read_proxy_file(path)
                except RequestError as error:
                    return r.Reply("F", format_error(error))
                self._cached_proxies[proxy_id] = path
            case r.UseCachedProxy(proxy_id):
                if proxy_id not in self._cached_proxies:
                    return r.Reply("F", f"there is no cached proxy {quote_name(proxy_id)}")
                self._selected_proxy = self._cached_proxies[proxy_id]
            case r.UncacheProxy(proxy_id):
                if self._cached_proxies.pop(proxy_id, None) == self._selected_proxy:
                    self._selected_proxy = None
            case _:
                return r.Reply("F", "this is not configured")
        return r.Reply("S", "No error")


@final
class _StagedSubmission(PendingSubmission):
    """One job's submission: its proxy first, then START."""

    def __init__(
        self, batch_system: BatchSystem, submission: Submission, proxy: Proxy | None
    ) -> None:
        self._target, self._proxy = batch_system.target, proxy
        self._directory = batch_system.target.new_job_directory()
        self._description = build_staged_job(
            submission, self._directory, has_proxy=proxy is not None
        )

    def render_script(self) -> str:
        """Give START's script."""
        return self._target.render_start_script(self._description)

    async def submit(self, key: str | None) -> str:
        """Submit the job, and leave no proxy behind if it is refused."""
        target = self._target
        known = key is not None and target.store.find_by_key(target.name, key) is not None
        if self._proxy is None or known:
            return await target.submit(self._description, key=key)
        self.render_script()  # what is refused is refused before anything is written
        data = _read_proxy_file(self._proxy.path)
        await target.upload_file(io.BytesIO(data), f"{self._directory}/{PROXY_FILE_NAME}")
        try:
            return await target.submit(self._description, key=key)
        except ScriptCutError:
            raise  # it may have been submitted
        except OSProfileError:
            with contextlib.suppress(OSProfileError):
                await asyncio.shield(target.delete_path(self._directory))
            raise


def _refuse_submission(request: r.Submit, error: OSProfileError) -> SubmitResult:
    log.info("submit %s is refused: %s", request.request_id, format_log_entry(error))
    return SubmitResult.from_error(error)


def _read_proxy_file(path: str) -> bytes:
    """Read a proxy certificate of this machine; `AttributeRefusedError` for what cannot be one."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                why = "it is no regular file"
            elif len(data := file.read(_MAX_PROXY_SIZE + 1)) > _MAX_PROXY_SIZE:
                why = f"it is larger than {_MAX_PROXY_SIZE} bytes"
            else:
                return data
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it has a NUL"
    message = f"the proxy {quote_name(path)} cannot be read: {why}"
    raise AttributeRefusedError(message, attribute="x509UserProxy")
