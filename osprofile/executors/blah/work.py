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
    told,
)
from osprofile.events.event import JobState
from osprofile.executors.blah import requests as r
from osprofile.executors.blah import status as statuses
from osprofile.executors.blah.attributes import Proxy, blamed, submission_of
from osprofile.executors.blah.jobids import JobId
from osprofile.executors.blah.results import (
    HELD,
    IDLE,
    MALFORMED_ID,
    RUNNING,
    AdsResult,
    Result,
    SignalResult,
    StatusResult,
    SubmitResult,
    in_state,
    logged,
    told_error,
)
from osprofile.executors.blah.sites import Submitting
from osprofile.executors.blah.staging import PROXY, staged
from osprofile.executors.blah.submitad import SubmitAd
from osprofile.target.job import FIELD_OF, request_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from osprofile.events.event import JobStatus
    from osprofile.executors.blah.attributes import Submission
    from osprofile.executors.blah.results import AnyResult
    from osprofile.executors.blah.settings import Settings
    from osprofile.executors.blah.sites import Site, Sites

log: Final = logging.getLogger("osprofile.blah")
_LARGEST_PROXY: Final = 1024 * 1024


@final
class Worker:
    """Does what a client asks for; `dry_run`: scripts are shown instead of run."""

    def __init__(self, sites: Sites, settings: Settings, *, dry_run: bool = False) -> None:
        self._sites, self._settings, self._dry_run = sites, settings, dry_run
        self._cached: dict[str, str] = {}
        self._used: str | None = None
        self._work: dict[type[Any], Callable[[Any], Awaitable[AnyResult]]] = {
            r.Submit: self._submit,
            r.Status: self._status,
            r.Cancel: self._cancel,
            r.Hold: self._hold,
            r.Resume: self._resume,
            r.Signal: self._signal,
            r.RefreshProxy: self._refresh_proxy,
            r.SendProxy: self._refresh_proxy,
            r.Ping: self._ping,
            r.StatusAll: self._status_all,
            r.StatusSelect: self._status_select,
        }

    async def result_of(self, request: r.AnyRequest) -> AnyResult:
        """Do the work of a request and give its result. It raises nothing but a cancellation."""
        try:
            return await self._work[type(request)](request)
        except JobIdError as error:
            return request.failed(told_error(error), MALFORMED_ID)
        except OSProfileError as error:
            log.info("%s %s: %s", type(request).__name__, request.reqid, logged(error))
            return request.failed(told_error(error))
        except Exception as error:  # a request must not end the daemon
            log.exception("%s %s: a fault of osprofile's", type(request).__name__, request.reqid)
            return request.failed(f"internal error: {type(error).__name__}: {error}")

    # Submitting

    async def _submit(self, request: r.Submit) -> SubmitResult:
        try:
            ad = SubmitAd.read(request.ad)
            site = self._sites[ad.gridtype]
            submission = submission_of(ad, site.settable, options=self._settings.extra_submit_args)
            proxy = submission.proxy or (Proxy(self._used) if self._used else None)
            if proxy is None and self._settings.proxy_required:
                message = "attribute x509UserProxy is missing: this site runs no job without one"
                raise AttributeRefusedError(message, attribute="x509UserProxy")
        except RequestError as error:
            return _refused(request, error)
        except ProfileNotFoundError as error:
            error.message = f"attribute GridType: {error.message}"
            return _refused(request, error)
        for warning in submission.warnings:
            log.warning("submit %s: %s", request.reqid, warning)
        try:
            request_of(submission.description)
        except IncarnationError as error:
            return _refused(request, blamed(submission, error))
        work = _Submitting(site, submission, proxy)
        try:
            if self._dry_run:
                sys.stderr.write(work.script())
                return SubmitResult.failed("dry run: the script is shown, nothing was submitted")
            return SubmitResult.submitted(await site.submit_once(submission.key, work))
        except IncarnationError as error:
            if error.field == FIELD_OF["arguments"]:  # staging put a script of ours into them
                log.info("submit %s: %s", request.reqid, logged(error))
                error.message = "the program's arguments and the names of its files are refused"
            return _refused(request, blamed(submission, error))

    # Asking

    async def _status(self, request: r.Status) -> StatusResult:
        job_id, site = self._find(request.job_id)
        found = await site.status(job_id.native, self._settings.max_age)
        if found is None:
            return StatusResult.failed(f"Job {job_id} is not known")
        if found.state.is_terminal:
            site.release(job_id.native)
        return statuses.result_of(found, held_as_idle=self._settings.held_as_idle)

    async def _ping(self, request: r.Ping) -> Result:
        site = self._sites[request.lrms]
        await site.target.poll(self._settings.max_age)
        return Result()

    async def _status_all(self, _request: r.StatusAll) -> AdsResult:
        return AdsResult.told(await self._ads())

    async def _status_select(self, request: r.StatusSelect) -> AdsResult:
        return AdsResult.told(statuses.selected(await self._ads(), request.expression))

    async def _ads(self) -> list[str]:
        """Give the status ads of all jobs of the record, asked for now."""
        ads = []
        for site in self._sites.recorded().values():
            target = site.target
            records = [rec for rec in target.store.all() if rec.target == target.name]
            ids = [rec.status.job_id for rec in records if rec.is_submitted]
            found = await target.statuses(ids, max_age=self._settings.max_age)
            ads += [
                statuses.ad_of(status, held_as_idle=self._settings.held_as_idle)
                for status in found.values()
                if status.state is not JobState.LOST
            ]
        return ads

    # Acting

    def _find(self, text: str) -> tuple[JobId, Site]:
        job_id = JobId.parse(text)
        return job_id, self._sites[job_id.lrms]

    async def _now(self, text: str) -> tuple[JobId, Site, JobStatus | None, int]:
        """Give a job, its state as it is now, and that state's number (0: nobody knows it)."""
        job_id, site = self._find(text)
        found = await site.status(job_id.native, 0.0)
        return job_id, site, found, statuses.number_of(found) if found is not None else 0

    async def _cancel(self, request: r.Cancel) -> Result:
        job_id, site = self._find(request.job_id)
        await site.cancel(job_id.native)
        return Result()

    async def _hold(self, request: r.Hold) -> Result:
        job_id, site, _, number = await self._now(request.job_id)
        if number == HELD:
            return in_state(number, str(job_id), code=0)
        return await self._act(job_id, site, number, site.target.hold, {IDLE, RUNNING})

    async def _resume(self, request: r.Resume) -> Result:
        job_id, site, _, number = await self._now(request.job_id)
        return await self._act(job_id, site, number, site.target.resume, {HELD})

    @staticmethod
    async def _act(
        job_id: JobId,
        site: Site,
        number: int,
        act: Callable[[str], Awaitable[None]],
        allowed: set[int],
    ) -> Result:
        if not number:
            return Result.failed(f"Job {job_id} is not known on {site.name}")
        if number not in allowed:
            return in_state(number, str(job_id))
        await act(job_id.native)
        return Result()

    async def _signal(self, request: r.Signal) -> SignalResult:
        job_id, site, _, number = await self._now(request.job_id)
        if number != RUNNING:
            why = in_state(number, str(job_id)).text if number else f"Job {job_id} is not known"
            return SignalResult.failed(why)
        await site.target.signal(job_id.native, request.signal)
        return SignalResult.sent(number)

    async def _refresh_proxy(self, request: r.RefreshProxy | r.SendProxy) -> Result:
        job_id, site, found, number = await self._now(request.job_id)
        if found is None or found.state.is_terminal:
            return await self._act(job_id, site, number, site.target.hold, set())
        data = _proxy_data(request.path)
        directory = await site.target.directory(job_id.native)
        await site.target.put(io.BytesIO(data), f"{directory}/{PROXY}")
        return Result(0, "Proxy renewed")

    # The proxy cache

    def answer(self, request: r.Immediate) -> r.Reply:
        """Answer what needs an answer at once."""
        match request:
            case r.CacheProxy(proxy_id, path):
                try:
                    _proxy_data(path)
                except RequestError as error:
                    return r.Reply("F", told_error(error))
                self._cached[proxy_id] = path
            case r.UseCachedProxy(proxy_id):
                if proxy_id not in self._cached:
                    return r.Reply("F", f"there is no cached proxy {told(proxy_id)}")
                self._used = self._cached[proxy_id]
            case r.UncacheProxy(proxy_id):
                if self._cached.pop(proxy_id, None) == self._used:
                    self._used = None
            case _:
                return r.Reply("F", "this is not configured")
        return r.Reply("S", "No error")


