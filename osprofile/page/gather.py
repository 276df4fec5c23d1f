"""A page's content, drawn from a resolved profile and from the plans of its scripts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import ApplicationNotFoundError
from osprofile.incarnation import fields as rules
from osprofile.incarnation.plan import (
    BIN,
    DEFAULT_APPLICATION,
    START_PARTS,
    application_of,
    plan_of,
)
from osprofile.page import model
from osprofile.page.levels import levels_of, replaced_fields
from osprofile.page.model import Page, Setting, Supplied, Target
from osprofile.page.places import Labels, labels_of
from osprofile.page.rendering import Question, answer, page_context

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Application, Field, Profile, Template

START: Final = "START"
SHELL: Final = "SHELL"
_WORDS: Final = re.compile(r"(?:\((?:\?:)?)?([A-Za-z0-9_:@/-]+(?:\|[A-Za-z0-9_:@/-]+)+)\)?")
"""A pattern that is nothing but a few words to choose from."""


def page_of(profile: Profile, context: Mapping[str, str] | None = None) -> Page:
    """Give what a page tells of a profile.

    `context` overrides the user and directory that the examples show. Raises
    `InvalidProfileError` for a fault in a body, `NotFoundError` where START lacks one of its parts.
    """
    return _Gatherer(profile, context or {}).page()


@final
class _Gatherer:
    """Walks the scripts of one profile, and notes each field that it meets."""

    def __init__(self, profile: Profile, context: Mapping[str, str]) -> None:
        self.profile = profile
        self.labels: Labels = labels_of(profile)
        self.context = page_context(profile, context)
        self.applications = _sorted(profile)
        self.parts = _parts(profile)
        self.targets: dict[Target, Plan] = {}
        self.found: dict[tuple[object, ...], list[Field]] = {}
        self.used: dict[tuple[object, ...], list[int]] = {}

    def page(self) -> Page:
        for template in self._templates():
            for variation in template.invocations:
                self._add_targets(template, variation)
        self._add_rest()
        jobs, others = self._settings()
        settings = (*jobs, *others)
        return Page(
            profile=self.profile.name,
            directory=self.profile.uspace_root,
            settings=settings,
            jobs=len(jobs),
            targets=tuple(self.targets),
            applications=tuple(self._application(a, settings) for a in self.applications),
            scripts=tuple(self._script(t, settings) for t in self._templates()),
            supplied=tuple(self._supplied()),
            levels=levels_of(self.profile, self.labels),
            examples=tuple(self._examples()),
        )

    def _templates(self) -> list[Template]:
        """Give the templates: START, what people ask for, then the parts of others."""
        found = list(self.profile.templates.values())
        rank = {START: 0} | dict.fromkeys(self.parts, 2)
        return sorted(found, key=lambda t: rank.get(t.name, 1))

    # Scripts

    def _add_targets(self, template: Template, variation: str) -> None:
        if template.name in self.parts:
            return
        wanted = [w for w in map(self._wanted, self.applications) if w]
        first = plan_of(self.profile, template.name, variation, wanted[0] if wanted else None)
        applications = wanted if first.application is not None else [""]
        for application in applications:
            plan = plan_of(self.profile, template.name, variation, application or None)
            if all(n in plan.settable or self.context.get(n) for n in plan.required):
                target = Target(template.name, variation, application)
                self._note(plan.declared.values(), plan.settable, len(self.targets))
                self.targets[target] = plan

    def _wanted(self, application: Application) -> str:
        """Give how a request names an application; nothing where a nearer one is called the same."""
        name, version = application.application_name, application.application_version
        for wanted in (name, f"{name}/{version}"):
            if application_of(self.profile, wanted) is application:
                return wanted
        return ""

    def _note(self, fields: Iterable[Field], settable: frozenset[str], target: int | None) -> None:
        for field in fields:
            if field.name in settable:
                key = (field.name, field.description, field.rules())
                known = self.found.setdefault(key, [])
                if not any(field is other for other in known):
                    known.append(field)
                self.used.setdefault(key, []).extend([] if target is None else [target])

    def _add_rest(self) -> None:
        """Note the settable fields that no script of the form uses: they are declared all the same."""
        joined = [d for fields in self.found.values() for f in fields for d in f.declarations]
        for field in self._declared():
            supplied = rules.is_special(field.name) or field.value is not None
            if field.settable and not supplied and not any(field is d for d in joined):
                self._note([field], frozenset({field.name}), None)

    # Fields

    def _settings(self) -> tuple[list[Setting], list[Setting]]:
        """Give the fields of a job, and those of the other scripts."""
        jobs, others = list[Setting](), list[Setting]()
        taken: dict[str, int] = {}
        starts = {i for i, t in enumerate(self.targets) if t.application or t.template == START}
        order = {name: i for i, name in enumerate(self.profile.global_fields)}
        found = sorted(self.found.items(), key=lambda item: order.get(item[1][0].name, len(order)))
        for key, fields in found:
            targets = tuple(dict.fromkeys(self.used.get(key, ())))
            number = taken[fields[0].name] = taken.get(fields[0].name, 0) + 1
            setting = self._setting(fields, number, targets)
            (jobs if starts.intersection(targets) else others).append(setting)
        return jobs, others

    def _setting(self, fields: list[Field], number: int, targets: tuple[int, ...]) -> Setting:
        field = fields[0]
        control, choices = control_of(field)
        low, high = field.minimum, field.maximum
        return Setting(
            key=field.name if number == 1 else f"{field.name}~{number}",
            name=field.name,
            description=field.description,
            default=field.default,
            type=field.type or ("number" if rules.is_limited(field) else ""),
            limits=rules.range_text(field),
            minimum="" if low is None else rules.number_text(low),
            maximum="" if high is None else rules.number_text(high),
            pattern=field.pattern_text,
            tags=_tags(field),
            control=control,
            choices=choices,
            targets=targets,
            origins=tuple(
                self.labels.origin(d.place, (r.place for r in replaced_fields(self.profile, d)))
                for f in fields
                for d in f.declarations or (f,)
            ),
        )

    def _declared(self) -> Iterator[Field]:
        yield from self.profile.global_fields.values()
        for template in self._templates():
            yield from template.fields.values()

    def _supplied(self) -> Iterator[Supplied]:
        """Give what no request sets: first what context and engine give, then the fixed fields."""
        names = {f.name: f for f in self._declared() if rules.is_special(f.name)}
        used = {n: p.declared.get(n) for p in self.targets.values() for n in p.uses}
        for name in sorted(names | used):
            declared = used.get(name) or names.get(name)
            if declared is None or rules.is_special(name):
                what = declared.description if declared else _SPECIAL.get(name, "")
                source: model.Source = "engine" if name == rules.JOB_SCRIPT else "context"
                origin = self.labels.origin(declared.place) if declared else None
                yield Supplied(name, what, source, None, (), origin)
        seen = []
        for field in self._declared():
            rule = (field.name, field.description, field.rules())
            fixed = field.value is not None or not field.settable
            if fixed and not rules.is_special(field.name) and rule not in seen:
                seen.append(rule)
                yield self._fixed(field)

    def _fixed(self, field: Field) -> Supplied:
        replaced = (r.place for r in replaced_fields(self.profile, field))
        origin = self.labels.origin(field.place, replaced)
        value = field.value if field.value is not None else field.default
        source: model.Source = "engine" if value is None and not field.tags else "fixed"
        return Supplied(field.name, field.description, source, value, _tags(field), origin)

    # Applications, scripts, examples

    def _application(
        self, application: Application, settings: Iterable[Setting]
    ) -> model.Application:
        wanted = self._wanted(application)
        mine = {i for i, t in enumerate(self.targets) if t.application == wanted}
        others = {i for i, t in enumerate(self.targets) if t.application not in {"", wanted}}
        own = [s.key for s in settings if mine & {*s.targets} and not others & {*s.targets}]
        replaced = (e.place for e in self.profile.overridden(application))
        return model.Application(
            name=application.application_name,
            version=application.application_version,
            wanted=wanted if mine else "",
            description=application.description,
            template=application.template,
            default=application is _default(self.profile),
            own=tuple(own) if others else (),
            origin=self.labels.origin(application.place, replaced),
        )

    def _script(self, template: Template, settings: Iterable[Setting]) -> model.Script:
        mine = {i for i, t in enumerate(self.targets) if t.template == template.name}
        job = any(t.application for t in self.targets if t.template == template.name)
        keys = [] if job else [s.key for s in settings if mine & {*s.targets}]
        replaced = (e.place for e in self.profile.overridden(template))
        return model.Script(
            name=template.name,
            description=template.description,
            variations=tuple((i.name, i.description) for i in template.invocations.values()),
            fields=tuple(keys),
            part=template.name in self.parts,
            origin=self.labels.origin(template.place, replaced),
        )

    def _examples(self) -> Iterator[model.Example]:
        for target in self.targets:
            if target.template == START:
                asked = Question(*target)
                if target.application == DEFAULT_APPLICATION:
                    asked = asked._replace(application="")
                made = answer(self.profile, self.labels, self.context, asked)
                why = made.refusal
                told = why.sentences if why else ""
                title = target.application or START
                yield model.Example(title, made.command, made.text, told)


_SPECIAL: Final = {
    "USER_NAME": "The name of the user whose job it is.",
    "WORKING_DIRECTORY": "The job's own directory, a fresh one for each job.",
    "PROFILE_NAME": "The name of this profile.",
    "USPACE_ROOT": "The directory below which working directories are made.",
    "JOB_SCRIPT": "The job's script: JOB_PROLOGUE, the application's template, JOB_EPILOGUE.",
}


def control_of(field: Field) -> tuple[model.Control, tuple[str, ...]]:
    """Say how a field is asked for, and what the choices are where all are known."""
    pattern = field.pattern_text or ""
    words = _WORDS.fullmatch(pattern)
    if words and (pattern[0] == "(") == (pattern[-1] == ")") and not rules.is_limited(field):
        values = words[1].split("|")
        tags = [tag.name for tag in field.tags if tag.value in values]
        empty = [""] if field.default == "" else []
        return "choice", tuple(dict.fromkeys([*empty, *tags, *values]))
    if {"\n", "\r"} & {*(field.default or "")} or r"\n" in pattern.replace(r"[^\n", ""):
        return "lines", ()
    numeric = field.type == "integer" or rules.is_limited(field)
    shown = not field.default or rules.is_number(
        field.default
    )  # an input for numbers shows no other
    return ("number" if numeric and shown and not field.tags else "text"), ()


def _parts(profile: Profile) -> set[str]:
    """Give the templates that people do not ask for by themselves: others are made with them."""
    parts = {BIN, SHELL, *(storage.template for storage in profile.storages.values())}
    if START in profile.templates:
        parts |= {a.template for a in profile.applications.values()}
        parts |= {name for name in START_PARTS if name}
    return parts - {START}


def _tags(field: Field) -> tuple[model.Tag, ...]:
    return tuple(model.Tag(tag.name, tag.value) for tag in field.tags)


def _default(profile: Profile) -> Application | None:
    try:
        return profile.application(DEFAULT_APPLICATION)
    except ApplicationNotFoundError:
        return None


def _sorted(profile: Profile) -> list[Application]:
    """Give the applications, the default one first."""
    default = _default(profile)
    return sorted(profile.applications.values(), key=lambda a: a is not default)
