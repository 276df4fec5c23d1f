"""The evaluation of expressions, in bounded time, depth and memory.

A name is looked up in the ad that contains the expression, then in the ads around it; if none has
it, its value is undefined. MY and TOPLEVEL are the outermost ad, SELF the innermost, PARENT the one
around that. There is no TARGET: its attributes are undefined. Evaluation raises nothing: the value
of a wrong expression is a `Failure` with the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from osprofile.executors.blah.classad.operations import (
    FUNCTIONS,
    Scope,
    apply_binary,
    apply_unary,
    describe_call_error,
    describe_type,
    find_exceptional_value,
    to_condition,
)
from osprofile.executors.blah.classad.syntax import (
    UNDEFINED,
    Ad,
    Attribute,
    Call,
    Conditional,
    Expression,
    Failure,
    ListExpression,
    Literal,
    OperatorChain,
    Reference,
    Subscript,
    Unary,
)

if TYPE_CHECKING:
    from osprofile.executors.blah.classad.operations import Value

MAX_STEPS: Final = 100_000
"""Steps that one evaluator may take in its lifetime; operations on large values cost several."""
_MAX_DEPTH: Final = 120  # more than the height of a tree (100), because attributes refer to others
_MAX_VALUE_SIZE: Final = 1 << 20  # strcat(a, a) doubles a value: twenty such attributes make a megabyte
_REGEXP_COST: Final = MAX_STEPS // 5  # javaregex stops each after a second


class _StepsExhaustedError(Exception):
    """All steps are used up; never leaves `Evaluator.evaluate`."""


@final
class Evaluator:
    """Evaluates the attributes of an ad, and other expressions as if they were in it."""

    def __init__(self, ad: Ad, *, steps: int = MAX_STEPS) -> None:
        self.scope = Scope(ad)
        self._steps_left, self._depth = steps, 0
        self._in_progress: set[tuple[int, str]] = set()
        self._cached_values: dict[tuple[int, str], Value] = {}
        self._inner_scopes: dict[tuple[int, int], Scope] = {}

    def evaluate_attribute(self, name: str) -> Value:
        """Return the value of an attribute, by its name in any case; undefined if there is none."""
        attribute = self.scope.ad.attributes.get(name.lower())
        if attribute is not None and isinstance(attribute.expression, Literal):
            return attribute.expression.value
        return self.evaluate(Reference(name))

    def evaluate(self, node: Expression) -> Value:
        """Return the value of an expression."""
        self._depth = 0
        self._in_progress.clear()
        try:
            return self._evaluate_node(node, self.scope)
        except _StepsExhaustedError:
            return Failure("evaluating it takes too long")

    def _evaluate_node(self, node: Expression, scope: Scope) -> Value:  # noqa: PLR0911, C901  # one a kind
        self._charge_steps(1)
        if self._depth >= _MAX_DEPTH:
            return Failure("it is nested too deeply")
        self._depth += 1
        try:
            match node:
                case Literal(value=value):
                    return value
                case Reference():
                    return self._evaluate_reference(node, scope)
                case OperatorChain():
                    return self._evaluate_chain(node, scope)
                case Unary():
                    return apply_unary(node.operator, self._evaluate_node(node.operand, scope))
                case Call():
                    return self._evaluate_call(node, scope)
                case Conditional():
                    return self._evaluate_conditional(node, scope)
                case ListExpression():
                    return self._make_list(tuple(self._evaluate_node(item, scope) for item in node.items))
                case Subscript():
                    return self._evaluate_subscript(node, scope)
                case Ad():  # the same object each time, because it is the key of cached attributes
                    return self._inner_scopes.setdefault((id(node), id(scope)), Scope(node, scope))
        finally:
            self._depth -= 1

    def _make_list(self, items: tuple[Value, ...]) -> Value:
        """Return a list as a value, and charge its nested size, because `{ a, a }` doubles a list."""
        size = _measure_size(items)
        self._charge_steps(size // 16)
        return items if size <= _MAX_VALUE_SIZE else Failure("a list is too large")

    def _charge_steps(self, steps: int) -> None:
        self._steps_left -= steps
        if self._steps_left < 0:
            raise _StepsExhaustedError

    # Names

    def _evaluate_reference(self, node: Reference, scope: Scope) -> Value:
        if node.base is not None:
            return self._get_member(self._evaluate_node(node.base, scope), node.name)
        key = node.name.lower()
        enclosing: Scope | None = self.scope if node.absolute else scope
        while enclosing is not None:
            attribute = enclosing.ad.attributes.get(key)
            if attribute is not None:
                return self._get_attribute_value(attribute, key, enclosing)
            enclosing = enclosing.parent
        scopes = {"my": self.scope, "toplevel": self.scope, "self": scope, "parent": scope.parent}
        return scopes.get(key) or UNDEFINED

    def _get_attribute_value(self, attribute: Attribute, key: str, scope: Scope) -> Value:
        cache_key = (id(scope), key)
        if cache_key in self._cached_values:
            return self._cached_values[cache_key]
        if cache_key in self._in_progress:
            return Failure(f"attribute {attribute.name} is defined by itself")
        self._in_progress.add(cache_key)
        value = self._evaluate_node(attribute.expression, scope)
        self._in_progress.discard(cache_key)
        self._cached_values[cache_key] = value
        return value

    def _get_member(self, base: Value, name: str) -> Value:
        if not isinstance(base, Scope):
            return find_exceptional_value(base) or Failure(f"{describe_type(base)} has no attribute {name}")
        attribute = base.ad.attributes.get(name.lower())
        return UNDEFINED if attribute is None else self._get_attribute_value(attribute, name.lower(), base)

    def _evaluate_subscript(self, node: Subscript, scope: Scope) -> Value:
        base, index = self._evaluate_node(node.base, scope), self._evaluate_node(node.key, scope)
        if (exceptional := find_exceptional_value(base, index)) is not None:
            return exceptional
        if isinstance(base, Scope) and isinstance(index, str):
            return self._get_member(base, index)
        if not isinstance(base, tuple) or not isinstance(index, int):
            return Failure(f"{describe_type(base)} has no element at {describe_type(index)}")
        if 0 <= index < len(base):
            return base[index]
        return Failure(f"a list of {len(base)} has no element {index}")

    # Operators

    def _evaluate_conditional(self, node: Conditional, scope: Scope) -> Value:
        condition = self._evaluate_node(node.condition, scope)
        if node.then is None:
            if condition is UNDEFINED:
                return self._evaluate_node(node.otherwise, scope)
            return condition
        truth = to_condition(condition)
        if isinstance(truth, bool):
            return self._evaluate_node(node.then if truth else node.otherwise, scope)
        return truth

    def _evaluate_chain(self, node: OperatorChain, scope: Scope) -> Value:
        value = self._evaluate_node(node.first, scope)
        for operator, operand in node.operations:
            if operator in {"&&", "||"}:
                value = self._evaluate_logical(operator, value, operand, scope)
                continue
            other = self._evaluate_node(operand, scope)
            self._charge_steps(1 + (_measure_size(value) + _measure_size(other)) // 64)
            value = apply_binary(operator, value, other)
        return value

    def _evaluate_logical(self, operator: str, left: Value, operand: Expression, scope: Scope) -> Value:
        """Return the value of `&&` or `||` in three-valued logic; evaluate the operand only if needed."""
        deciding_value = operator == "||"
        left_truth = to_condition(left)
        if left_truth is deciding_value or isinstance(left_truth, Failure):
            return left_truth
        right_truth = to_condition(self._evaluate_node(operand, scope))
        if right_truth is deciding_value or isinstance(right_truth, Failure):
            return right_truth
        return UNDEFINED if UNDEFINED in (left_truth, right_truth) else not deciding_value

    # Calls

    def _evaluate_call(self, node: Call, scope: Scope) -> Value:
        name = node.name.lower()
        message = describe_call_error(node.name, len(node.arguments))
        if message:
            return Failure(message)
        if name == "ifthenelse":
            return self._evaluate_conditional(Conditional(*node.arguments), scope)
        values = [self._evaluate_node(argument, scope) for argument in node.arguments]
        self._charge_steps(1 + sum(map(_measure_size, values)) // 16)
        if name == "regexp":
            self._charge_steps(_REGEXP_COST)
        result = FUNCTIONS[name].call(node.name, values)
        if _measure_size(result) > _MAX_VALUE_SIZE:
            return Failure(f"{name} gives more than {_MAX_VALUE_SIZE} characters")
        return result


def _measure_size(value: Value) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(map(_measure_size, value)) + len(value) if isinstance(value, tuple) else 1
