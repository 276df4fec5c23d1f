"""Collect the content of a page from a resolved profile and the plans of its scripts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from osprofile.authoring.outline import list_directives
from osprofile.errors import ApplicationNotFoundError
from osprofile.incarnation import field_rules as rules
from osprofile.incarnation.plan import (
    BIN_TEMPLATE,
    DEFAULT_APPLICATION,
    JOB_SCRIPT_PARTS,
    find_application,
    get_plan,
)
from osprofile.jobs.profiles import read_confirmation_limits
from osprofile.jobs.shell.output import get_batch_system_name
from osprofile.page import model
from osprofile.page.labels import DocumentLabels, build_labels
from osprofile.page.levels import build_levels, find_replaced_fields
from osprofile.page.model import Page, Setting, Supplied, Target
from osprofile.page.rendering import ScriptRequest, build_page_context, render_script
from osprofile.page.submission import build_submission
from osprofile.page.submit_options import find_command_description, format_option, format_title
from osprofile.profile.data_directories import is_bundled
from osprofile.profile.model import SITE_CONTACT, SITE_NAME, USER_GROUPS, get_selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Application, Field, Profile, Template

_WITHOUT_BATCH_SYSTEM: Final = re.compile(r"\s*Without a batch system[^.]*\.")
START: Final = "START"
SHELL: Final = "SHELL"


def collect_page(profile: Profile, context: Mapping[str, str] | None = None) -> Page:
    """Return the content of the page of a profile.

    `context` overrides the user and directory of the examples. Raises `InvalidProfileError` for an
    error in a body, `NotFoundError` if START lacks one of its parts.
    """
    return _PageCollector(profile, context or {}).build_page()


@final
class _PageCollector:
    """Goes through the scripts of a profile and collects their fields."""

    def __init__(self, profile: Profile, context: Mapping[str, str]) -> None:
        self.profile = profile
        self.labels: DocumentLabels = build_labels(profile)
        self.context = build_page_context(profile, context)
        self.applications = _sort_applications(profile)
        self.has_batch_system = bool(get_batch_system_name(profile))
        self.part_names = _list_part_names(profile)
        self.plans_by_target: dict[Target, Plan] = {}
        self.fields_by_rule: dict[tuple[object, ...], list[Field]] = {}
        self.targets_by_rule: dict[tuple[object, ...], list[int]] = {}

    def build_page(self) -> Page:
        for template in self._sort_templates():
            for variation in template.invocations:
                self._add_targets(template, variation)
        self._add_unused_fields()
        jobs, others = self._build_settings()
        settings = (*jobs, *others)
        starts = [i for i, t in enumerate(self.plans_by_target) if t.template == START and not t.variation]
        return Page(
            profile=self.profile.name,
            site=self.profile.get_value("START", SITE_NAME) or self.profile.name,
            contact=self.profile.get_value("START", SITE_CONTACT),
            confirmed=read_confirmation_limits(self.profile),
            directory=self.profile.uspace_root,
            submission=self._build_submission(starts[0], jobs) if starts else None,
            settings=settings,
            jobs=len(jobs),
            targets=tuple(self.plans_by_target),
            applications=tuple(self._build_application(a, settings) for a in self._list_applications()),
            directives=tuple(
                model.Directive(d.text, self.labels.build_origin(d.location))
                for d in list_directives(self.profile)
            ),
            scripts=tuple(self._build_script(t, settings) for t in self._sort_templates()),
            supplied=tuple(self._build_supplied()),
            levels=build_levels(self.profile, self.labels),
            group_cases=self._list_cases(USER_GROUPS),
            examples=tuple(self._build_examples()),
        )

    def _sort_templates(self) -> list[Template]:
        """Return the templates: START, other scripts, then parts of scripts."""
        found = list(self.profile.templates.values())
        rank = {START: 0} | dict.fromkeys(self.part_names, 2)
        return sorted(found, key=lambda t: rank.get(t.name, 1))

    # Scripts

    def _add_targets(self, template: Template, variation: str) -> None:
        if template.name in self.part_names:
            return
        names = [n for n in map(self._request_name, self.applications) if n]
        first = get_plan(self.profile, template.name, variation, names[0] if names else None)
        applications = names if first.application is not None else [""]
        for application in applications:
            plan = get_plan(self.profile, template.name, variation, application or None)
            if all(n in plan.settable or self.context.get(n) for n in plan.required):
                target = Target(template.name, variation, application)
                self._add_fields(plan.declarations.values(), plan.settable, len(self.plans_by_target))
                self.plans_by_target[target] = plan

    def _request_name(self, application: Application) -> str:
        """Return an application's name for requests, empty if a nearer application has the same name."""
        name, version = application.application_name, application.application_version
        for request_name in (name, f"{name}/{version}"):
            if find_application(self.profile, request_name) is application:
                return request_name
        return ""

    def _add_fields(self, fields: Iterable[Field], settable: frozenset[str], target: int | None) -> None:
        for field in fields:
            if field.name in settable:
                key = (field.name, field.description, field.comparison_key())
                same_rule = self.fields_by_rule.setdefault(key, [])
                if not any(field is other for other in same_rule):
                    same_rule.append(field)
                self.targets_by_rule.setdefault(key, []).extend([] if target is None else [target])

    def _add_unused_fields(self) -> None:
        """Add the settable fields that are declared but that no script of the form uses."""
        joined = [d for fields in self.fields_by_rule.values() for f in fields for d in f.declarations]
        for field in self._list_fields():
            supplied = rules.is_special_field(field.name) or field.value is not None
            if field.settable and not supplied and not any(field is d for d in joined):
                self._add_fields([field], frozenset({field.name}), None)

    # Fields

    def _build_settings(self) -> tuple[list[Setting], list[Setting]]:
        """Return the fields of a job, and those of the other scripts."""
        jobs, others = list[Setting](), list[Setting]()
        counts: dict[str, int] = {}
        starts = {i for i, t in enumerate(self.plans_by_target) if t.application or t.template == START}
        order = {name: i for i, name in enumerate(self.profile.global_fields)}
        found = sorted(self.fields_by_rule.items(), key=lambda item: order.get(item[1][0].name, len(order)))
        for key, fields in found:
            targets = tuple(dict.fromkeys(self.targets_by_rule.get(key, ())))
            number = counts[fields[0].name] = counts.get(fields[0].name, 0) + 1
            setting = self._build_setting(fields, number, targets)
            if starts.intersection(targets):
                is_own = not is_bundled(fields[0].location.file)
                description = "" if is_own else find_command_description(setting.name)
                option = format_option(setting.name)
                jobs.append(setting._replace(option=option, command_description=description))
            else:
                others.append(setting)
        return jobs, others

    def _list_cases(self, name: str) -> tuple[model.Case, ...]:
        return tuple(_convert_case(case) for case in self.profile.cases if case.name == name)

    def _build_setting(self, fields: list[Field], number: int, targets: tuple[int, ...]) -> Setting:
        field = fields[0]
        control, choices = choose_control(field)
        low, high = field.minimum, field.maximum
        return Setting(
            key=field.name if number == 1 else f"{field.name}~{number}",
            name=field.name,
            title=format_title(field.name),
            option="",
            description=self._describe_field(field),
            default=field.default,
            type=field.type or ("number" if rules.is_numeric_field(field) else ""),
            limits=rules.format_range(field, with_meaning=False),
            minimum="" if low is None else rules.format_number(low),
            maximum="" if high is None else rules.format_number(high),
            pattern=field.pattern_text,
            requires=field.requires or "",
            tags=_convert_tags(field),
            control=control,
            choices=choices,
            targets=targets,
            origins=tuple(
                self.labels.build_origin(
                    d.location, (r.location for r in find_replaced_fields(self.profile, d))
                )
                for f in fields
                for d in f.declarations or (f,)
            ),
            cases=self._list_cases(field.name),
        )

    def _describe_field(self, field: Field) -> str:
        """Return the description of a field, without what a bundled profile says of machines without a batch system."""
        if self.has_batch_system and is_bundled(field.location.file):
            return _WITHOUT_BATCH_SYSTEM.sub("", field.description)
        return field.description

    def _build_submission(self, index: int, jobs: Sequence[Setting]) -> model.Submission:
        """Return the example of a job, for the first application."""
        target = tuple(self.plans_by_target)[index]
        settings = [s for s in jobs if index in s.targets]
        return build_submission(self.profile, self.context, target, settings)

    def _list_fields(self) -> Iterator[Field]:
        yield from self.profile.global_fields.values()
        for template in self._sort_templates():
            yield from template.fields.values()

    def _build_supplied(self) -> Iterator[Supplied]:
        """Yield the fields that no request can set: those of context and engine, then the fixed ones."""
        names = {f.name: f for f in self._list_fields() if rules.is_special_field(f.name)}
        used = {n: p.declarations.get(n) for p in self.plans_by_target.values() for n in p.uses}
        for name in sorted(names | used):
            declared = used.get(name) or names.get(name)
            if declared is None or rules.is_special_field(name):
                text = declared.description if declared else _SPECIAL_DESCRIPTIONS.get(name, "")
                source: model.Source = "engine" if name in rules.ENGINE_FIELDS else "context"
                origin = self.labels.build_origin(declared.location) if declared else None
                yield Supplied(name, text, source, None, (), origin)
        seen_rules = []
        for field in self._list_fields():
            rule = (field.name, field.description, field.comparison_key())
            fixed = field.value is not None or not field.settable
            if fixed and not rules.is_special_field(field.name) and rule not in seen_rules:
                seen_rules.append(rule)
                yield self._build_fixed(field)

    def _build_fixed(self, field: Field) -> Supplied:
        replaced = (r.location for r in find_replaced_fields(self.profile, field))
        origin = self.labels.build_origin(field.location, replaced)
        value = field.value if field.value is not None else field.default
        source: model.Source = "engine" if value is None and not field.tags else "fixed"
        return Supplied(field.name, field.description, source, value, _convert_tags(field), origin)

    # Applications, scripts, examples

    def _list_applications(self) -> Iterator[Application]:
        """Yield the applications, without those of a bundled profile that are another name for an earlier one."""
        templates = set[str]()
        for application in self.applications:
            if application.template not in templates or not is_bundled(application.location.file):
                yield application
            templates.add(application.template)

    def _build_application(self, application: Application, settings: Iterable[Setting]) -> model.Application:
        name = self._request_name(application)
        mine = {i for i, t in enumerate(self.plans_by_target) if t.application == name}
        others = {i for i, t in enumerate(self.plans_by_target) if t.application not in {"", name}}
        own = [s.key for s in settings if mine & {*s.targets} and not others & {*s.targets}]
        replaced = (e.location for e in self.profile.list_overridden(application))
        return model.Application(
            name=application.application_name,
            version=application.application_version,
            wanted=name if mine else "",
            description=application.description,
            template=application.template,
            default=application is _default_application(self.profile),
            own=tuple(own) if others else (),
            origin=self.labels.build_origin(application.location, replaced),
        )

    def _build_script(self, template: Template, settings: Iterable[Setting]) -> model.Script:
        mine = {i for i, t in enumerate(self.plans_by_target) if t.template == template.name}
        job = any(t.application for t in self.plans_by_target if t.template == template.name)
        keys = [] if job else [s.key for s in settings if mine & {*s.targets}]
        replaced = (e.location for e in self.profile.list_overridden(template))
        return model.Script(
            name=template.name,
            description=template.description,
            variations=tuple((i.name, i.description) for i in template.invocations.values()),
            fields=tuple(keys),
            part=template.name in self.part_names,
            origin=self.labels.build_origin(template.location, replaced),
        )

    def _build_examples(self) -> Iterator[model.Example]:
        for target in self.plans_by_target:
            if target.template == START:
                request = ScriptRequest(*target)
                if target.application == DEFAULT_APPLICATION:
                    request = request._replace(application="")
                response = render_script(self.profile, self.labels, self.context, request)
                reason = response.refusal.sentences if response.refusal else ""
                title = target.application or START
                yield model.Example(title, response.command, response.text, reason)


