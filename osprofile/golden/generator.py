"""Generates golden cases for templates without cases: one with default values and a hostile one.

The hostile case sets every settable field to the first of `HOSTILE_VALUES` that the field's rules accept:
values that a shell, a batch system or a careless script could misread.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import IncarnationError, JavaRegexTimeoutError, NotFoundError
from osprofile.golden.cases import CASE_NAME, Case
from osprofile.golden.checker import incarnate_case
from osprofile.incarnation.context import add_directory, needs_home
from osprofile.incarnation.field_rules import USER_HOME, FieldRule, format_number
from osprofile.incarnation.plan import PROGRAM_VARIATION, get_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from osprofile.golden.cases import CaseSuite
    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Field, Profile

DEFAULT_KIND: Final = "default"
HOSTILE_KIND: Final = "hostile"
EXAMPLE_USER: Final = "alice"
EXAMPLE_HOME: Final = "/home/alice"
EXAMPLE_JOB_DIRECTORY: Final = "20261121-094512-0011223344556677"
"""The name of the job's working directory, in the form that the engine generates."""
EXAMPLE_HOST: Final = "login.example.org"

TYPICAL_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "JOB_ID": ("4711", "4711-304973-7d90afd1", "f112345"),
    "SIGNAL": ("10",),
    "PATH": ("results/out.txt",),
}
"""Candidates for fields that need a value and have no default, by name."""
FALLBACK_VALUES: Final = ("x", "1", "10", "x1", "x.example.org", "/x")
"""Candidates for all other fields."""
_IS_CHOICE: Final = re.compile(r"[A-Za-z0-9_-]+(?:\|[A-Za-z0-9_-]+)*")
"""A pattern that only lists words."""
# From the most dangerous to the most harmless: a field gets the first that its rules accept.
HOSTILE_VALUES: Final = (
    "-rf 'it''s' \"$HOME\" $(touch pwned) `id` * ; & | < > \\ \n\r\t\u0085\u2028é😀\nEOF",
    "a 'it''s' \"$HOME\" $(touch pwned) `id` * ; & | < > \\ \n\r\t\u0085\u2028é😀\nEOF",
    "'two words' '$(touch pwned)' '`id`' '\n' \\' '' '-x' 'é\u2028'",
    "export A='$(touch pwned)'\nexport B='it'\\''s\n\u2028'\n",
    "_@:+-.a",
    "999999",
    "9",
    "4711",
    "4711-304973-7d90afd1",
)


@final
class GeneratedCases(NamedTuple):
    """Generated cases, the common context of a new file, and the cases that could not be generated.

    `skipped` has the reason for each of these by the name that the case would have.
    """

    cases: tuple[Case, ...]
    context: Mapping[str, str]
    skipped: Mapping[str, str]

    def select_cases(self, is_selected: Callable[[str], bool]) -> GeneratedCases:
        """Return the cases with selected names."""
        cases = tuple(case for case in self.cases if is_selected(case.name))
        skipped = {name: reason for name, reason in self.skipped.items() if is_selected(name)}
        return GeneratedCases(cases, self.context, skipped)


def build_common_context(profile: Profile) -> dict[str, str]:
    """Return the context of all generated cases, which is the same on every machine."""
    context = {"USER_NAME": EXAMPLE_USER}
    if needs_home(profile):
        context[USER_HOME] = EXAMPLE_HOME
    add_directory(profile, context, EXAMPLE_JOB_DIRECTORY)
    return {**context, "SSH:HOST": EXAMPLE_HOST, "SUDO:USER": EXAMPLE_USER}


def generate_cases(profile: Profile, suite: CaseSuite) -> GeneratedCases:
    """Generate the cases that a profile lacks.

    Each template and variation gets a case with a name that ends with `.default`, and if it has settable
    fields, one with `.hostile`. The programs have none. Raises `InvalidProfileError` for an error in a body.
    """
    name_pool = _NamePool(suite.cases)
    existing_kinds = {
        (c.template, c.variation, c.name.rpartition(".")[2])
        for c in suite.cases.values()
        if c.application is None and not c.must_be_refused
    }
    examples = build_common_context(profile)
    context = suite.context if suite.source else {**examples, **suite.context}
    cases, skipped = list[Case](), dict[str, str]()
    for template, variation, kind in _list_case_kinds(profile, skipped):
        if (template, variation, kind) in existing_kinds:
            continue
        name = name_pool.reserve_name(".".join(filter(None, (template, variation))), kind)
        plan = get_plan(profile, template, variation, None)
        case = _build_case(name, plan, context, examples, hostile=kind == HOSTILE_KIND)
        error = incarnate_case(profile, case).error
        if error is None:
            cases.append(case)
        else:
            skipped[name] = error.message
    return GeneratedCases(tuple(cases), context, skipped)


