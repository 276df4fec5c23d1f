"""The tree of a parsed ClassAd."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Undefined(Enum):
    """The type of `UNDEFINED`."""

    UNDEFINED = "undefined"

    def __repr__(self) -> str:
        return "UNDEFINED"


UNDEFINED: Final = Undefined.UNDEFINED
"""The value of an attribute that does not exist, as of the keyword `undefined`."""


@final
@dataclass(frozen=True, slots=True)
class Failure:
    """The value `error`; `reason` is for messages only, so all failures are equal."""

    reason: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Failure)

    def __hash__(self) -> int:
        return hash(Failure)


Constant: TypeAlias = "bool | int | float | str | Undefined | Failure"


@final
@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. Integers fit 64 bits."""

    value: Constant


@final
@dataclass(frozen=True, slots=True)
class Reference:
    """`NAME`, `BASE.NAME`, or `.NAME` (absolute: looked up in the outermost ad only)."""

    name: str
    base: Expression | None = None
    absolute: bool = False


@final
@dataclass(frozen=True, slots=True)
class Subscript:
    """`BASE[INDEX]`."""

    base: Expression
    index: Expression


@final
@dataclass(frozen=True, slots=True)
class Unary:
    """`-`, `+`, `!` or `~` before an operand."""

    operator: str
    operand: Expression


@final
@dataclass(frozen=True, slots=True)
class OperatorChain:
    """`FIRST OP A OP B ...`: `operations` are pairs (OP, A) of one precedence, from left to right."""

    first: Expression
    operations: tuple[tuple[str, Expression], ...]


@final
@dataclass(frozen=True, slots=True)
class Conditional:
    """`CONDITION ? THEN : OTHERWISE`; `CONDITION ?: OTHERWISE` has no THEN."""

    condition: Expression
    then: Expression | None
    otherwise: Expression


@final
@dataclass(frozen=True, slots=True)
class Call:
    """`NAME(ARGUMENTS)`."""

    name: str
    arguments: tuple[Expression, ...]


@final
@dataclass(frozen=True, slots=True)
class ListExpression:
    """`{ITEMS}`."""

    items: tuple[Expression, ...]


class Attribute(NamedTuple):
    """An attribute of an ad; `offset` is that of its name in the text."""

    name: str
    expression: Expression
    offset: int = 0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ad:
    """`[ NAME = EXPRESSION; ... ]`; the keys of `attributes` are in lower case."""

    attributes: Mapping[str, Attribute]

    def __getitem__(self, name: str) -> Expression:
        return self.attributes[name.lower()].expression

    def __contains__(self, name: str) -> bool:
        return name.lower() in self.attributes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ad) and self._expressions_by_name() == other._expressions_by_name()

    def __hash__(self) -> int:
        return hash(frozenset(self.attributes))

    def _expressions_by_name(self) -> dict[str, Expression]:
        return {name: attribute.expression for name, attribute in self.attributes.items()}


Expression: TypeAlias = (
    "Literal | Reference | Subscript | Unary | OperatorChain | Conditional | Call | ListExpression | Ad"
)


def get_children(node: Expression) -> Iterable[Expression]:  # noqa: PLR0911  # one a kind
    """Return the expressions directly below an expression."""
    match node:
        case Reference(base=base):
            return (base,) if base is not None else ()
        case Subscript():
            return (node.base, node.index)
        case Unary():
            return (node.operand,)
        case OperatorChain():
            return (node.first, *(operand for _, operand in node.operations))
        case Conditional():
            parts = (node.condition, node.then, node.otherwise)
            return [part for part in parts if part is not None]
        case Call():
            return node.arguments
        case ListExpression():
            return node.items
        case Ad():
            return [attribute.expression for attribute in node.attributes.values()]
        case Literal():
            return ()


PRECEDENCE: Final[tuple[tuple[str, ...], ...]] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!=", "=?=", "=!=", "is", "isnt"),
    ("<", "<=", ">", ">="),
    ("<<", ">>", ">>>"),
    ("+", "-"),
    ("*", "/", "%"),
)
"""The operators between two operands, the weakest first; `?:` is weaker than all of them."""

PRECEDENCE_LEVEL: Final = {operator: level for level, row in enumerate(PRECEDENCE) for operator in row}
"""Each operator's index in PRECEDENCE."""

KEYWORDS: Final = frozenset({"true", "false", "undefined", "error", "is", "isnt"})
"""An attribute with such a name must be written in single quotes."""
