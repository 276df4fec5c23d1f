"""A plan as plain data: what `marshal` can write of it, and `evaluate` computes a script from.

What needs the profile, or says why a request is refused, is left to the whole engine, by `UnusualError`.
"""

from __future__ import annotations

from osprofile.incarnation import evaluate
from osprofile.incarnation.evaluate import UnusualError, is_integer_between, make_text

TYPE_CHECKING = False  # to import this module takes no time
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from osprofile.incarnation.evaluate import Step, Text, Values
    from osprofile.incarnation.plan import NamedRules, Plan
    from osprofile.profile.model import Field, Profile

FORMAT = 1
"""The format of the data: to be counted up with every change of what `encode_plan` returns."""


class PlainPlan:
    """What `evaluate` needs of a plan, and `context` of its profile, from what `encode_plan` returns."""

    cases = ()
    unquoted_text = None
    quoted_character = ""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.profile_name: str = data["profile_name"]
        self.uspace_root: str = data["uspace_root"]
        self.delimiter: str = data["delimiter"]
        self.global_fields = {name: PlainField(*values) for name, values in data["target_fields"].items()}
        self.defaults: Values = data["defaults"]
        self.fixed: Values = data["fixed"]
        self.required: Sequence[str] = data["required"]
        self.settable: frozenset[str] = data["settable"]
        self.limited_fields: frozenset[str] = data["limited_fields"]
        self.conditions: Sequence[tuple[str, str]] = data["conditions"]
        self.requirements: Sequence[tuple[str, str]] = data["requirements"]
        self.checked_fields = [(name, known, PlainRule(*rule)) for name, known, rule in data["checked"]]
        self.tagged_fields = [(name, known, PlainRule(*rule)) for name, known, rule in data["tagged"]]
        self.steps = [_decode_step(step) for step in data["steps"]]
        self.text = PlainText(make_text(*data["text"]))
        self.script_path = make_text(*data["script_path"])

    def fill(self, request: Mapping[str, str], context: Mapping[str, str]) -> str:
        """Return what `incarnate render` prints; raise `UnusualError` or `KeyError` for a request that is left to it."""
        joined = evaluate.join_simple_values(request, context)
        has_empty = self.limited_fields and ("" in request.values() or "" in context.values())
        if joined is None or has_empty or not self.settable.issuperset(request):
            raise UnusualError
        values, text = evaluate.evaluate(self, request, context, joined)
        path = evaluate.fill_text(self.script_path, values).removesuffix(evaluate.LINE_END)
        return evaluate.add_check(evaluate.fill_text(text, values), path, self.profile_name)


class PlainText:
    """The text of a plan."""

    def __init__(self, text: Text) -> None:
        self.text = text


class PlainField:
    """The values of a global field."""

    def __init__(self, value: str | None, default: str | None) -> None:
        self.value, self.default = value, default


class PlainPattern:
    """A pattern, and what is the same for `re` on ASCII values without CR up to some lengths."""

    def __init__(self, pattern: str, source: str, max_length: int, max_length_to_find: int) -> None:
        self.pattern, self.source = pattern, source
        self.max_length, self.max_length_to_find = max_length, max_length_to_find

    def accepts(self, value: str) -> bool:
        """Return whether the whole value matches."""
        if len(value) > self.max_length or not value.isascii() or "\r" in value:
            from osprofile import javaregex

            return javaregex.compile(self.pattern).accepts(value)
        import re

        return re.fullmatch(self.source, value) is not None

    def find(self, value: str) -> str:
        """Return the first match in a value; raise `UnusualError` for a value that needs the engine."""
        if len(value) > self.max_length_to_find or not value.isascii() or "\r" in value:
            raise UnusualError
        import re

        found = re.search(self.source, value)
        return found[0] if found else ""


class PlainRule:
    """The tags, limits and pattern of a field."""

    def __init__(self, tags: Values, limits: Sequence[float] | None, pattern: Sequence[Any] | None) -> None:
        self.tags, self.limits = tags, limits
        self.pattern = PlainPattern(*pattern) if pattern is not None else None

    def resolve_value(self, raw_value: str) -> str:
        """Return the value of the tag with this name, else the value itself; raise `UnusualError` for one to be refused."""
        value = self.tags.get(raw_value, raw_value)
        is_within = not value or self.limits is None or is_integer_between(value, *self.limits)
        if not is_within or (value and self.pattern is not None and not self.pattern.accepts(value)):
            raise UnusualError
        return value


