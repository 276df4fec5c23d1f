"""Describe a batch system once, in an OS Profile, and get its scripts from that file.

    import osprofile

    profile = osprofile.load("pbs")
    context = osprofile.new_context(profile)
    start = osprofile.incarnate(profile, "START", fields={"QUEUE": "long"}, context=context)
    print(start.text)

Importing this module loads nothing else; each name below is imported when it is first used.
"""

from __future__ import annotations

# Type checkers take it for True; to import `typing` would double the time of this import.
TYPE_CHECKING = False
# `A as A`: type checkers take these names for public ones, as they cannot compute `__all__`.
if TYPE_CHECKING:
    from osprofile.errors import (  # noqa: I001  # a statement a module, not one a name
        AlreadyRegisteredError as AlreadyRegisteredError,
        ApplicationNotFoundError as ApplicationNotFoundError,
        IncarnationError as IncarnationError,
        InvalidProfileError as InvalidProfileError,
        JavaRegexError as JavaRegexError,
        JavaRegexTimeoutError as JavaRegexTimeoutError,
        JobNotFoundError as JobNotFoundError,
        MissingValueError as MissingValueError,
        NoResultError as NoResultError,
        NotFoundError as NotFoundError,
        NotRegisteredError as NotRegisteredError,
        NotSettableError as NotSettableError,
        OSProfileError as OSProfileError,
        OutputError as OutputError,
        Problem as Problem,
        ProfileNotFoundError as ProfileNotFoundError,
        OutcomeUnknownError as OutcomeUnknownError,
        ScriptError as ScriptError,
        ScriptFailedError as ScriptFailedError,
        ScriptTimeoutError as ScriptTimeoutError,
        StorageNotFoundError as StorageNotFoundError,
        StoreError as StoreError,
        SubmissionBusyError as SubmissionBusyError,
        SubmissionElsewhereError as SubmissionElsewhereError,
        SubmissionsFailedError as SubmissionsFailedError,
        TargetError as TargetError,
        TemplateNotFoundError as TemplateNotFoundError,
        UnknownFieldError as UnknownFieldError,
        ValueRefusedError as ValueRefusedError,
    )
    from osprofile.functions.executor import Executor as Executor
    from osprofile.functions.future import FunctionFuture as FunctionFuture
    from osprofile.incarnation.context import (
        new_context as new_context,
        working_directory as working_directory,
    )
    from osprofile.incarnation.incarnate import (
        FieldValue as FieldValue,
        Incarnation as Incarnation,
        incarnate as incarnate,
        static_scripts as static_scripts,
        storage_path as storage_path,
    )
    from osprofile.incarnation.static_scripts import (
        StaticScriptFile as StaticScriptFile,
        deployment_script as deployment_script,
    )
    from osprofile.jobs.arrays import combine_into_array as combine_into_array
    from osprofile.jobs.fields import JobDescription as JobDescription
    from osprofile.jobs.request import build_job_name as build_job_name
    from osprofile.jobs.retries import RetryRule as RetryRule, parse_retries as parse_retries
    from osprofile.jobs.watch.events import EventStream as EventStream
    from osprofile.jobs.shell.output import (
        FileEntry as FileEntry,
        NodeStatus as NodeStatus,
        QueueStatus as QueueStatus,
    )
    from osprofile.jobs.files.trees import FetchedFile as FetchedFile
    from osprofile.jobs.files.directory import JobFile as JobFile
    from osprofile.jobs.session import (
        Job as Job,
        JobSession as JobSession,
    )
    from osprofile.jobs.state import (
        EndCause as EndCause,
        JobEvent as JobEvent,
        JobState as JobState,
        JobStatus as JobStatus,
        NodeState as NodeState,
        QueueState as QueueState,
    )
    from osprofile.jobs.record.store import (
        JobRecord as JobRecord,
        Store as Store,
    )
    from osprofile.jobs.submit.submitter import RecoveredSubmission as RecoveredSubmission
    from osprofile.jobs.files.transfer import TargetFiles as TargetFiles
    from osprofile.jobs.target_system import TargetSystem as TargetSystem
    from osprofile.jobs.timing import Timing as Timing
    from osprofile.profile.model import Profile as Profile
    from osprofile.profile.repository import Repository as Repository
    from osprofile.version import __version__ as __version__

_NAMES_BY_MODULE = {
    "errors": """
        AlreadyRegisteredError ApplicationNotFoundError
        IncarnationError InvalidProfileError JavaRegexError
        JavaRegexTimeoutError JobNotFoundError MissingValueError
        NoResultError NotFoundError NotRegisteredError NotSettableError OSProfileError OutputError Problem
        ProfileNotFoundError OutcomeUnknownError ScriptError ScriptFailedError
        ScriptTimeoutError StorageNotFoundError StoreError SubmissionBusyError
        SubmissionElsewhereError SubmissionsFailedError TargetError TemplateNotFoundError UnknownFieldError
        ValueRefusedError
    """,
    "functions.executor": "Executor",
    "functions.future": "FunctionFuture",
    "incarnation.context": "new_context working_directory",
    "incarnation.incarnate": "FieldValue Incarnation incarnate static_scripts storage_path",
    "incarnation.static_scripts": "StaticScriptFile deployment_script",
    "jobs.arrays": "combine_into_array",
    "jobs.fields": "JobDescription",
    "jobs.files.trees": "FetchedFile",
    "jobs.files.directory": "JobFile",
    "jobs.request": "build_job_name",
    "jobs.retries": "RetryRule parse_retries",
    "jobs.watch.events": "EventStream",
    "jobs.shell.output": "FileEntry NodeStatus QueueStatus",
    "jobs.session": "Job JobSession",
    "jobs.state": "EndCause JobEvent JobState JobStatus NodeState QueueState",
    "jobs.record.store": "JobRecord Store",
    "jobs.submit.submitter": "RecoveredSubmission",
    "jobs.files.transfer": "TargetFiles",
    "jobs.target_system": "TargetSystem",
    "jobs.timing": "Timing",
    "profile.model": "Profile",
    "profile.repository": "Repository",
    "version": "__version__",
}
_MODULE_BY_NAME = {
    name: f"osprofile.{module}" for module, names in _NAMES_BY_MODULE.items() for name in names.split()
}


def __getattr__(name: str) -> object:
    module = _MODULE_BY_NAME.get(name)
    if module is None:
        message = f"module 'osprofile' has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted([*_MODULE_BY_NAME, "load"])


if not TYPE_CHECKING:
    __all__ = __dir__()  # noqa: PLE0605  # ruff knows displays only


def load(name: str) -> Profile:
    """Return the resolved profile of that name from the standard search path (see `Repository`).

    Raises `ProfileNotFoundError`, and `InvalidProfileError` with every problem of the profile.
    """
    from osprofile.profile.repository import Repository

    return Repository().load(name)
