"""The values of expressions, in bounded time, depth and memory.

A name is looked for in the ad that it stands in, then in the ads around that one, and is undefined
if nowhere. MY and TOPLEVEL are the outermost ad, SELF and PARENT the innermost and the one around
it; there is no TARGET: what is asked of it is undefined. What goes wrong is the value `error`: a
`Failure`, which says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from osprofile.executors.blah.classad.functions import LAZY, STRICT, arity_fault
from osprofile.executors.blah.classad.nodes import (
    Ad,
    Attribute,
    Call,
    Chain,
    Conditional,
    Expression,
    ListOf,
    Literal,
    Reference,
    Subscript,
    Unary,
)
from osprofile.executors.blah.classad.operators import OPERATORS, apply, truth
from osprofile.executors.blah.classad.values import UNDEFINED, Failure, Scope, type_name, undecided

if TYPE_CHECKING:
    from osprofile.executors.blah.classad.values import Value

STEPS: Final = 100_000
"""How many steps one evaluator takes in all; large values count for many."""
_DEEPEST: Final = 120
_LONGEST: Final = 1 << 20
_REGEXP: Final = STEPS // 5
_SCOPES: Final = frozenset({"my", "toplevel", "self", "parent"})


class _TooMuchError(Exception):
    """The steps are used up."""


@final
class Evaluator:
    """Evaluates the attributes of an ad, and expressions as if they stood in it."""

    def __init__(self, ad: Ad, *, steps: int = STEPS) -> None:
        self.scope = Scope(ad)
        self._steps, self._depth = steps, 0
        self._open: set[tuple[int, str]] = set()
        self._known: dict[tuple[int, str], Value] = {}
        self._scopes: dict[tuple[int, int], Scope] = {}

    def attribute(self, name: str) -> Value:
        """Give the value of an attribute, by its name in any case; undefined if there is none."""
        return self.evaluate(Reference(name))

    def evaluate(self, node: Expression) -> Value:
        """Give the value of an expression."""
        self._depth = 0
        self._open.clear()
        try:
            return self._value(node, self.scope)
        except _TooMuchError:
            return Failure("evaluating it takes too long")

    def _value(self, node: Expression, scope: Scope) -> Value:
        self._charge(1)
        if self._depth >= _DEEPEST:
            return Failure("it is nested too deeply")
        self._depth += 1
        try:
            return self._of_kind(node, scope)
        finally:
            self._depth -= 1

    def _of_kind(self, node: Expression, scope: Scope) -> Value:  # noqa: PLR0911  # one a kind
        match node:
            case Literal(value=value):
                return value
            case Reference():
                return self._reference(node, scope)
            case Chain():
                return self._chain(node, scope)
            case Unary():
                return apply(node.operator, self._value(node.operand, scope))
            case Call():
                return self._call(node, scope)
            case Conditional():
                return self._conditional(node, scope)
            case ListOf():
                return self._list(tuple(self._value(item, scope) for item in node.items))
            case Subscript():
                return self._subscript(node, scope)
            case Ad():
                return self._inner(node, scope)

    def _list(self, items: tuple[Value, ...]) -> Value:
        """Count a list as large as it is: of lists that hold one another twice few are small."""
        size = _size(items)
        self._charge(size // 16)
        return items if size <= _LONGEST else Failure("a list is too large")

    def _inner(self, ad: Ad, parent: Scope) -> Scope:
        """Give an ad as a value: the same one each time, so that its attributes are known once."""
        return self._scopes.setdefault((id(ad), id(parent)), Scope(ad, parent))

    def _charge(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise _TooMuchError

    # Names

    def _reference(self, node: Reference, scope: Scope) -> Value:
        if node.base is not None:
            return self._selected(node, scope)
        key = node.name.lower()
        at: Scope | None = self.scope if node.absolute else scope
        while at is not None:
            found = at.ad.attributes.get(key)
            if found is not None:
                return self._attribute(found, key, at)
            at = at.parent
        return self._named_scope(key, scope) if key in _SCOPES else UNDEFINED

    def _named_scope(self, key: str, scope: Scope) -> Value:
        if key == "self":
            return scope
        if key == "parent":
            return scope.parent or UNDEFINED
        return self.scope

    def _attribute(self, found: Attribute, key: str, scope: Scope) -> Value:
        place = (id(scope), key)
        if place in self._known:
            return self._known[place]
        if place in self._open:
            return Failure(f"attribute {found.name} is defined by itself")
        self._open.add(place)
        value = self._value(found.expression, scope)
        self._open.discard(place)
        self._known[place] = value
        return value

    def _selected(self, node: Reference, scope: Scope) -> Value:
        base = self._value(node.base, scope) if node.base is not None else scope
        return self._member(base, node.name)

    def _member(self, base: Value, name: str) -> Value:
        if not isinstance(base, Scope):
            return undecided(base) or Failure(f"{type_name(base)} has no attribute {name}")
        found = base.ad.attributes.get(name.lower())
        return UNDEFINED if found is None else self._attribute(found, name.lower(), base)

    def _subscript(self, node: Subscript, scope: Scope) -> Value:
        base, index = self._value(node.base, scope), self._value(node.index, scope)
        if (unknown := undecided(base, index)) is not None:
            return unknown
        if isinstance(base, Scope) and isinstance(index, str):
            return self._member(base, index)
        if not isinstance(base, tuple) or not isinstance(index, int):
            return Failure(f"{type_name(base)} has no element at {type_name(index)}")
        if 0 <= index < len(base):
            return base[index]
        return Failure(f"a list of {len(base)} has no element {index}")

    # Operators

    def _conditional(self, node: Conditional, scope: Scope) -> Value:
        condition = self._value(node.condition, scope)
        if node.then is None:
            return self._value(node.otherwise, scope) if condition is UNDEFINED else condition
        chosen = truth(condition)
        if isinstance(chosen, bool):
            return self._value(node.then if chosen else node.otherwise, scope)
        return chosen

    def _chain(self, node: Chain, scope: Scope) -> Value:
        value = self._value(node.first, scope)
        for operator, operand in node.rest:
            if operator in {"&&", "||"}:
                value = self._logical(operator, value, operand, scope)
                continue
            other = self._value(operand, scope)
            self._charge(1 + (_size(value) + _size(other)) // 64)
            value = OPERATORS[operator](value, other)
        return value

    def _logical(self, operator: str, left: Value, operand: Expression, scope: Scope) -> Value:
        """Give `&&` and `||` in three values: what decides alone decides whatever the other is."""
        decides = operator == "||"
        first = truth(left)
        if first is decides or isinstance(first, Failure):
            return first
        second = truth(self._value(operand, scope))
        if second is decides or isinstance(second, Failure):
            return second
        return UNDEFINED if UNDEFINED in (first, second) else not decides

    # Calls

    def _call(self, node: Call, scope: Scope) -> Value:
        name = node.name.lower()
        fault = arity_fault(node.name, len(node.arguments))
        if fault:
            return Failure(fault)
        if name == "ifthenelse":
            return self._conditional(Conditional(*node.arguments), scope)
        values = [self._value(argument, scope) for argument in node.arguments]
        self._charge(1 + sum(map(_size, values)) // 16)
        if name in LAZY:
            return LAZY[name](*values)
        return undecided(*values) or self._strictly(name, values)

    def _strictly(self, name: str, values: list[Value]) -> Value:
        if name == "regexp":
            self._charge(_REGEXP)
        result = STRICT[name].function(*values)
        if _size(result) > _LONGEST:
            return Failure(f"{name} gives more than {_LONGEST} characters")
        return result


def _size(value: Value) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(map(_size, value)) + len(value) if isinstance(value, tuple) else 1
