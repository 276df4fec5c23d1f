"""The cases of fields (`ext:for`): what holds in addition for one value of another field.

The limits and defaults of a queue are cases of other fields for a value of QUEUE; the account of a Unix group is a
case of PROJECT for a value of USER_GROUPS. See docs/language.md, Cases.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import ValueRefusedError
from osprofile.incarnation import field_rules as rules
from osprofile.profile.model import USER_FIELDS, USER_GROUPS, get_selection

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from osprofile.incarnation.evaluate import Values
    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Field

AUTO: Final = "auto"
"""The value by which a request asks for the first of a field's values whose cases it fits."""


@final
class ActiveCases:
    """The cases that apply to one request.

    `choices` has the values that were taken for `auto`, by field; `defaults` the cases whose Default is used.
    """

    __slots__ = ("_given", "_plan", "_values", "cases", "choices", "defaults")

    def __init__(self, plan: Plan, given: Collection[str]) -> None:
        """`given` are the fields that have their values from elsewhere than a Default."""
        self._plan = plan
        self._values: Values = {}
        self._given = given
        self.cases: list[Field] = []
        self.choices: dict[str, str] = {}
        self.defaults: dict[str, Field] = {}

    def apply(self, values: Values) -> None:
        """Put what is chosen for `auto`, and the Defaults of the cases, into `values`.

        Raises `ValueRefusedError` if the request fits none of the values.
        """
        self._values = dict(values)
        # Those of the user first: a group may have a queue as its default, or a limit on the queues.
        cases = self._plan.cases
        self._add((c for c in cases if get_selection(c).field in USER_FIELDS), values)
        others = [c for c in cases if get_selection(c).field not in USER_FIELDS]
        for name in dict.fromkeys(get_selection(c).field for c in others):
            if self._asks_for_any(name, values):
                values[name] = self.choices[name] = self._choose(name)
        self._add(others, values)

    def check(self, values: Mapping[str, str]) -> None:
        """Raise `ValueRefusedError` unless the values, tags applied, fit all cases."""
        for case in self.cases:
            try:
                _check_case(case, values.get(case.name, ""))
            except ValueRefusedError as error:
                name = get_selection(case).field
                if other := next((v for v, refusal in self._try_values(name) if refusal is None), ""):
                    error.hint += f"{'; ' if error.hint else ''}{name} {other} accepts this request"
                raise

    def _add(self, cases: Iterable[Field], values: Values) -> None:
        for case in cases:
            if not self._applies(case, values):
                continue
            self.cases.append(case)
            if case.default is not None and case.name not in self._given:
                values[case.name] = case.default
                self.defaults[case.name] = case

    def _applies(self, case: Field, values: Mapping[str, str]) -> bool:
        selection = get_selection(case)
        words = split_words(self._get_value(selection.field, values))
        if selection.field not in USER_FIELDS:  # `debug@server` of PBS, `debug@host` of Grid Engine
            words += [word.partition("@")[0] for word in words]
        return selection.value in words

    def _get_value(self, name: str, values: Mapping[str, str]) -> str:
        """Return the value of a field, its tags applied."""
        value, declaration = values.get(name, ""), self._plan.declarations.get(name)
        return value if declaration is None else rules.apply_tags(declaration, value)

    def _asks_for_any(self, name: str, values: Mapping[str, str]) -> bool:
        """Return whether the value of a field is `auto`, and that is no value of the site's own."""
        declaration = self._plan.declarations.get(name)
        tags = declaration.tags if declaration is not None else ()
        own = {*list_selecting_values(self._plan.cases, name), *(tag.name for tag in tags)}
        return self._get_value(name, values) == AUTO and AUTO not in own

    def _choose(self, name: str) -> str:
        refusals: dict[str, ValueRefusedError] = {}
        for value, refusal in self._try_values(name):
            if refusal is None:
                return value
            refusals[value] = refusal
        for field, _cache, rule in (*self._plan.checked_fields, *self._plan.tagged_fields):
            if field != name and field in self._values:  # one that must be given is missed later
                rule.resolve_value(self._values[field])  # what no value would accept is told as without cases
        reasons = (
            f"{value} ({error.message.removeprefix('field ').removesuffix(f' for {name} {value}')})"
            for value, error in refusals.items()
        )
        refused = list(refusals.values())
        error = ValueRefusedError(
            f"field {name}: the request fits none of {', '.join(reasons)}",
            field=name,
            location=refused[0].location if refused else None,
            hint="ask for less",
        )
        error.refusals = refused
        raise error

    def _try_values(self, name: str) -> Iterator[tuple[str, ValueRefusedError | None]]:
        """Yield the values of a field that select cases, each with the first error of the request with it.

        None for a field that no request sets.
        """
        if name not in self._plan.settable:
            return
        for value in list_selecting_values(self._plan.cases, name):
            changed = {**self._values, name: value}
            trial = ActiveCases(self._plan, {*self._given, name})
            trial._add(self._plan.cases, changed)
            refusal = None
            for case in trial.cases:
                try:
                    _check_case(case, trial._get_value(case.name, changed))
                except ValueRefusedError as error:
                    refusal = error
                    break
            yield value, refusal


def split_words(value: str) -> list[str]:
    """Return the words of a value: a job may name several queues, with commas between them; a user has several groups."""
    return re.split("[ ,]+", value)


def list_selecting_values(cases: Iterable[Field], name: str) -> list[str]:
    """Return the values of a field that have cases, in the order of the profile."""
    return list(dict.fromkeys(s.value for s in map(get_selection, cases) if s.field == name))


def format_case(case: Field) -> str:
    """Return what a case says, for people: `for QUEUE debug: at most 1800, default 600`."""
    words = [rules.format_range(case)]
    words += [f"pattern {case.pattern_text}"] if case.pattern_text is not None else []
    words += [f"default {case.default}"] if case.default is not None else []
    return f"for {case.selection}: {', '.join(filter(None, words)) or 'no other limit'}"


def _check_case(case: Field, value: str) -> None:
    if case.name == USER_GROUPS:
        _check_groups(case, value)
        return
    try:
        rules.check_value(case, value)
    except ValueRefusedError as error:
        error.message += f" for {case.selection}"
        raise


def _check_groups(case: Field, value: str) -> None:
    groups = value.split()
    if not groups or any(rules.accepts_pattern(case, group) for group in groups):
        return
    message = (
        f"{case.selection} is for the groups {case.pattern_text}, and the user is in {', '.join(groups)}"
    )
    raise ValueRefusedError(
        message, field=get_selection(case).field, location=case.location, hint=case.description
    )
