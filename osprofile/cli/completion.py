"""What the shell offers at a TAB: names of profiles, templates, variations, applications, fields, jobs.

Each function takes the values given so far, by parameter, and gives (word, help) pairs. Completion
never fails: where a profile cannot be loaded, there is nothing to offer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from osprofile.cli import common
from osprofile.errors import OSProfileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Profile

Suggestion = tuple[str, str]


def profiles(params: Mapping[str, Any]) -> list[Suggestion]:
    """Give the names of the profiles on the search path."""
    from osprofile.profile.repository import Repository

    return [(name, "") for name in Repository(params.get("profiles") or ()).list_names()]


def templates(params: Mapping[str, Any]) -> list[Suggestion]:
    """Give the templates of the profile; of the bundled `linux` where none is given yet."""
    return [(t.name, t.description) for t in _load_profile(params, "linux").templates.values()]


def variations(params: Mapping[str, Any]) -> list[Suggestion]:
    """Give the named variations of the template."""
    template = _load_profile(params).get_template(params.get("template") or "")
    return [(i.name, i.description) for i in template.invocations.values() if i.name]


def applications(params: Mapping[str, Any]) -> list[Suggestion]:
    """Give NAME and NAME/VERSION of the profile's applications."""
    found = _load_profile(params).applications.values()
    names = {a.application_name: a.description for a in found}
    versions = [(f"{a.application_name}/{a.application_version}", a.description) for a in found]
    return [*names.items(), *versions]


def assignments(params: Mapping[str, Any]) -> list[Suggestion]:
    """Give `NAME=` for each field that a request may set."""
    plan = _load_plan(params)
    return [(f"{name}=", plan.declarations[name].description) for name in sorted(plan.settable)]


def used(params: Mapping[str, Any]) -> list[Suggestion]:
    """Give the fields that the text uses, settable or not."""
    plan = _load_plan(params)
    fields = {name: plan.declarations.get(name) for name in sorted(plan.uses)}
    return [(name, field.description if field else "") for name, field in fields.items()]


def _load_plan(params: Mapping[str, Any]) -> Plan:
    from osprofile.incarnation.plan import get_plan

    template, variation = params.get("template") or "START", params.get("variation") or ""
    return get_plan(_load_profile(params), template, variation, params.get("application"))


def jobs(params: Mapping[str, Any]) -> list[Suggestion]:
    """Give the ids of the jobs of the record that have not ended."""
    import os.path

    from osprofile.jobs.store import Store, default_store_path

    path = params.get("store") or default_store_path()
    if not os.path.exists(path):
        return []
    records = [
        r for r in Store(path).list_all_jobs() if r.is_submitted and not r.status.state.is_terminal
    ]
    return [(r.status.job_id, " ".join(filter(None, (r.name, r.target)))) for r in records]


def formats(_given: Mapping[str, Any]) -> list[Suggestion]:
    """Give the formats of the linter."""
    from osprofile.cli.lint import FORMATS

    return [(name, "") for name in FORMATS]


def codes(_given: Mapping[str, Any]) -> list[Suggestion]:
    """Give the codes of the linter."""
    from osprofile.lint import RULES

    return [(rule.code, rule.summary) for rule in RULES.values()]


def cases(params: Mapping[str, Any]) -> list[Suggestion]:
    """Give the names of the golden cases."""
    from osprofile.cli.check import list_case_names

    words, profiles = (list(params.get(name) or ()) for name in ("folders", "profiles"))
    return [(name, "") for name in list_case_names(words, profiles)]


def schemas(_given: Mapping[str, Any]) -> list[Suggestion]:
    """Give the names of the schemas' files."""
    from osprofile.profile.editors import list_schema_files

    return [(name, "") for name in list_schema_files()]


def _load_profile(params: Mapping[str, Any], fallback: str | None = None) -> Profile:
    profile = (
        params.get("profile") or params.get("first") or fallback
    )  # diff has two, and no option
    return common.open_profile(profile, params.get("profiles") or ())


def list_suggestions(name: str, params: Mapping[str, Any], incomplete: str) -> Iterable[Suggestion]:
    """Give what the function of that name offers for a word that has been begun."""
    function: Callable[[Mapping[str, Any]], list[Suggestion]] = globals()[name]
    try:
        found = function(params)
    except OSProfileError:
        return []
    return [(word, text) for word, text in found if word.startswith(incomplete)]
