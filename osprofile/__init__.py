"""Describe a batch system once, in an OS Profile, and get its scripts from that file.

    import osprofile

    profile = osprofile.load("pbs")
    context = osprofile.new_context(profile)
    start = osprofile.incarnate(profile, "START", fields={"QUEUE": "long"}, context=context)
    print(start.text)

Importing this module loads nothing else; each name below is imported when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it for True; `typing` would double the import's time
if TYPE_CHECKING:
    from osprofile.errors import (
        AlreadyRegisteredError,
        ApplicationNotFoundError,
        AttributeRefusedError,
        CasesError,
        ClassAdError,
        EventError,
        IncarnationError,
        InvalidProfileError,
        JavaRegexError,
        JavaRegexTimeoutError,
        JobIdError,
        JobNotFoundError,
        MissingValueError,
        MonitorError,
        NotFoundError,
        NotRegisteredError,
        NotSettableError,
        OSProfileError,
        OutputError,
        Problem,
        ProfileNotFoundError,
        RequestError,
        ScriptCutError,
        ScriptError,
        ScriptFailedError,
        ScriptTimeoutError,
        SettingError,
        StorageNotFoundError,
        StoreError,
        SubmissionBusyError,
        TargetError,
        TemplateNotFoundError,
        UnknownFieldError,
        ValueRefusedError,
    )
    from osprofile.incarnation.context import new_context, working_directory
    from osprofile.incarnation.incarnate import (
        FieldValue,
        Incarnation,
        incarnate,
        static_scripts,
        storage_path,
    )
    from osprofile.incarnation.static_scripts import StaticScriptFile, deployment_script
    from osprofile.jobs.description import JobDescription
    from osprofile.jobs.state import JobEvent, JobState, JobStatus
    from osprofile.jobs.store import Store
    from osprofile.jobs.target_system import TargetSystem
    from osprofile.profile.model import Profile
    from osprofile.profile.repository import Repository

__version__ = "0.1.0"

_ERRORS = "osprofile.errors"
_INCARNATE = "osprofile.incarnation.incarnate"
_EXPORTS = {
    "AlreadyRegisteredError": _ERRORS,
    "ApplicationNotFoundError": _ERRORS,
    "AttributeRefusedError": _ERRORS,
    "CasesError": _ERRORS,
    "ClassAdError": _ERRORS,
    "EventError": _ERRORS,
    "FieldValue": _INCARNATE,
    "Incarnation": _INCARNATE,
    "IncarnationError": _ERRORS,
    "InvalidProfileError": _ERRORS,
    "JavaRegexError": _ERRORS,
    "JavaRegexTimeoutError": _ERRORS,
    "JobDescription": "osprofile.jobs.description",
    "JobEvent": "osprofile.jobs.state",
    "JobIdError": _ERRORS,
    "JobNotFoundError": _ERRORS,
    "JobState": "osprofile.jobs.state",
    "JobStatus": "osprofile.jobs.state",
    "MissingValueError": _ERRORS,
    "MonitorError": _ERRORS,
    "NotFoundError": _ERRORS,
    "NotRegisteredError": _ERRORS,
    "NotSettableError": _ERRORS,
    "OSProfileError": _ERRORS,
    "OutputError": _ERRORS,
    "Problem": _ERRORS,
    "Profile": "osprofile.profile.model",
    "ProfileNotFoundError": _ERRORS,
    "Repository": "osprofile.profile.repository",
    "RequestError": _ERRORS,
    "ScriptCutError": _ERRORS,
    "ScriptError": _ERRORS,
    "ScriptFailedError": _ERRORS,
    "ScriptTimeoutError": _ERRORS,
    "StaticScriptFile": "osprofile.incarnation.static_scripts",
    "SettingError": _ERRORS,
    "StorageNotFoundError": _ERRORS,
    "Store": "osprofile.jobs.store",
    "StoreError": _ERRORS,
    "SubmissionBusyError": _ERRORS,
    "TargetError": _ERRORS,
    "TargetSystem": "osprofile.jobs.target_system",
    "TemplateNotFoundError": _ERRORS,
    "UnknownFieldError": _ERRORS,
    "ValueRefusedError": _ERRORS,
    "deployment_script": "osprofile.incarnation.static_scripts",
    "incarnate": _INCARNATE,
    "new_context": "osprofile.incarnation.context",
    "static_scripts": _INCARNATE,
    "storage_path": _INCARNATE,
    "working_directory": "osprofile.incarnation.context",
}

__all__ = [
    "AlreadyRegisteredError",
    "ApplicationNotFoundError",
    "AttributeRefusedError",
    "CasesError",
    "ClassAdError",
    "EventError",
    "FieldValue",
    "Incarnation",
    "IncarnationError",
    "InvalidProfileError",
    "JavaRegexError",
    "JavaRegexTimeoutError",
    "JobDescription",
    "JobEvent",
    "JobIdError",
    "JobNotFoundError",
    "JobState",
    "JobStatus",
    "MissingValueError",
    "MonitorError",
    "NotFoundError",
    "NotRegisteredError",
    "NotSettableError",
    "OSProfileError",
    "OutputError",
    "Problem",
    "Profile",
    "ProfileNotFoundError",
    "Repository",
    "RequestError",
    "ScriptCutError",
    "ScriptError",
    "ScriptFailedError",
    "ScriptTimeoutError",
    "SettingError",
    "StaticScriptFile",
    "StorageNotFoundError",
    "Store",
    "StoreError",
    "SubmissionBusyError",
    "TargetError",
    "TargetSystem",
    "TemplateNotFoundError",
    "UnknownFieldError",
    "ValueRefusedError",
    "deployment_script",
    "incarnate",
    "load",
    "new_context",
    "static_scripts",
    "storage_path",
    "working_directory",
]


def __getattr__(name: str) -> object:
    module = _EXPORTS.get(name)
    if module is None:
        message = f"module 'osprofile' has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return __all__


def load(name: str) -> Profile:
    """Give the resolved profile of that name from the standard search path (see `Repository`).

    Raises `ProfileNotFoundError`; `InvalidProfileError` with everything that is wrong.
    """
    from osprofile.profile.repository import Repository

    return Repository().load(name)
