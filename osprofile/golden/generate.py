"""Cases for templates that have none: one with defaults, one as hostile as its fields allow.

The hostile one sets every field that a request may set to the first of `HOSTILE` that the field's
rules let pass: values that a shell, a batch system or a careless script could take for something
else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import IncarnationError, JavaRegexTimeoutError, NotFoundError
from osprofile.golden.cases import NAME, Case
from osprofile.golden.check import make
from osprofile.incarnation.context import working_directory
from osprofile.incarnation.fields import Rule, number_text
from osprofile.incarnation.plan import plan_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from osprofile.golden.cases import Cases
    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Field, Profile

DEFAULT: Final = "default"
HOSTILE_KIND: Final = "hostile"
USER: Final = "alice"
JOB: Final = "20261121-094512-0011223344556677"
"""The name of the job's directory, as the engine makes them."""
HOST: Final = "login.example.org"

ORDINARY: Final[Mapping[str, tuple[str, ...]]] = {
    "JOB_ID": ("4711", "4711-304973-7d90afd1"),
    "SIGNAL": ("10",),
    "PATH": ("results/out.txt",),
}
"""What is tried for fields that need a value and have no default, by name."""
OTHERWISE: Final = ("x", "1", "10", "x1", "x.example.org", "/x")
"""What is tried for all others."""
HOSTILE: Final = (
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
class Generated(NamedTuple):
    """What can be added: cases, the context that a new file has for all, what could not be made.

    `left_out` has, by the name that the case would have, why it is for people to write.
    """

    cases: tuple[Case, ...]
    context: Mapping[str, str]
    left_out: Mapping[str, str]

    def chosen(self, wanted: Callable[[str], bool]) -> Generated:
        """Give those that are wanted by their names."""
        cases = tuple(case for case in self.cases if wanted(case.name))
        left_out = {name: why for name, why in self.left_out.items() if wanted(name)}
        return Generated(cases, self.context, left_out)


def common_context(profile: Profile) -> dict[str, str]:
    """Give the context of all generated cases: the same on every machine."""
    return {
        "USER_NAME": USER,
        "WORKING_DIRECTORY": working_directory(profile, USER, JOB),
        "SSH:HOST": HOST,
    }


def generate(profile: Profile, have: Cases) -> Generated:
    """Make the cases that a profile lacks.

    For each template and variation: one whose name ends with `.default`, and if it has settable
    fields, one with `.hostile`. Raises `InvalidProfileError` for a fault in a body.
    """
    names = _Names(have.cases)
    present = {
        (c.template, c.variation, c.name.rpartition(".")[2])
        for c in have.cases.values()
        if c.application is None and not c.refused
    }
    context = {**common_context(profile), **have.context} if not have.source else have.context
    made, left_out = list[Case](), dict[str, str]()
    for template, variation, kind in _wanted(profile, left_out):
        if (template, variation, kind) in present:
            continue
        name = names.free(".".join(filter(None, (template, variation))), kind)
        plan = plan_of(profile, template, variation, None)
        case = _case(name, plan, context, hostile=kind == HOSTILE_KIND)
        error = make(profile, case).error
        if error is None:
            made.append(case)
        else:
            left_out[name] = error.message
    return Generated(tuple(made), context, left_out)


def _wanted(profile: Profile, left_out: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Give template, variation and kind of what there should be; note what no plan can be made of."""
    for template in profile.templates.values():
        for variation in template.invocations:
            try:
                plan = plan_of(profile, template.name, variation, None)
            except NotFoundError as error:  # the default application, or a part of START
                left_out[f"{template.name}.{DEFAULT}"] = error.message
                continue
            yield template.name, variation, DEFAULT
            if plan.settable:
                yield template.name, variation, HOSTILE_KIND


class _Names:
    """Names that no case has yet, in whatever case their letters are."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = {name.casefold() for name in taken}

    def free(self, stem: str, kind: str) -> str:
        plain = (
            "".join(c if NAME.fullmatch("_" + c) else "_" for c in stem)[:150].lstrip(".-") or "_"
        )
        number, name = 1, f"{plain}.{kind}"
        while name.casefold() in self.taken:
            number += 1
            name = f"{plain}-{number}.{kind}"
        self.taken.add(name.casefold())
        return name


def _case(name: str, plan: Plan, common: Mapping[str, str], *, hostile: bool) -> Case:
    fields = _fields(plan, hostile=hostile)
    context = dict(common)
    for needed in plan.required:
        if needed not in plan.settable and needed not in context:
            declared = plan.declared.get(needed)
            known = common_context(plan.profile).get(needed, f"of.{needed}")
            found = _accepted(declared, [known, *_ordinary(declared)]) if declared else known
            context[needed] = known if found is None else found
    return Case(name, plan.template.name, plan.variation, None, fields, context, False, None)


def _fields(plan: Plan, *, hostile: bool) -> dict[str, str]:
    """Give a request: what has no default, or every settable field as hostile as it may be."""
    needed = plan.settable & {*plan.required}
    found = dict[str, str]()
    for name in sorted(plan.settable if hostile else needed):
        declared = plan.declared[name]
        value = _accepted(declared, HOSTILE) if hostile else None
        if value is None and name in needed:
            value = _accepted(declared, _ordinary(declared))
        if value is not None:
            found[name] = value
    return found


def _ordinary(field: Field) -> Iterator[str]:
    yield from ORDINARY.get(field.name, ())
    yield from OTHERWISE
    yield from (tag.name for tag in field.tags)
    yield from (number_text(n) for n in (field.minimum, field.maximum) if n is not None)
    yield from HOSTILE


def _accepted(field: Field, candidates: Iterable[str]) -> str | None:
    """Give the first candidate that the field's rules let pass."""
    for value in candidates:
        try:
            if Rule(field).resolve(value):
                return value
        except (IncarnationError, JavaRegexTimeoutError):
            continue
    return None
