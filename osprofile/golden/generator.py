"""Cases for templates that have none: one with defaults, one as hostile as its fields allow.

The hostile one sets every field that a request may set to the first of `HOSTILE_VALUES` that the field's
rules let pass: values that a shell, a batch system or a careless script could take for something
else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import IncarnationError, JavaRegexTimeoutError, NotFoundError
from osprofile.golden.cases import CASE_NAME, Case
from osprofile.golden.checker import incarnate_case
from osprofile.incarnation.context import working_directory
from osprofile.incarnation.field_rules import FieldRule, format_number
from osprofile.incarnation.plan import get_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from osprofile.golden.cases import CaseSuite
    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Field, Profile

DEFAULT_KIND: Final = "default"
HOSTILE_KIND: Final = "hostile"
EXAMPLE_USER: Final = "alice"
EXAMPLE_JOB: Final = "20261121-094512-0011223344556677"
"""The name of the job's directory, as the engine makes them."""
EXAMPLE_HOST: Final = "login.example.org"

TYPICAL_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "JOB_ID": ("4711", "4711-304973-7d90afd1"),
    "SIGNAL": ("10",),
    "PATH": ("results/out.txt",),
}
"""What is tried for fields that need a value and have no default, by name."""
FALLBACK_VALUES: Final = ("x", "1", "10", "x1", "x.example.org", "/x")
"""What is tried for all others."""
HOSTILE_VALUES: Final = (
    "-rf 'it''s' \"$HOME\" $(touch pwned) `id` * ; & | < > \\ \r\n\t\u0085\u2028é😀\nEOF",
    "a 'it''s' \"$HOME\" $(touch pwned) `id` * ; & | < > \\ \r\n\t\u0085\u2028é😀\nEOF",
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
    """What can be added: cases, the context that a new file has for all, what could not be made.

    `skipped` has, by the name that the case would have, why it is for people to write.
    """

    cases: tuple[Case, ...]
    context: Mapping[str, str]
    skipped: Mapping[str, str]

    def select_cases(self, is_selected: Callable[[str], bool]) -> GeneratedCases:
        """Give those that are wanted by their names."""
        cases = tuple(case for case in self.cases if is_selected(case.name))
        left_out = {name: why for name, why in self.skipped.items() if is_selected(name)}
        return GeneratedCases(cases, self.context, left_out)


def build_common_context(profile: Profile) -> dict[str, str]:
    """Give the context of all generated cases: the same on every machine."""
    return {
        "USER_NAME": EXAMPLE_USER,
        "WORKING_DIRECTORY": working_directory(profile, EXAMPLE_USER, EXAMPLE_JOB),
        "SSH:HOST": EXAMPLE_HOST,
    }


def generate_cases(profile: Profile, existing: CaseSuite) -> GeneratedCases:
    """Make the cases that a profile lacks.

    For each template and variation: one whose name ends with `.default`, and if it has settable
    fields, one with `.hostile`. Raises `InvalidProfileError` for a fault in a body.
    """
    names = _NamePool(existing.cases)
    present = {
        (c.template, c.variation, c.name.rpartition(".")[2])
        for c in existing.cases.values()
        if c.application is None and not c.must_be_refused
    }
    context = (
        {**build_common_context(profile), **existing.context}
        if not existing.source
        else existing.context
    )
    made, left_out = list[Case](), dict[str, str]()
    for template, variation, kind in _list_case_kinds(profile, left_out):
        if (template, variation, kind) in present:
            continue
        name = names.reserve_name(".".join(filter(None, (template, variation))), kind)
        plan = get_plan(profile, template, variation, None)
        examples = build_common_context(profile)
        case = _build_case(name, plan, context, examples, hostile=kind == HOSTILE_KIND)
        error = incarnate_case(profile, case).error
        if error is None:
            made.append(case)
        else:
            left_out[name] = error.message
    return GeneratedCases(tuple(made), context, left_out)


def _list_case_kinds(profile: Profile, skipped: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Give template, variation and kind of what there should be; note what no plan can be made of."""
    for template in profile.templates.values():
        for variation in template.invocations:
            try:
                plan = get_plan(profile, template.name, variation, None)
            except NotFoundError as error:  # the default application, or a part of START
                skipped[f"{template.name}.{DEFAULT_KIND}"] = error.message
                continue
            yield template.name, variation, DEFAULT_KIND
            if plan.settable:
                yield template.name, variation, HOSTILE_KIND


class _NamePool:
    """Names that no case has yet, in whatever case their letters are."""

    def __init__(self, used_names: Iterable[str]) -> None:
        self.used_names = {name.casefold() for name in used_names}

    def reserve_name(self, stem: str, kind: str) -> str:
        plain = (
            "".join(c if CASE_NAME.fullmatch("_" + c) else "_" for c in stem)[:150].lstrip(".-")
            or "_"
        )
        number, name = 1, f"{plain}.{kind}"
        while name.casefold() in self.used_names:
            number += 1
            name = f"{plain}-{number}.{kind}"
        self.used_names.add(name.casefold())
        return name


def _build_case(
    name: str,
    plan: Plan,
    common: Mapping[str, str],
    examples: Mapping[str, str],
    *,
    hostile: bool,
) -> Case:
    fields = _choose_fields(plan, hostile=hostile)
    context = dict(common)
    for needed in plan.required:
        if needed not in plan.settable and needed not in context:
            declared = plan.declarations.get(needed)
            known = examples.get(needed, f"of.{needed}")
            found = (
                _find_valid_value(declared, [known, *_list_candidates(declared)])
                if declared
                else known
            )
            context[needed] = known if found is None else found
    return Case(name, plan.template.name, plan.variation, None, fields, context, False, None)


def _choose_fields(plan: Plan, *, hostile: bool) -> dict[str, str]:
    """Give a request: what has no default, or every settable field as hostile as it may be."""
    needed = plan.settable & {*plan.required}
    found = dict[str, str]()
    for name in sorted(plan.settable if hostile else needed):
        declared = plan.declarations[name]
        value = _find_valid_value(declared, HOSTILE_VALUES) if hostile else None
        if value is None and name in needed:
            value = _find_valid_value(declared, _list_candidates(declared))
        if value is not None:
            found[name] = value
    return found


def _list_candidates(field: Field) -> Iterator[str]:
    yield from TYPICAL_VALUES.get(field.name, ())
    yield from FALLBACK_VALUES
    yield from (tag.name for tag in field.tags)
    yield from (format_number(n) for n in (field.minimum, field.maximum) if n is not None)
    yield from HOSTILE_VALUES


def _find_valid_value(field: Field, candidates: Iterable[str]) -> str | None:
    """Give the first candidate that the field's rules let pass."""
    for value in candidates:
        try:
            if FieldRule(field).resolve_value(value):
                return value
        except (IncarnationError, JavaRegexTimeoutError):
            continue
    return None