class KnownResult:
    """The result of a function for the value that a field has without a request."""

    def __init__(self, key: str, value: str | None, result: str | None) -> None:
        self.key, self.value, self.result = key, value, result

    def __call__(self, values: Mapping[str, str]) -> str:
        """Return the result; raise `UnusualError` for another value."""
        if self.result is None or values[self.key] != self.value:
            raise UnusualError
        return self.result


def encode_plan(profile: Profile, plan: Plan) -> dict[str, Any]:
    """Return a plan without cases as plain data, of the profile that it was compiled from."""
    from osprofile.incarnation.context import TARGET_FIELDS

    values = _compute_known_values(plan)
    targets = {name: profile.global_fields[name] for name in TARGET_FIELDS if name in profile.global_fields}
    paths = (path for script, path, _ in plan.static_scripts if script.file_name in plan.used_scripts)
    path = next(paths, None)
    return {
        "profile_name": plan.profile_name,
        "uspace_root": profile.uspace_root,
        "delimiter": profile.delimiter,
        "target_fields": {name: (field.value, field.default) for name, field in targets.items()},
        "defaults": plan.defaults,
        "fixed": plan.fixed,
        "required": plan.required,
        "settable": plan.settable,
        "limited_fields": plan.limited_fields,
        "conditions": plan.conditions,
        "requirements": plan.requirements,
        "checked": _encode_rules(plan, plan.checked_fields, values),
        "tagged": _encode_rules(plan, plan.tagged_fields, values),
        "steps": [_encode_step(step, values) for step in plan.steps],
        "text": _encode_text(plan.text.text),
        "script_path": _encode_text(path.text) if path is not None else ([""], ()),
    }


def _compute_known_values(plan: Plan) -> Values:
    """Return the values that a request gives none for, as far as they can be computed."""
    from contextlib import suppress

    from osprofile.errors import OSProfileError

    values = {**plan.defaults, **plan.fixed}
    for name, _, rule in (*plan.checked_fields, *plan.tagged_fields):
        with suppress(KeyError, OSProfileError):
            values[name] = rule.resolve_value(values[name])
    for step in plan.steps:
        with suppress(KeyError, OSProfileError):
            evaluate.compute_steps([step], values)
    return values


def _encode_text(text: Text) -> tuple[object, object]:
    literals, _, keys = text
    return literals, keys


def _encode_rules(plan: Plan, named_rules: NamedRules, values: Values) -> list[tuple[object, ...]]:
    """Return the fields with rules, each with what its value without a request becomes, and the arguments of `PlainRule`."""
    from osprofile.incarnation.field_rules import get_integer_limits

    encoded = list[tuple[object, ...]]()
    for name, resolved_values, _ in named_rules:
        field, value = plan.declarations[name], plan.defaults.get(name, plan.fixed.get(name))
        known = {value: values[name]} if value in resolved_values else {}
        tags = {tag.name: tag.value for tag in reversed(field.tags)}
        encoded.append((name, known, (tags, get_integer_limits(field), _encode_pattern(field))))
    return encoded


def _encode_pattern(field: Field) -> tuple[str, str, int, int] | None:
    from osprofile import javaregex

    pattern = field.pattern_text
    return None if pattern is None else (pattern, *javaregex.compile(pattern).get_re_source())


def _encode_step(step: Step, values: Values) -> tuple[object, ...]:
    kind, key, first, second = step
    if kind == evaluate.JOIN:
        first = tuple(map(_encode_text, first))
    elif kind in {evaluate.COMPUTE, evaluate.TIME}:
        second = (first[0], values.get(first[0]), values.get(key))
    elif kind == evaluate.PROGRAM:
        second = _encode_pattern(second.args[0])
    return kind, key, first, second


def _decode_step(step: Step) -> Step:
    kind, key, first, second = step
    if kind == evaluate.JOIN:
        first = tuple(make_text(*text) for text in first)
    elif kind in {evaluate.COMPUTE, evaluate.TIME}:
        second = KnownResult(*second)
    elif kind == evaluate.PROGRAM:
        second = PlainPattern(*second).find if second is not None else str
    return kind, key, first, second
