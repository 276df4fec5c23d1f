"""Compare the scripts that two profiles make of the same request."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from osprofile.errors import (
    IncarnationError,
    JavaRegexTimeoutError,
    NotFoundError,
    OSProfileError,
    UnknownFieldError,
    quote_name,
    suggest_names,
)
from osprofile.incarnation.incarnate import incarnate
from osprofile.incarnation.plan import BIN_FIELDS, BIN_TEMPLATE, find_application, get_plan

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
    """A script of one side, with the static scripts it runs, or the error if there is none."""

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
    """The templates and global fields that a template's scripts are made of: for `difference`.

    `uses_root`: UspaceRoot and Delimiter are among them, by way of WORKING_DIRECTORY.
    """

    templates: frozenset[str]
    global_fields: frozenset[str]
    uses_root: bool


TemplateVariation = tuple[str, str]
"""A template and a variation."""


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
        (name, other)
        for name in names
        if name in old.templates and name in new.templates
        for other in old.templates[name].invocations
        if other in new.templates[name].invocations and variation in {None, other}
        if template is not None
        or name != BIN_TEMPLATE
        or other not in BIN_FIELDS  # only the engine uses these
    )


def _find_lookup_error(profile: Profile, template: str, variation: str | None) -> OSProfileError | None:
    try:
        found = profile.get_template(template)
        if variation is not None:
            found.get_invocation(variation)
    except OSProfileError as error:
        return error
    return None


def collect_scope(old: Profile, new: Profile, template: str, application: str | None) -> TemplateScope:
    """Return what a template's scripts are made of in either profile, START's parts included.

    Raises `InvalidProfileError`.
    """
    templates, fields, root = {template}, set[str](), False
    for profile in (old, new):
        found = profile.templates.get(template)
        variations = [(template, name) for name in found.invocations] if found else []
        for plan in _get_plans(profile, variations, application):
            templates.update(t.name for t in plan.templates)
            fields.update(plan.declarations)
            root = root or "WORKING_DIRECTORY" in plan.uses
    return TemplateScope(frozenset(templates), frozenset(fields), root)


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


def _get_plans(
    profile: Profile, variations: Iterable[TemplateVariation], application: str | None
) -> Iterator[Plan]:
    """Yield the plans that can be made: a part may be missing, such as JOB_EPILOGUE."""
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
    """Raise for a name that neither side knows: it is a mistake, not a difference."""
    sides, application = (old, new), request.application
    if application and not any(_has_application(s.profile, application) for s in sides):
        find_application(old.profile, application)
    known = set[str]()
    for side in sides if request.fields else ():
        for plan in _get_plans(side.profile, variations, application):
            known.update(plan.declarations, plan.uses)
    for name in request.fields:
        if name not in known:
            message = f"field {quote_name(name)} is used by neither profile"
            raise UnknownFieldError(message, field=name, hint=suggest_names(name, known))


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
        for plan in _get_plans(side.profile, [("START", "")], request.application)
    ]
    return frozenset(parts[0] & parts[1]) - {"START"} if len(parts) == 2 else frozenset()


def _render_script(
    side: ProfileInContext, template: str, variation: str, request: ComparisonRequest
) -> RenderedScript:
    profile, application = side.profile, request.application
    try:
        plan = get_plan(profile, template, variation, application)
        used = {*plan.declarations, *plan.uses}
        found = incarnate(
            profile,
            template,
            variation=variation,
            application=application,
            fields={name: value for name, value in request.fields.items() if name in used},
            context=side.context,
        )
    except (IncarnationError, NotFoundError, JavaRegexTimeoutError) as error:
        return RenderedScript("", error)
    scripts = [f"\n# {script.path}\n{script.body}" for script in found.static_scripts]
    return RenderedScript("".join([found.text, *scripts]), None)