@final
class _Submitting(Submitting):
    """One job's submission: its proxy first, then START."""

    def __init__(self, site: Site, submission: Submission, proxy: Proxy | None) -> None:
        self._target, self._proxy = site.target, proxy
        self._directory = site.target.new_directory()
        self._description = staged(submission, self._directory, proxied=proxy is not None)

    def script(self) -> str:
        """Give START's script."""
        return self._target.script(self._description)

    async def submit(self, key: str | None) -> str:
        """Submit the job, and leave no proxy behind if it is refused."""
        target = self._target
        known = key is not None and target.store.find_key(target.name, key) is not None
        if self._proxy is None or known:
            return await target.submit(self._description, key=key)
        self.script()  # what is refused is refused before anything is written
        data = _proxy_data(self._proxy.path)
        await target.put(io.BytesIO(data), f"{self._directory}/{PROXY}")
        try:
            return await target.submit(self._description, key=key)
        except ScriptCutError:
            raise  # it may have been submitted
        except OSProfileError:
            with contextlib.suppress(OSProfileError):
                await asyncio.shield(target.delete(self._directory))
            raise


def _refused(request: r.Submit, error: OSProfileError) -> SubmitResult:
    log.info("submit %s is refused: %s", request.reqid, logged(error))
    return SubmitResult.refused(error)


def _proxy_data(path: str) -> bytes:
    """Read a proxy certificate of this machine; `AttributeRefusedError` for what cannot be one."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                why = "it is no regular file"
            elif len(data := file.read(_LARGEST_PROXY + 1)) > _LARGEST_PROXY:
                why = f"it is larger than {_LARGEST_PROXY} bytes"
            else:
                return data
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it has a NUL"
    message = f"the proxy {told(path)} cannot be read: {why}"
    raise AttributeRefusedError(message, attribute="x509UserProxy")
