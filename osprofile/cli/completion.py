"""Completions for the shell: names of profiles, templates, variations, applications, fields, jobs.

Each function takes the values of the command line so far, by parameter, and returns pairs of a word and
its help. Completion never fails: if a profile cannot be loaded, there are no suggestions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from osprofile.cli import common
from osprofile.errors import OSProfileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from osprofile.incarnation.plan import Plan
    from osprofile.jobs.record.store import JobRecord, Store
    from osprofile.profile.model import Profile

Suggestion = tuple[str, str]
_MAX_SUGGESTED_JOBS: Final = 1000


def suggest_profiles(params: Mapping[str, Any]) -> list[Suggestion]:
    """Return the names of the profiles on the search path."""
    from osprofile.profile.repository import Repository

    return [(name, "") for name in Repository(params.get("profiles") or ()).list_names()]


def suggest_templates(params: Mapping[str, Any]) -> list[Suggestion]:
    """Return the templates of the profile, or of the bundled `linux` if none is given yet."""
    return [(t.name, t.description) for t in _load_profile(params, "linux").templates.values()]


def suggest_variations(params: Mapping[str, Any]) -> list[Suggestion]:
    """Return the named variations of the template."""
    template = _load_profile(params).get_template(params.get("template") or "")
    return [(i.name, i.description) for i in template.invocations.values() if i.name]


def suggest_applications(params: Mapping[str, Any]) -> list[Suggestion]:
    """Return NAME and NAME/VERSION of the profile's applications."""
    entries = _load_profile(params).applications.values()
    names = {a.application_name: a.description for a in entries}
    versions = [(f"{a.application_name}/{a.application_version}", a.description) for a in entries]
    return [*names.items(), *versions]


def suggest_assignments(params: Mapping[str, Any]) -> list[Suggestion]:
    """Return `NAME=` for each field that a request may set."""
    plan = _load_plan(params)
    return [(f"{name}=", plan.declarations[name].description) for name in sorted(plan.settable)]


def suggest_used_fields(params: Mapping[str, Any]) -> list[Suggestion]:
    """Return the fields that the template uses, settable or not."""
    plan = _load_plan(params)
    fields = {name: plan.declarations.get(name) for name in sorted(plan.uses)}
    return [(name, field.description if field else "") for name, field in fields.items()]


def _load_plan(params: Mapping[str, Any]) -> Plan:
    from osprofile.incarnation.plan import get_plan

    template, variation = params.get("template") or "START", params.get("variation") or ""
    return get_plan(_load_profile(params), template, variation, params.get("application"))


def suggest_jobs(params: Mapping[str, Any]) -> list[Suggestion]:
    """Return the ids of the recorded jobs that have not ended."""
    return _suggest_listed_jobs(params, lambda store: store.list_live_jobs())


def suggest_recorded_jobs(params: Mapping[str, Any]) -> list[Suggestion]:
    """Return the ids of the newest recorded jobs, also of those that have ended."""
    return _suggest_listed_jobs(params, lambda store: store.list_newest_jobs(_MAX_SUGGESTED_JOBS))


def _suggest_listed_jobs(
    params: Mapping[str, Any], list_jobs: Callable[[Store], Iterable[JobRecord]]
) -> list[Suggestion]:
    """Return the ids of jobs of the record.

    The shell inserts them as they are: an id with a `;` would be two commands, and is left out.
    """
    import logging
    import os.path
    import re

    from osprofile.jobs.record.store import Store, default_store_path

    path = params.get("store") or default_store_path()
    if not os.path.exists(path):
        return []
    logger = logging.getLogger("osprofile.jobs")
    logger.addFilter(is_silent := lambda _: False)  # a warning would stand in the user's command line
    try:
        records = [record for record in list_jobs(Store(path)) if record.is_submitted]
    finally:
        logger.removeFilter(is_silent)
    records = [r for r in records if re.fullmatch(r"[A-Za-z0-9\[\]_.:+=,@%/-]+", r.status.job_id)]
    return [(r.status.job_id, " ".join(filter(None, (r.name, r.target)))) for r in records]


def suggest_states(_params: Mapping[str, Any]) -> list[Suggestion]:
    """Return the states of jobs."""
    from osprofile.cli.job.rows import STATES

    return [(state, "") for state in STATES]


def suggest_formats(_params: Mapping[str, Any]) -> list[Suggestion]:
    """Return the output formats of `lint`."""
    from osprofile.cli.lint import FORMATS

    return [(name, "") for name in FORMATS]


def suggest_codes(_params: Mapping[str, Any]) -> list[Suggestion]:
    """Return the codes of the linter's rules."""
    from osprofile.lint import RULES

    return [(rule.code, rule.summary) for rule in RULES.values()]


def suggest_cases(params: Mapping[str, Any]) -> list[Suggestion]:
    """Return the names of the golden cases."""
    from osprofile.cli.check import list_case_names

    words, profiles = (list(params.get(name) or ()) for name in ("folders", "profiles"))
    return [(name, "") for name in list_case_names(words, profiles)]


def suggest_linted(params: Mapping[str, Any]) -> list[Suggestion]:
    """Return what `lint` takes: profiles, or codes with `--explain`."""
    return suggest_codes(params) if params.get("explain") else suggest_profiles(params)


def _load_profile(params: Mapping[str, Any], fallback: str | None = None) -> Profile:
    # `diff` has no --profile; its first profile is the argument `first`.
    profile = params.get("profile") or params.get("first") or fallback
    return common.open_profile(profile, params.get("profiles") or ())


COMPLETERS: Final[Mapping[str, Callable[[Mapping[str, Any]], list[Suggestion]]]] = {
    "profiles": suggest_profiles,
    "templates": suggest_templates,
    "variations": suggest_variations,
    "applications": suggest_applications,
    "assignments": suggest_assignments,
    "used-fields": suggest_used_fields,
    "jobs": suggest_jobs,
    "recorded-jobs": suggest_recorded_jobs,
    "states": suggest_states,
    "formats": suggest_formats,
    "codes": suggest_codes,
    "cases": suggest_cases,
    "linted": suggest_linted,
}
"""The functions by the name that an option or argument gives as its `completer`."""


def list_suggestions(completer: str, params: Mapping[str, Any], incomplete: str) -> Iterable[Suggestion]:
    """Return the suggestions of a completer that begin with the incomplete word."""
    try:
        suggestions = COMPLETERS[completer](params)
    except OSProfileError:
        return []
    return [(word, text) for word, text in suggestions if word.startswith(incomplete)]
