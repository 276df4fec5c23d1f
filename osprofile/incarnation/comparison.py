"""What two profiles make of the same request: their scripts beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from osprofile.errors import (
    IncarnationError,
    JavaRegexTimeoutError,
    NotFoundError,
    OSProfileError,
    UnknownFieldError,
    nearest,
    told,
)
from osprofile.incarnation.incarnate import incarnate
from osprofile.incarnation.plan import BIN, BIN_FIELDS, application_of, plan_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Profile


@final
class Side(NamedTuple):
    """One of the two: a resolved profile and the context in which it is asked."""

    profile: Profile
    context: Mapping[str, str]


@final
class Made(NamedTuple):
    """What one side answers: a script, with the static scripts it runs, or why there is none."""

    text: str
    error: OSProfileError | None


@final
class Pair(NamedTuple):
    """One template in one variation: what each side makes of it."""

    template: str
    variation: str
    old: Made
    new: Made

    @property
    def refused(self) -> bool:
        """Whether neither side gives a script: there is nothing to compare."""
        return self.old.error is not None and self.new.error is not None

    @property
    def differs(self) -> bool:
        """Whether one side gives another script than the other, or none."""
        return not self.refused and self.old != self.new


@final
class Scope(NamedTuple):
    """All that takes part in a template's scripts: for `difference`.

    `root` says whether UspaceRoot and Delimiter do, by way of WORKING_DIRECTORY.
    """

    templates: frozenset[str]
    global_fields: frozenset[str]
    root: bool


Target = tuple[str, str]
"""A template and a variation."""


@final
class Request(NamedTuple):
    """What both sides are asked for, beside a template: fields and an application."""

    fields: Mapping[str, str]
    application: str | None = None


def targets(
    old: Profile, new: Profile, template: str | None, variation: str | None
) -> tuple[Target, ...]:
    """Give what both profiles have, in the order of `old`.

    Without a variation, all that both have. Raises `TemplateNotFoundError` for a template or
    variation that was asked for and that neither has.
    """
    names = list(old.templates) if template is None else [template]
    for name in names if template is not None else ():
        having = [p for p in (old, new) if name in p.templates] or [old]
        errors = [_lack(p, name, variation) for p in having]
        if all(errors) and errors[0] is not None:
            raise errors[0]
    return tuple(
        (name, of)
        for name in names
        if name in old.templates and name in new.templates
        for of in old.templates[name].invocations
        if of in new.templates[name].invocations and variation in {None, of}
        if template is not None
        or name != BIN
        or of not in BIN_FIELDS  # the engine alone asks these
    )


def _lack(profile: Profile, template: str, variation: str | None) -> OSProfileError | None:
    try:
        found = profile.template(template)
        if variation is not None:
            found.invocation(variation)
    except OSProfileError as error:
        return error
    return None


def scope(old: Profile, new: Profile, template: str, application: str | None) -> Scope:
    """Give what a template's scripts are made of, in either profile: START's has its parts.

    Raises `InvalidProfileError`.
    """
    templates, fields, root = {template}, set[str](), False
    for profile in (old, new):
        found = profile.templates.get(template)
        variations = [(template, name) for name in found.invocations] if found else []
        for plan in _plans(profile, variations, application):
            templates.update(t.name for t in plan.templates)
            fields.update(plan.declared)
            root = root or "WORKING_DIRECTORY" in plan.uses
    return Scope(frozenset(templates), frozenset(fields), root)


def compare(old: Side, new: Side, wanted: Iterable[Target], request: Request) -> tuple[Pair, ...]:
    """Give what both sides make of one request, target by target.

    A field of the request counts where a target uses it. What START's job script is made of is not
    told again by itself where START is told. Raises `UnknownFieldError` for a field that no target
    uses on either side, `InvalidProfileError`, `ApplicationNotFoundError` where neither has it.
    """
    asked = list(wanted)
    _judge(old, new, asked, request)
    pairs = [
        Pair(template, variation, *(_made(s, template, variation, request) for s in (old, new)))
        for template, variation in asked
    ]
    start = next((p for p in pairs if (p.template, p.variation) == ("START", "")), None)
    if start is None or start.refused:
        return tuple(pairs)
    parts = _parts_of_start(old, new, request)
    return tuple(pair for pair in pairs if pair.variation or pair.template not in parts)


def _plans(profile: Profile, wanted: Iterable[Target], application: str | None) -> Iterator[Plan]:
    """Give the plans of the targets that have one: a part may be missing, as JOB_EPILOGUE may."""
    for template, variation in wanted:
        try:
            yield plan_of(profile, template, variation, application)
        except NotFoundError:
            continue


def _judge(old: Side, new: Side, wanted: list[Target], request: Request) -> None:
    """Raise for what neither side knows: it is a slip, not a difference."""
    sides, application = (old, new), request.application
    if application and not any(_has_application(s.profile, application) for s in sides):
        application_of(old.profile, application)
    known = set[str]()
    for side in sides if request.fields else ():
        for plan in _plans(side.profile, wanted, application):
            known.update(plan.declared, plan.uses)
    for name in request.fields:
        if name not in known:
            message = f"field {told(name)} is used by neither profile"
            raise UnknownFieldError(message, field=name, hint=nearest(name, known))


def _has_application(profile: Profile, application: str) -> bool:
    try:
        application_of(profile, application)
    except NotFoundError:
        return False
    return True


def _parts_of_start(old: Side, new: Side, request: Request) -> frozenset[str]:
    """Give the templates that START's job script has on both sides."""
    parts = [
        {t.name for t in plan.templates if plan.application is not None}
        for side in (old, new)
        for plan in _plans(side.profile, [("START", "")], request.application)
    ]
    return frozenset(parts[0] & parts[1]) - {"START"} if len(parts) == 2 else frozenset()


def _made(side: Side, template: str, variation: str, request: Request) -> Made:
    profile, application = side.profile, request.application
    try:
        plan = plan_of(profile, template, variation, application)
        used = {*plan.declared, *plan.uses}
        found = incarnate(
            profile,
            template,
            variation=variation,
            application=application,
            fields={name: value for name, value in request.fields.items() if name in used},
            context=side.context,
        )
    except (IncarnationError, NotFoundError, JavaRegexTimeoutError) as error:
        return Made("", error)
    scripts = [f"\n# {script.path}\n{script.body}" for script in found.static_scripts]
    return Made("".join([found.text, *scripts]), None)
