"""The translation of CERequirements to fields (docs/protocols/blah.md, 4.5).

Of the conjuncts, `a == v` gives A, `a >= v` gives A_MIN and `a <= v` gives A_MAX; `>` and `<` of a
whole number give the next one. Any other conjunct is left out, with a warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile.executors.blah.classad import Evaluator, Expression, Literal, OperatorChain, Reference, unparse
from osprofile.executors.blah.classad.writer import format_constant

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIELD_SUFFIXES: Final = {"==": "", "=?=": "", "is": "", ">=": "_MIN", ">": "_MIN", "<=": "_MAX", "<": "_MAX"}
_MIRRORED_OPERATORS: Final = {">=": "<=", "<=": ">=", ">": "<", "<": ">"}
_STRICT_BOUND_OFFSETS: Final = {">": 1, "<": -1}


def translate_requirements(node: Expression, evaluator: Evaluator) -> tuple[dict[str, str], list[str]]:
    """Return the values that an expression requires, by field name, and warnings for the log."""
    values: dict[str, str] = {}
    warnings = []
    for conjunct in _split_conjuncts(node):
        comparison = _translate_comparison(conjunct, evaluator)
        if comparison is None:
            if conjunct != Literal(value=True):
                warnings.append(f"CERequirements: {unparse(conjunct)!r} cannot be translated")
            continue
        name, value = comparison
        if values.setdefault(name, value) != value:
            warnings.append(f"CERequirements: {unparse(conjunct)!r} contradicts what is before it")
    return values, warnings


def _split_conjuncts(node: Expression) -> Iterator[Expression]:
    if isinstance(node, OperatorChain) and node.operations[0][0] == "&&":
        for part in (node.first, *(operand for _, operand in node.operations)):
            yield from _split_conjuncts(part)
    else:
        yield node


def _translate_comparison(node: Expression, evaluator: Evaluator) -> tuple[str, str] | None:
    """Return the field and the value of one comparison; None for any other expression."""
    if not isinstance(node, OperatorChain) or len(node.operations) != 1:
        return None
    left, (operator, right) = node.first, node.operations[0]
    if not isinstance(left, Reference):
        left, operator, right = right, _MIRRORED_OPERATORS.get(operator, operator), left
    if not isinstance(left, Reference) or operator not in _FIELD_SUFFIXES:
        return None
    text = _evaluate_bound(operator, right, evaluator)
    return None if text is None else (left.name.upper() + _FIELD_SUFFIXES[operator], text)


def _evaluate_bound(operator: str, node: Expression, evaluator: Evaluator) -> str | None:
    value = evaluator.evaluate(node)
    if operator in _STRICT_BOUND_OFFSETS:
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        return str(value + _STRICT_BOUND_OFFSETS[operator])
    if isinstance(value, str):
        return value
    return format_constant(value) if isinstance(value, bool | int | float) else None
