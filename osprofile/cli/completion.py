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

Offer = tuple[str, str]


def profiles(given: Mapping[str, Any]) -> list[Offer]:
    """Give the names of the profiles on the search path."""
    from osprofile.profile.repository import Repository

    return [(name, "") for name in Repository(given.get("profiles") or ()).names()]


def templates(given: Mapping[str, Any]) -> list[Offer]:
    """Give the templates of the profile; of the bundled `linux` where none is given yet."""
    return [(t.name, t.description) for t in _profile(given, "linux").templates.values()]


def variations(given: Mapping[str, Any]) -> list[Offer]:
    """Give the named variations of the template."""
    template = _profile(given).template(given.get("template") or "")
    return [(i.name, i.description) for i in template.invocations.values() if i.name]


def applications(given: Mapping[str, Any]) -> list[Offer]:
    """Give NAME and NAME/VERSION of the profile's applications."""
    found = _profile(given).applications.values()
    names = {a.application_name: a.description for a in found}
    versions = [(f"{a.application_name}/{a.application_version}", a.description) for a in found]
    return [*names.items(), *versions]


def assignments(given: Mapping[str, Any]) -> list[Offer]:
    """Give `NAME=` for each field that a request may set."""
    plan = _plan(given)
    return [(f"{name}=", plan.declared[name].description) for name in sorted(plan.settable)]


def used(given: Mapping[str, Any]) -> list[Offer]:
    """Give the fields that the text uses, settable or not."""
    plan = _plan(given)
    fields = {name: plan.declared.get(name) for name in sorted(plan.uses)}
    return [(name, field.description if field else "") for name, field in fields.items()]


def _plan(given: Mapping[str, Any]) -> Plan:
    from osprofile.incarnation.plan import plan_of

    template, variation = given.get("template") or "START", given.get("variation") or ""
    return plan_of(_profile(given), template, variation, given.get("application"))


def jobs(given: Mapping[str, Any]) -> list[Offer]:
    """Give the ids of the jobs of the record that have not ended."""
    import os.path

    from osprofile.target.store import Store, default_path

    path = given.get("store") or default_path()
    if not os.path.exists(path):
        return []
    records = [r for r in Store(path).all() if r.is_submitted and not r.status.state.is_terminal]
    return [(r.status.job_id, " ".join(filter(None, (r.name, r.target)))) for r in records]


def formats(_given: Mapping[str, Any]) -> list[Offer]:
    """Give the formats of the linter."""
    from osprofile.cli.lint import FORMATS

    return [(name, "") for name in FORMATS]


def codes(_given: Mapping[str, Any]) -> list[Offer]:
    """Give the codes of the linter."""
    from osprofile.lint import RULES

    return [(rule.code, rule.summary) for rule in RULES.values()]


def cases(given: Mapping[str, Any]) -> list[Offer]:
    """Give the names of the golden cases."""
    from osprofile.cli.check import names_of_cases

    words, profiles = (list(given.get(name) or ()) for name in ("folders", "profiles"))
    return [(name, "") for name in names_of_cases(words, profiles)]


def schemas(_given: Mapping[str, Any]) -> list[Offer]:
    """Give the names of the schemas' files."""
    from osprofile.profile.editors import files

    return [(name, "") for name in files()]


def _profile(given: Mapping[str, Any], otherwise: str | None = None) -> Profile:
    profile = given.get("profile") or given.get("first") or otherwise  # diff has two, and no option
    return common.open_profile(profile, given.get("profiles") or ())


def offers(name: str, given: Mapping[str, Any], incomplete: str) -> Iterable[Offer]:
    """Give what the function of that name offers for a word that has been begun."""
    function: Callable[[Mapping[str, Any]], list[Offer]] = globals()[name]
    try:
        found = function(given)
    except OSProfileError:
        return []
    return [(word, text) for word, text in found if word.startswith(incomplete)]