def add_generated_cases(profile: Profile, suite: CaseSuite) -> CaseSuite:
    """Return the cases with those that count without being written, if the file says so (`generated = true`)."""
    if not suite.has_generated:
        return suite
    generated = generate_cases(profile, suite).cases
    return suite._replace(cases={**{case.name: case for case in generated}, **suite.cases})


def _list_case_kinds(profile: Profile, skipped: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the template, variation and kind of each case; add to `skipped` what has no plan."""
    for template in profile.templates.values():
        for variation in [name for name in template.invocations if name != PROGRAM_VARIATION]:
            try:
                plan = get_plan(profile, template.name, variation, None)
            except NotFoundError as error:  # the default application, or a part of START
                skipped[f"{template.name}.{DEFAULT_KIND}"] = error.message
                continue
            yield template.name, variation, DEFAULT_KIND
            if _choose_fields(plan, hostile=True):  # without any, it would be the default case
                yield template.name, variation, HOSTILE_KIND


_MAX_STEM_LENGTH: Final = 150
"""Characters of the 200 that a name may have: room for a number and the kind."""


class _NamePool:
    """Reserves unused names for cases, ignoring upper and lower case."""

    def __init__(self, used_names: Iterable[str]) -> None:
        self.used_names = {name.casefold() for name in used_names}

    def reserve_name(self, stem: str, kind: str) -> str:
        valid = "".join(c if CASE_NAME.fullmatch("_" + c) else "_" for c in stem)
        stem = valid[:_MAX_STEM_LENGTH].lstrip(".-") or "_"
        number, name = 1, f"{stem}.{kind}"
        while name.casefold() in self.used_names:
            number += 1
            name = f"{stem}-{number}.{kind}"
        self.used_names.add(name.casefold())
        return name


def _build_case(
    name: str, plan: Plan, common_context: Mapping[str, str], examples: Mapping[str, str], *, hostile: bool
) -> Case:
    fields = _choose_fields(plan, hostile=hostile)
    context = dict(common_context)
    for required in plan.required:
        if required not in plan.settable and required not in context:
            field = plan.declarations.get(required)
            example = examples.get(required, f"of.{required}")
            candidates = [example, *_list_candidates(field)] if field else []
            value = _find_valid_value(field, candidates) if field else None
            context[required] = example if value is None else value
    return Case(name, plan.template.name, plan.variation, None, fields, context, False, None)


def _choose_fields(plan: Plan, *, hostile: bool) -> dict[str, str]:
    """Return a request with the required fields, or with hostile values for all settable fields."""
    required = plan.settable & {*plan.required}
    request = dict[str, str]()
    for name in sorted(plan.settable if hostile else required):
        field = plan.declarations[name]
        value = _find_valid_value(field, HOSTILE_VALUES) if hostile else None
        if value is None and name in required:
            value = _find_valid_value(field, _list_candidates(field))
        if value is not None:
            request[name] = value
    return request


def _list_candidates(field: Field) -> Iterator[str]:
    yield from TYPICAL_VALUES.get(field.name, ())
    if _IS_CHOICE.fullmatch(pattern := field.pattern_text or ""):
        yield from pattern.split("|")
    yield from FALLBACK_VALUES
    yield from (tag.name for tag in field.tags)
    yield from (format_number(n) for n in (field.minimum, field.maximum) if n is not None)
    yield from HOSTILE_VALUES


def _find_valid_value(field: Field, candidates: Iterable[str]) -> str | None:
    """Return the first candidate that the field's rules accept, or None."""
    for value in candidates:
        try:
            if FieldRule(field).resolve_value(value):
                return value
        except (IncarnationError, JavaRegexTimeoutError):
            continue
    return None
