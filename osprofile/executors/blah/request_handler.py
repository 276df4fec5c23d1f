"""What each command does on the batch systems.

Every request gets a result, whatever happens: an error becomes the result's text.
"""

from __future__ import annotations

import io
import logging
import os
import stat
import sys
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import (
    IncarnationError,
    OSProfileError,
    ProfileNotFoundError,
    RequestError,
)
from osprofile.executors.blah.attributes import Proxy, name_source_attribute, submission_from_ad
from osprofile.executors.blah.job_status import (
    explain_end,
    format_status_ad,
    get_status_number,
    make_status_result,
    select_status_ads,
)
from osprofile.executors.blah.messages import (
    HELD,
    IDLE,
    MALFORMED_ID_CODE,
    NO_ERROR,
    RUNNING,
    JobId,
    Reply,
    Result,
    format_error,
    format_log_entry,
    make_state_result,
)
from osprofile.executors.blah.staging import (
    FUNCTIONS_FILE_NAME,
    JOB_DIRECTORY_SUFFIX,
    PROXY_FILE_NAME,
    build_staged_job,
)
from osprofile.executors.blah.submit_ad import SubmitAd
from osprofile.executors.errors import AttributeRefusedError, ClassAdError, JobIdError
from osprofile.executors.failures import format_internal_error
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE
from osprofile.jobs.files.directory import JobFile, NewFile
from osprofile.jobs.request import build_request
from osprofile.jobs.state import JobState
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from osprofile.executors.blah.attributes import Submission
    from osprofile.executors.blah.batch_systems import BatchSystem, BatchSystems
    from osprofile.executors.blah.messages import ImmediateRequest, Request
    from osprofile.executors.blah.settings import Settings
    from osprofile.jobs.state import JobStatus

log: Final = logging.getLogger("osprofile.blah")
_MAX_PROXY_SIZE: Final = 1024 * 1024


