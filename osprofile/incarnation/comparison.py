"""What two profiles make of the same request: their scripts beside each other."""

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
    """One of the two: a resolved profile and the context in which it is asked."""

    profile: Profile
    context: Mapping[str, str]


@final
class RenderedScript(NamedTuple):
    """What one side answers: a script, with the static scripts it runs, or why there is none."""

    text: str
    error: OSProfileError | None


@final
class ScriptPair(NamedTuple):
    """One template in one variation: what each side makes of it."""

    template: str
    variation: str
    old: RenderedScript
    new: RenderedScript

    @property
    def both_failed(self) -> bool:
        """Whether neither side gives a script: there is nothing to compare."""
        return self.old.error is not None and self.new.error is not None

    @property
    def differs(self) -> bool:
        """Whether one side gives another script than the other, or none."""
        return not self.both_failed and self.old != self.new


@final
class TemplateScope(NamedTuple):
    """All that takes part in a template's scripts: for `difference`.

    `uses_root` says whether UspaceRoot and Delimiter do, by way of WORKING_DIRECTORY.
    """

    templates: frozenset[str]
    global_fields: frozenset[str]
    uses_root: bool


TemplateVariation = tuple[str, str]
"""A template and a variation."""


@final
class ComparisonRequest(NamedTuple):
    """What both sides are asked for, beside a template: fields and an application."""

    fields: Mapping[str, str]
    application: str | None = None


def find_common_variations(
    old: Profile, new: Profile, template: str | None, variation: str | None
) -> tuple[TemplateVariation, ...]:
    """Give what both profiles have, in the order of `old`.

    Without a variation, all that both have. Raises `TemplateNotFoundError` for a template or
    variation that was asked for and that neither has.
    """
    names = list(old.templates) if template is None else [template]
    for name in names if template is not None else ():
        having = [p for p in (old, new) if name in p.templates] or [old]
        errors = [_find_lookup_error(p, name, variation) for p in having]
        if all(errors) and errors[0] is not None:
            raise errors[0]
    return tuple(
        (name, of)
        for name in names
        if name in old.templates and name in new.templates
        for of in old.templates[name].invocations
        if of in new.templates[name].invocations and variation in {None, of}
        if template is not None
        or name != BIN_TEMPLATE
        or of not in BIN_FIELDS  # the engine alone asks these
    )


def _find_lookup_error(
    profile: Profile, template: str, variation: str | None
) -> OSProfileError | None:
    try:
        found = profile.get_template(template)
        if variation is not None:
            found.get_invocation(variation)
    except OSProfileError as error:
        return error
    return None


def collect_scope(
    old: Profile, new: Profile, template: str, application: str | None
) -> TemplateScope:
    """Give what a template's scripts are made of, in either profile: START's has its parts.

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
    """Give what both sides make of one request, target by target.

    A field of the request counts where a target uses it. What START's job script is made of is not
    told again by itself where START is told. Raises `UnknownFieldError` for a field that no target
    uses on either side, `InvalidProfileError`, `ApplicationNotFoundError` where neither has it.
    """
    asked = list(variations)
    _check_request(old, new, asked, request)
    pairs = [
        ScriptPair(
            template,
            variation,
            *(_render_script(s, template, variation, request) for s in (old, new)),
        )
        for template, variation in asked
    ]
    start = next((p for p in pairs if (p.template, p.variation) == ("START", "")), None)
    if start is None or start.both_failed:
        return tuple(pairs)
    parts = _find_start_parts(old, new, request)
    return tuple(pair for pair in pairs if pair.variation or pair.template not in parts)


def _get_plans(
    profile: Profile, variations: Iterable[TemplateVariation], application: str | None
) -> Iterator[Plan]:
    """Give the plans of the targets that have one: a part may be missing, as JOB_EPILOGUE may."""
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
    """Raise for what neither side knows: it is a slip, not a difference."""
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
    """Give the templates that START's job script has on both sides."""
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