_SPECIAL_DESCRIPTIONS: Final = {
    "USER_NAME": "The name of the user who runs the job.",
    "USER_HOME": "The user's home, below which jobs work if UspaceRoot begins with ~.",
    "WORKING_DIRECTORY": "The job's own directory, a new one for each job.",
    "PROFILE_NAME": "The name of this profile.",
    "USPACE_ROOT": "The directory below which working directories are created.",
    "JOB_SCRIPT": "The job script: JOB_DIRECTIVES, JOB_PROLOGUE, the application's template, JOB_EPILOGUE.",
    "JOB_SCRIPT:END": "A word that no line of JOB_SCRIPT equals: the delimiter of a here-document with that text.",
}


def choose_control(field: Field) -> tuple[model.Control, tuple[str, ...]]:
    """Return the control for a field, and all allowed values if the control is a choice."""
    pattern = field.pattern_text or ""
    values = rules.list_alternatives(pattern)
    if values and not rules.is_numeric_field(field):
        tags = [tag.name for tag in field.tags if tag.name and tag.value in values]
        empty = [""] if field.default == "" else []  # an empty Default means "not set"
        return "choice", tuple(dict.fromkeys([*empty, *tags, *values]))
    if {"\n", "\r"} & {*(field.default or "")} or r"\n" in pattern.replace(r"[^\n", ""):
        return "lines", ()
    numeric = field.type == "integer" or rules.is_numeric_field(field)
    # An input for numbers cannot show a default that is not a number, nor take a word.
    can_show = not field.default or rules.is_number(field.default)
    return ("number" if numeric and can_show and not any(tag.name for tag in field.tags) else "text"), ()


def _list_part_names(profile: Profile) -> set[str]:
    """Return the names of templates that are only parts of other scripts."""
    parts = {BIN_TEMPLATE, SHELL, *(storage.template for storage in profile.storages.values())}
    if START in profile.templates:
        parts |= {a.template for a in profile.applications.values()}
        parts |= {name for name in JOB_SCRIPT_PARTS if name}
    return parts - {START}


def _convert_case(case: Field) -> model.Case:
    selection, low, high = get_selection(case), case.minimum, case.maximum
    return model.Case(
        selection.field,
        selection.value,
        minimum="" if low is None else rules.format_number(low),
        maximum="" if high is None else rules.format_number(high),
        pattern=case.pattern_text,
        default=case.default,
    )


def _convert_tags(field: Field) -> tuple[model.Tag, ...]:
    return tuple(model.Tag(tag.name, tag.value) for tag in field.tags)


def _default_application(profile: Profile) -> Application | None:
    try:
        return profile.get_application(DEFAULT_APPLICATION)
    except ApplicationNotFoundError:
        return None


def _sort_applications(profile: Profile) -> list[Application]:
    """Return the applications, the default one first."""
    default = _default_application(profile)
    return sorted(profile.applications.values(), key=lambda a: a is not default)
