"""Compare the scripts of two profiles for the same request."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from osprofile.errors import (
    IncarnationError,
    JavaRegexTimeoutError,
    NotFoundError,
    OSProfileError,
    UnknownFieldError,
)
from osprofile.incarnation.incarnate import incarnate
from osprofile.incarnation.plan import BIN_FIELDS, BIN_TEMPLATE, find_application, get_plan
from osprofile.incarnation.static_scripts import hide_folder
from osprofile.late import NamedTuple
from osprofile.text import quote_name, suggest_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Profile


@final
class ProfileInContext(NamedTuple):
    """A resolved profile and the context to incarnate it in."""

    profile: Profile
    context: Mapping[str, str]


@final
class RenderedScript(NamedTuple):
    """A script of one profile, followed by the static scripts that it runs, or the error instead."""

    text: str
    error: OSProfileError | None


@final
class ScriptPair(NamedTuple):
    """The scripts of both sides for one template and variation."""

    template: str
    variation: str
    old: RenderedScript
    new: RenderedScript

    @property
    def both_failed(self) -> bool:
        """Whether neither side has a script: there is nothing to compare."""
        return self.old.error is not None and self.new.error is not None

    @property
    def differs(self) -> bool:
        """Whether the scripts differ, or only one side has one."""
        return not self.both_failed and self.old != self.new


@final
class TemplateScope(NamedTuple):
    """What a template's scripts depend on: arguments for `difference.compare_profiles`.

    `uses_uspace_root` says that they use UspaceRoot and Delimiter: WORKING_DIRECTORY begins with them.
    """

    templates: frozenset[str]
    global_fields: frozenset[str]
    uses_uspace_root: bool


TemplateVariation = tuple[str, str]
"""The names of a template and of one of its variations."""


@final
class ComparisonRequest(NamedTuple):
    """The request to both sides: fields and an application."""

    fields: Mapping[str, str]
    application: str | None = None


def find_common_variations(
    old: Profile, new: Profile, template: str | None, variation: str | None
) -> tuple[TemplateVariation, ...]:
    """Return the variations of templates that both profiles have, in the order of `old`.

    Without a template or variation: all of them. Raises `TemplateNotFoundError` for a requested
    template or variation that neither profile has.
    """
    names = list(old.templates) if template is None else [template]
    for name in names if template is not None else ():
        owners = [p for p in (old, new) if name in p.templates] or [old]
        errors = [_find_lookup_error(p, name, variation) for p in owners]
        if all(errors) and errors[0] is not None:
            raise errors[0]
    return tuple(
        (name, common)
        for name in names
        if name in old.templates and name in new.templates
        for common in old.templates[name].invocations
        if common in new.templates[name].invocations and variation in {None, common}
        if template is not None
        or name != BIN_TEMPLATE
        or common not in BIN_FIELDS  # only the engine uses these
    )


def _find_lookup_error(profile: Profile, template: str, variation: str | None) -> OSProfileError | None:
    try:
        declared = profile.get_template(template)
        if variation is not None:
            declared.get_invocation(variation)
    except OSProfileError as error:
        return error
    return None


def collect_scope(old: Profile, new: Profile, template: str, application: str | None) -> TemplateScope:
    """Return what a template's scripts depend on in either profile, including START's parts.

    Raises `InvalidProfileError`.
    """
    templates, fields, uses_uspace_root = {template}, set[str](), False
    for profile in (old, new):
        declared = profile.templates.get(template)
        variations = [(template, name) for name in declared.invocations] if declared else []
        for plan in _iter_plans(profile, variations, application):
            templates.update(t.name for t in plan.templates)
            fields.update(plan.declarations)
            uses_uspace_root = uses_uspace_root or "WORKING_DIRECTORY" in plan.uses
    return TemplateScope(frozenset(templates), frozenset(fields), uses_uspace_root)


def compare_scripts(
    old: ProfileInContext,
    new: ProfileInContext,
    variations: Iterable[TemplateVariation],
    request: ComparisonRequest,
) -> tuple[ScriptPair, ...]:
    """Return the scripts of both sides for one request, by template and variation.

    A field of the request is passed to the templates that use it. With START, the templates that
    its job script consists of are left out. Raises `UnknownFieldError` for a field that no
    template uses on either side, `ApplicationNotFoundError` for an application that neither side
    has, `InvalidProfileError`.
    """
    variations = list(variations)
    _check_request(old, new, variations, request)
    pairs = [
        ScriptPair(
            template, variation, *(_render_script(s, template, variation, request) for s in (old, new))
        )
        for template, variation in variations
    ]
    start = next((p for p in pairs if (p.template, p.variation) == ("START", "")), None)
    if start is None or start.both_failed:
        return tuple(pairs)
    parts = _find_start_parts(old, new, request)
    return tuple(pair for pair in pairs if pair.variation or pair.template not in parts)


def _iter_plans(
    profile: Profile, variations: Iterable[TemplateVariation], application: str | None
) -> Iterator[Plan]:
    """Yield the plans that can be compiled: a part may be missing, such as JOB_EPILOGUE."""
    for template, variation in variations:
        try:
            yield get_plan(profile, template, variation, application)
        except NotFoundError:
            continue


def _check_request(
    old: ProfileInContext,
    new: ProfileInContext,
    variations: list[TemplateVariation],
    request: ComparisonRequest,
) -> None:
    """Raise an error for a name that neither side knows: it is a mistake, not a difference."""
    sides, application = (old, new), request.application
    if application and not any(_has_application(s.profile, application) for s in sides):
        find_application(old.profile, application)
    known_names = set[str]()
    for side in sides if request.fields else ():
        for plan in _iter_plans(side.profile, variations, application):
            known_names.update(plan.declarations, plan.uses)
    for name in request.fields:
        if name not in known_names:
            message = f"field {quote_name(name)} is used by neither profile"
            raise UnknownFieldError(message, field=name, hint=suggest_names(name, known_names))


def _has_application(profile: Profile, application: str) -> bool:
    try:
        find_application(profile, application)
    except NotFoundError:
        return False
    return True


def _find_start_parts(
    old: ProfileInContext, new: ProfileInContext, request: ComparisonRequest
) -> frozenset[str]:
    """Return the templates that START's job script consists of on both sides."""
    parts = [
        {t.name for t in plan.templates if plan.application is not None}
        for side in (old, new)
        for plan in _iter_plans(side.profile, [("START", "")], request.application)
    ]
    return frozenset(parts[0] & parts[1]) - {"START"} if len(parts) == 2 else frozenset()


def _render_script(
    side: ProfileInContext, template: str, variation: str, request: ComparisonRequest
) -> RenderedScript:
    profile, application = side.profile, request.application
    try:
        plan = get_plan(profile, template, variation, application)
        used_names = {*plan.declarations, *plan.uses}
        incarnation = incarnate(
            profile,
            template,
            variation=variation,
            application=application,
            fields={name: value for name, value in request.fields.items() if name in used_names},
            context=side.context,
            strict=False,
        )
    except (IncarnationError, NotFoundError, JavaRegexTimeoutError) as error:
        return RenderedScript("", error)
    scripts = [
        f"\n# {hide_folder(script.path, script.folder)}\n{script.body}" for script in incarnation.used_scripts
    ]
    return RenderedScript("".join([incarnation.comparable_text, *scripts]), None)