@final
class RequestHandler:
    """Handles the requests of a client. In a `dry_run`, START is written to stderr instead of run."""

    def __init__(self, batch_systems: BatchSystems, settings: Settings, *, dry_run: bool = False) -> None:
        self._batch_systems, self._settings, self._dry_run = batch_systems, settings, dry_run
        self._cached_proxies: dict[str, str] = {}
        self._selected_proxy: str | None = None
        self._proxy_by_request: dict[Request, str] = {}
        self._handlers: dict[str, Callable[[Request], Awaitable[Result]]] = {
            "BLAH_JOB_CANCEL": self._cancel_job,
            "BLAH_JOB_HOLD": self._hold_job,
            "BLAH_JOB_REFRESH_PROXY": self._refresh_proxy,
            "BLAH_JOB_RESUME": self._resume_job,
            "BLAH_JOB_SEND_PROXY_TO_WORKER_NODE": self._refresh_proxy,
            "BLAH_JOB_SIGNAL": self._signal_job,
            "BLAH_JOB_STATUS": self._get_job_status,
            "BLAH_JOB_STATUS_ALL": self._list_status_ads,
            "BLAH_JOB_STATUS_SELECT": self._select_status_ads,
            "BLAH_JOB_SUBMIT": self._submit_job,
            "BLAH_PING": self._ping_batch_system,
        }

    def accept_request(self, request: Request) -> None:
        """Bind the selected proxy to a request, which may be handled after another one is selected."""
        if self._selected_proxy:
            self._proxy_by_request[request] = self._selected_proxy

    async def handle_request(self, request: Request) -> Result:
        """Carry out a request and return its result. Raises only `CancelledError`."""
        try:
            return await self._handlers[request.command](request)
        except JobIdError as error:
            return Result(MALFORMED_ID_CODE, format_error(error))
        except OSProfileError as error:
            log.info("%s %s: %s", request.command, request.request_id, format_log_entry(error))
            return Result(1, format_error(error))
        except Exception as error:  # a request must not end the daemon
            log.exception("%s %s: internal error", request.command, request.request_id)
            return Result(1, format_internal_error(error))
        finally:
            self._proxy_by_request.pop(request, None)

    # Submission

    async def _submit_job(self, request: Request) -> Result:
        system, submission, proxy = self._parse_submission(request)
        for warning in submission.warnings:
            log.warning("%s %s: %s", request.command, request.request_id, warning)
        try:
            # Checks the user's own values first: an error after staging may be about the staging.
            build_request(submission.description)
        except IncarnationError as error:
            raise name_source_attribute(submission, error) from None
        directory = f"{await system.target.new_job_directory()}{JOB_DIRECTORY_SUFFIX}"
        job_name = system.target.fit_job_name(submission.name or submission.description.executable or "")
        staged = build_staged_job(submission, directory, has_proxy=proxy is not None, job_name=job_name)

        def read_files() -> list[NewFile]:
            files = [] if proxy is None else [NewFile(PROXY_FILE_NAME, _read_proxy_file(proxy.path))]
            return files + [NewFile(FUNCTIONS_FILE_NAME, f) for f in [system.job_functions] if f]

        try:
            if self._dry_run:
                sys.stderr.write(await system.target.render_start_script(staged))
                return Result(1, "dry run: the script is shown, nothing was submitted")
            has_files = proxy is not None or system.job_functions
            job_id = await system.submit_once(submission.key, staged, read_files if has_files else None)
        except IncarnationError as error:
            if error.field == FIELD_BY_ATTRIBUTE["arguments"]:  # they contain those of the staging
                log.info("%s %s: %s", request.command, request.request_id, format_log_entry(error))
                error.message = "the program's arguments and the names of its files are refused"
            raise name_source_attribute(submission, error) from None
        return Result(extras=(job_id,))

    def _parse_submission(self, request: Request) -> tuple[BatchSystem, Submission, Proxy | None]:
        try:
            ad = SubmitAd.parse(request.arguments[0])
            system = self._batch_systems.get_for_submission(ad.grid_type)
        except ClassAdError as error:
            error.message = f"Error parsing classad: {error.message}"
            raise
        except ProfileNotFoundError as error:
            error.message = f"attribute GridType: {error.message}"
            raise
        submission = submission_from_ad(
            ad, system.settable_fields, accepted_options=self._settings.extra_submit_args
        )
        proxy = submission.proxy
        if proxy is None and (path := self._proxy_by_request.get(request)):
            proxy = Proxy(path)
        if proxy is None and self._settings.proxy_required:
            message = "attribute x509UserProxy is missing: this site runs no job without one"
            raise AttributeRefusedError(message, attribute="x509UserProxy")
        return system, submission, proxy

    # Queries

    async def _get_job_status(self, request: Request) -> Result:
        job_id, system = self._locate_job(request)
        status = await system.get_job_status(job_id.native_id, self._settings.max_age)
        if status is None:
            return Result(1, f"Job {job_id} is not known")
        if status.state.is_terminal:
            system.explain_failed_start(status, explain_end(status))
            system.finish_job(job_id.native_id)
            system.target.unwatch_ended(job_id.native_id)  # a daemon runs for weeks
        return make_status_result(status, await self._get_status_number(system, status))

    async def _get_status_number(self, system: BatchSystem, status: JobStatus) -> int:
        is_clients_hold = await system.is_held_by_client(status)
        held_as_idle = self._settings.held_as_idle
        return get_status_number(status, is_clients_hold=is_clients_hold, held_as_idle=held_as_idle)

    async def _ping_batch_system(self, request: Request) -> Result:
        system = self._batch_systems[request.arguments[0]]
        await system.target.poll(self._settings.max_age)
        return Result()

    async def _list_status_ads(self, _request: Request) -> Result:
        return _make_ads_result(await self._collect_status_ads())

    async def _select_status_ads(self, request: Request) -> Result:
        ads = await self._collect_status_ads()
        return _make_ads_result(select_status_ads(ads, request.arguments[0]))

    async def _collect_status_ads(self) -> list[str]:
        """Return the status ads of all recorded jobs, queried now."""
        ads = []
        for system in self._batch_systems.open_recorded_systems().values():
            target = system.target
            records = target.store.list_all_jobs(target.name)
            job_ids = [record.status.job_id for record in records if record.is_submitted]
            statuses = await target.statuses(job_ids, max_age=self._settings.max_age)
            ads += [
                format_status_ad(status, await self._get_status_number(system, status))
                for status in statuses.values()
                if status.state is not JobState.LOST  # BLAH has no status number for it
            ]
        return ads

    # Actions

    def _locate_job(self, request: Request) -> tuple[JobId, BatchSystem]:
        job_id = JobId.parse(request.arguments[0])
        return job_id, self._batch_systems[job_id.grid_type]

    async def _query_job(self, request: Request) -> tuple[JobId, BatchSystem, JobStatus | None, int]:
        """Return a job, its current status, and the status number (0 if the job is not known).

        For actions, a suspended job is a held one.
        """
        job_id, system = self._locate_job(request)
        status = await system.get_job_status(job_id.native_id, 0.0)
        number = get_status_number(status, is_clients_hold=True) if status is not None else 0
        return job_id, system, status, number

    async def _cancel_job(self, request: Request) -> Result:
        job_id, system = self._locate_job(request)
        await system.cancel_job(job_id.native_id)
        return Result()

    async def _hold_job(self, request: Request) -> Result:
        job_id, system, status, number = await self._query_job(request)
        if number == HELD:
            return make_state_result(number, str(job_id), code=0)
        if status is None or number not in {IDLE, RUNNING}:
            return _refuse_action(job_id, system, number)
        await system.hold_job(status)
        return Result()

    async def _resume_job(self, request: Request) -> Result:
        job_id, system, status, number = await self._query_job(request)
        if status is None or number != HELD:
            return _refuse_action(job_id, system, number)
        await system.resume_job(status)
        return Result()

    async def _signal_job(self, request: Request) -> Result:
        job_id, system, _, number = await self._query_job(request)
        if number != RUNNING:
            return _refuse_action(job_id, system, number)
        await system.target.signal(job_id.native_id, int(request.arguments[1]))
        return Result(extras=(str(number),))

    async def _refresh_proxy(self, request: Request) -> Result:
        job_id, system, status, number = await self._query_job(request)
        if status is None or status.state.is_terminal:
            return _refuse_action(job_id, system, number)
        data = _read_proxy_file(request.arguments[1])
        directory = await system.target.find_job_directory(job_id.native_id)
        if not await system.target.files.has_program(f"{directory}/{PROXY_FILE_NAME}"):
            return Result(1, f"Job {job_id} was submitted without a proxy")
        await system.target.files.upload_file(io.BytesIO(data), JobFile(directory, PROXY_FILE_NAME))
        return Result(0, "Proxy renewed")

    # The proxy cache

    def handle_immediate(self, request: ImmediateRequest) -> Reply:
        """Carry out a command of the proxy cache and return its reply."""
        match request.command, request.arguments:
            case "CACHE_PROXY_FROM_FILE", (proxy_id, path):
                try:
                    _read_proxy_file(path)
                except RequestError as error:
                    return Reply("F", format_error(error))
                self._cached_proxies[proxy_id] = path
            case "USE_CACHED_PROXY", (proxy_id,):
                if proxy_id not in self._cached_proxies:
                    return Reply("F", f"there is no cached proxy {quote_name(proxy_id)}")
                self._selected_proxy = self._cached_proxies[proxy_id]
            case "UNCACHE_PROXY", (proxy_id,):
                if self._cached_proxies.pop(proxy_id, None) == self._selected_proxy:
                    self._selected_proxy = None
        return Reply("S", NO_ERROR)


def _make_ads_result(ads: Iterable[str]) -> Result:
    return Result(extras=(f"[{';'.join(ads)}]",))


def _refuse_action(job_id: JobId, system: BatchSystem, number: int) -> Result:
    if not number:
        return Result(1, f"Job {job_id} is not known on {system.name}")
    return make_state_result(number, str(job_id))


def _read_proxy_file(path: str) -> bytes:
    """Return the content of a proxy certificate. Raises `AttributeRefusedError` if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO must not block
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                reason = "it is not a regular file"
            elif len(data := file.read(_MAX_PROXY_SIZE + 1)) > _MAX_PROXY_SIZE:
                reason = f"it is larger than {_MAX_PROXY_SIZE} bytes"
            else:
                return data
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name has a NUL"
    message = f"the proxy {quote_name(path)} cannot be read: {reason}"
    raise AttributeRefusedError(message, attribute="x509UserProxy")
