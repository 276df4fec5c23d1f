r"""The text of the ClassAd language: the tree of an ad, its parser, and the writer of a tree.

    ad          = "[" { [ NAME "=" expression ] ";" } "]"
    expression  = chain [ "?" expression ":" expression | "?:" expression ]
    chain       = operand { OPERATOR operand }                       precedence: PRECEDENCE
    operand     = { "-" | "+" | "!" | "~" } primary { "." NAME | "[" expression "]" }
    primary     = constant | [ "." ] NAME | NAME "(" [ expressions ] ")"
                | "(" expression ")" | "{" [ expressions ] "}" | ad

White space and comments (`// ...`, `/* ... */`) separate tokens. The escapes in strings are
`\" \' \\ \b \f \n \r \t` and octal `\o \oo \ooo`, which are bytes of UTF-8; before any other character
a backslash is ignored. Adjacent strings are joined. Integers are decimal, hexadecimal (0x) or
octal (leading 0); numbers may end in B, K, M, G or T (powers of 1024).

Every error is a `ClassAdError`, with its location and what was expected there.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, final

from osprofile.executors.errors import ClassAdError
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# The tree


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


class Literal(NamedTuple):
    """A constant. Integers fit 64 bits."""

    value: Constant


class Reference(NamedTuple):
    """`NAME`, `BASE.NAME`, or `.NAME` (absolute: looked up in the outermost ad only)."""

    name: str
    base: Expression | None = None
    absolute: bool = False


class Subscript(NamedTuple):
    """`BASE[KEY]`."""

    base: Expression
    key: Expression


class Unary(NamedTuple):
    """`-`, `+`, `!` or `~` before an operand."""

    operator: str
    operand: Expression


class OperatorChain(NamedTuple):
    """`FIRST OP A OP B ...`: `operations` are pairs (OP, A) of one precedence, from left to right."""

    first: Expression
    operations: tuple[tuple[str, Expression], ...]


class Conditional(NamedTuple):
    """`CONDITION ? THEN : OTHERWISE`; `CONDITION ?: OTHERWISE` has no THEN."""

    condition: Expression
    then: Expression | None
    otherwise: Expression


class Call(NamedTuple):
    """`NAME(ARGUMENTS)`."""

    name: str
    arguments: tuple[Expression, ...]


class ListExpression(NamedTuple):
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
_PRECEDENCE_LEVEL: Final = {operator: level for level, row in enumerate(PRECEDENCE) for operator in row}
_NAMED_CONSTANTS: Final[dict[str, Constant]] = {
    "true": True,
    "false": False,
    "undefined": UNDEFINED,
    "error": Failure("error"),
}
_KEYWORDS: Final = frozenset({*_NAMED_CONSTANTS, "is", "isnt"})
"""An attribute with such a name must be written in single quotes."""

# The parser

_TOKEN: Final = re.compile(
    r"""(?:[ \t\r\n\f\v]++|//[^\n]*+|/\*(?s:.*?)\*/|(?!))*+
    (?:([A-Za-z_][A-Za-z0-9_]*)
    |("(?:[^"\\]++|\\(?s:.))*+")
    |('(?:[^'\\]++|\\(?s:.))*+')
    |((?=\.?[0-9]))
    |(=\?=|=!=|>>>|<<|>>|<=|>=|==|!=|&&|\|\||\?:|/(?!\*)|[-+*%<>=!~&|^?:.,;()\[\]{}])
    |(\Z))?""",
    re.VERBOSE,
)
_KINDS: Final = ("", "name", "string", "quoted", "number", "sign", "end")
"""What the groups of _TOKEN are."""
_NUMBER: Final = re.compile(
    r"(?:0[xX](?P<hex>[0-9A-Fa-f]+)"
    r"|(?P<real>[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)"
    r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<whole>[0-9]+))(?P<suffix>[BKMGTbkmgt]?)(?![A-Za-z0-9_])"
)
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_LETTER_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SUFFIX_FACTORS: Final = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_MAX_MAGNITUDE: Final = 2**63
"""The largest integer of a token; it fits 64 bits only with a minus sign before it."""
_UNENDED: Final = {
    '"': ("the string has no end", '"'),
    "'": ("the quoted name has no end", "'"),
    "/": ("the comment has no end", "*/"),
}
"""What is wrong where no token begins, by the first character, and what was expected."""
MAX_NESTING: Final = 64
"""How deeply brackets, signs and conditionals may be nested: each level takes several Python frames."""
# Trees are walked by recursion; this is less than the evaluator's maximum depth.
_MAX_TREE_HEIGHT: Final = 100
MAX_TOKENS: Final = 20_000
"""How many tokens a text may have: parsing a megabyte of them would block all requests for seconds."""


def parse_ad(text: str) -> Ad:
    """Parse an ad, with nothing after it.

    ClassAdError for anything else, such as the old syntax without brackets.
    """
    parser = _Parser(text)
    ad = parser.parse_first_ad()
    if parser.kind != "end":
        message = "there is more text after the ad"
        raise parser.error or ClassAdError(message, text, parser.offset, expected="nothing")
    return ad


def parse_ad_prefix(text: str) -> tuple[Ad, str]:
    """Return the ad at the start of a text, and the text after it. ClassAdError as in `parse_ad`."""
    parser = _Parser(text)
    ad = parser.parse_first_ad()
    return ad, text[parser.end_offset :]


def parse_expression(text: str) -> Expression:
    """Parse an expression, with nothing after it. ClassAdError for anything else."""
    parser = _Parser(text)
    expression = parser.parse_expression()
    if parser.kind != "end":
        raise parser.make_error("an operator, or the end")
    parser.check_height(expression)
    return expression


@final
class _Parser:
    """A recursive descent parser with one token of look-ahead.

    `kind` is name, quoted (a quoted name), string, integer, real, end, or the sign itself; it is empty
    if no token is there, and then `error` says why: the text after an ad need not be valid.
    """

    def __init__(self, text: str) -> None:
        self._text, self._position, self._depth, self._token_count = text, 0, 0, 0
        self.kind, self.value, self.offset, self.end_offset = "", "", 0, 0
        self._number: int | float = 0
        self.error: ClassAdError | None = None
        self._advance()

    def make_error(self, expected: str) -> ClassAdError:
        """Return the error that `expected` should stand in place of the current token."""
        if self.error is not None:
            return self.error
        if self.kind == "end":
            message = "the text ends"
        else:
            prefix = "the string " if self.kind == "string" else ""
            value = str(self._number) if self.kind in {"integer", "real"} else self.value
            message = f"there is {prefix}{quote_value(value, 40)}"
        return ClassAdError(message, self._text, self.offset, expected=expected)

    def check_height(self, root: Expression) -> None:
        """Raise ClassAdError for a tree that is too high for the evaluator's and the writer's recursion."""
        level: list[Expression] = [root] if self._token_count > _MAX_TREE_HEIGHT else []
        for _ in range(_MAX_TREE_HEIGHT):
            level = [part for node in level for part in _list_parts(node)]
            if not level:
                return
        raise ClassAdError("the expressions are nested too deeply", self._text, 0)

    def parse_first_ad(self) -> Ad:
        """Parse the ad at the start of the text."""
        if self.kind == "end":
            raise ClassAdError("there is no ad", self._text, 0, expected="[")
        if self.kind in {"name", "quoted"}:
            message = "an ad is in brackets, as in [ a = 1; b = 2 ]; the old syntax is not supported"
            raise ClassAdError(message, self._text, self.offset)
        if self.kind != "[":
            raise self.make_error("[")
        ad = self._parse_ad()
        self.check_height(ad)
        return ad

    def _parse_ad(self) -> Ad:
        """Parse an ad; of several attributes with a name the last one counts."""
        self._enter_level("[")
        attributes: dict[str, Attribute] = {}
        while self.kind != "]":
            if self.kind == ";":
                self._advance()
                continue
            offset = self.offset
            name = self._take_name("the name of an attribute, or ]")
            self._take("=")
            key = name.lower()
            # A repeated name takes the position of its last attribute.
            attributes.pop(key, None)
            attributes[key] = Attribute(name, self.parse_expression(), offset)
            if self.kind not in {";", "]"}:
                raise self.make_error("; or ]")
        self._leave_level("]")
        return Ad(attributes)

    def parse_expression(self) -> Expression:
        """Parse an expression; something may follow."""
        condition = self._parse_chain()
        if self.kind not in {"?", "?:"}:
            return condition
        then = None
        has_then = self.kind == "?"
        self._enter_level(self.kind)
        if has_then:
            then = self.parse_expression()
            self._take(":")
        otherwise = self.parse_expression()
        self._depth -= 1
        return Conditional(condition, then, otherwise)

    def _parse_chain(self) -> Expression:
        operands, operators = [self._parse_operand()], list[str]()
        while True:
            operator = self.value.lower() if self.kind == "name" else self.kind
            if operator not in _PRECEDENCE_LEVEL:
                return _group_by_precedence(operands, operators)
            operators.append(operator)
            self._advance()
            operands.append(self._parse_operand())

    def _parse_operand(self) -> Expression:
        sign = self.kind
        if sign not in {"-", "+", "!", "~"}:
            return self._parse_postfix(self._parse_primary())
        self._enter_level(sign)
        operand: Expression
        if sign == "-" and self.kind in {"integer", "real"}:
            number = -self._number
            self._advance()
            operand = self._parse_postfix(Literal(number))
        else:
            operand = Unary(sign, self._parse_operand())
        self._depth -= 1
        return operand

    def _parse_postfix(self, operand: Expression) -> Expression:
        for _ in range(MAX_NESTING):
            if self.kind == ".":
                self._advance()
                operand = Reference(self._take_name("the name of an attribute", keywords=True), operand)
            elif self.kind == "[":
                self._enter_level("[")
                operand = Subscript(operand, self.parse_expression())
                self._leave_level("]")
            else:
                return operand
        raise ClassAdError("too many selections in a row", self._text, self.offset)

    def _parse_primary(self) -> Expression:  # noqa: PLR0911  # one a kind
        match self.kind:
            case "string":
                return Literal(self._take_strings())
            case "integer" | "real":
                number = self._number
                if self.kind == "integer" and number == _MAX_MAGNITUDE:
                    raise ClassAdError("this integer does not fit 64 bits", self._text, self.offset)
                self._advance()
                return Literal(number)
            case "name":
                return self._parse_name()
            case "quoted":
                return Reference(self._take_name(""))
            case ".":
                self._advance()
                return Reference(self._take_name("the name of an attribute"), absolute=True)
            case "[":
                return self._parse_ad()
            case "{":
                return ListExpression(self._parse_expression_list("{", "}"))
            case "(":
                self._enter_level("(")
                inner = self.parse_expression()
                self._leave_level(")")
                return inner
            case _:
                raise self.make_error("an expression")

    def _parse_name(self) -> Expression:
        """Parse what begins with a name: a constant, a call or a reference."""
        word = self.value
        folded = word.lower()
        if folded in {"is", "isnt"}:
            raise self.make_error("an expression")
        self._advance()
        if folded in _NAMED_CONSTANTS:
            return Literal(_NAMED_CONSTANTS[folded])
        if self.kind == "(":
            return Call(word, self._parse_expression_list("(", ")"))
        return Reference(word)

    def _parse_expression_list(self, opening: str, closing: str) -> tuple[Expression, ...]:
        self._enter_level(opening)
        expressions: list[Expression] = []
        while self.kind != closing:
            expressions.append(self.parse_expression())
            if self.kind == ",":
                self._advance()
                if self.kind == closing == ")":
                    raise self.make_error("an expression")
            elif self.kind != closing:
                raise self.make_error(f", or {closing}")
        self._leave_level(closing)
        return tuple(expressions)

    def _take_name(self, expected: str, *, keywords: bool = False) -> str:
        name = self.value
        is_name = self.kind == "name" and (keywords or name.lower() not in _KEYWORDS)
        if not is_name and self.kind != "quoted":
            raise self.make_error(expected)
        self._advance()
        return name

    def _take_strings(self) -> str:
        pieces = []
        while self.kind == "string":
            pieces.append(self.value)
            self._advance()
        return "".join(pieces)

    def _take(self, kind: str) -> None:
        if self.kind != kind:
            raise self.make_error(kind)
        self._advance()

    def _enter_level(self, kind: str) -> None:
        """Take a bracket or operator that begins a nested expression."""
        self._depth += 1
        if self._depth > MAX_NESTING:
            message = f"expressions are nested more than {MAX_NESTING} deep here"
            raise ClassAdError(message, self._text, self.offset)
        self._take(kind)

    def _leave_level(self, kind: str) -> None:
        self._depth -= 1
        self.end_offset = self.offset + 1
        self._take(kind)

    # Tokens

    def _advance(self) -> None:
        """Read the next token."""
        match = _TOKEN.match(self._text, self._position)
        assert match is not None  # noqa: S101  # it matches nothing, too
        index = match.lastindex or 0
        self.offset, self._position = match.start(index) if index else match.end(), match.end()
        self._token_count += 1
        self.kind = kind = _KINDS[index]
        try:
            if self._token_count > MAX_TOKENS and kind != "end":
                self._refuse(f"there are more than {MAX_TOKENS} tokens")
            if kind == "sign":
                self.kind = self.value = match[index]
            elif kind in {"string", "quoted"}:
                self.value = self._unescape(match[index][1:-1])
            elif kind == "number":
                self._read_number()
            elif kind:
                self.value = match[index]
            else:
                first = self._text[self.offset]
                self._refuse(*_UNENDED.get(first, (f"{quote_value(first)} has no meaning here",)))
        except ClassAdError as error:
            self.kind, self.error = "", error

    def _refuse(self, message: str, expected: str = "") -> None:
        raise ClassAdError(message, self._text, self.offset, expected=expected)

    def _unescape(self, body: str) -> str:
        if "\0" in body:
            message = "a string must not contain NUL"
            raise ClassAdError(message, self._text, self.offset + 1 + body.index("\0"))
        if "\\" not in body:
            return body
        has_bytes = False

        def unescape(match: re.Match[str]) -> str:
            nonlocal has_bytes
            if match[1][0] not in "01234567":
                return _LETTER_ESCAPES.get(match[1], match[1])
            code = int(match[1], 8)
            if code == 0:
                message = "a string must not contain NUL"
                raise ClassAdError(message, self._text, self.offset + 1 + match.start())
            has_bytes = has_bytes or code > 127
            return chr(code) if code < 128 else chr(0xDC00 + code)

        value = _ESCAPE.sub(unescape, body)
        if not has_bytes:
            return value
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")

    def _read_number(self) -> None:
        match = _NUMBER.match(self._text, self.offset)
        if match is None:
            self._refuse("this is not a number", "12, 0x1F, 1.5 or 10M")
            return
        self._position = match.end()
        factor = _SUFFIX_FACTORS[match["suffix"].upper()]
        if match["real"] is not None:
            self.kind, self._number = "real", float(match["real"]) * factor
            return
        digits = (match["hex"] or match["whole"]).lstrip("0") or "0"
        octal = match["whole"] is not None and len(match["whole"]) > 1 and match["whole"][0] == "0"
        if octal and not set(digits) <= set("01234567"):
            self._refuse("a number with a leading 0 is octal: digits below 8")
        # 30 digits exceed 64 bits in any base, and a megabyte of digits would take long to convert.
        self.kind = "integer"
        self._number = int(digits[:30], 16 if match["hex"] else 8 if octal else 10) * factor
        if len(digits) > 30 or self._number > _MAX_MAGNITUDE:
            self._refuse("this integer does not fit 64 bits")


def _list_parts(node: Expression | tuple[object, ...]) -> Iterator[Expression]:
    """Return the expressions directly below an expression."""
    items = [a.expression for a in node.attributes.values()] if isinstance(node, Ad) else node
    for item in items:
        if type(item) is tuple:
            yield from _list_parts(item)
        elif isinstance(item, tuple | Ad):
            yield item  # type: ignore[misc]  # each other tuple is a node


def _group_by_precedence(operands: Sequence[Expression], operators: Sequence[str]) -> Expression:
    """Return the tree of operands with operators between them, the weakest operators at its root."""
    if not operators:
        return operands[0]
    weakest = PRECEDENCE[min(_PRECEDENCE_LEVEL[operator] for operator in operators)]
    split_indexes = [index for index, operator in enumerate(operators) if operator in weakest]
    first, *others = (
        _group_by_precedence(operands[left + 1 : right + 1], operators[left + 1 : right])
        for left, right in pairwise([-1, *split_indexes, len(operators)])
    )
    weakest_operators = [operators[index] for index in split_indexes]
    return OperatorChain(first, tuple(zip(weakest_operators, others, strict=True)))


# The writer: parsing its text gives the same tree

_UNQUOTED_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SPECIAL_IN_STRING: Final = re.compile(r'[\x00-\x1f\x7f"\\]')
_SPECIAL_IN_NAME: Final = re.compile(r"[\x00-\x1f\x7f'\\]")
_ESCAPE_LETTERS: Final = {character: letter for letter, character in _LETTER_ESCAPES.items()}
_OPERAND, _PRIMARY = len(PRECEDENCE) + 1, len(PRECEDENCE) + 2
"""How strongly a text binds: a conditional 0, binary operators 1 to 10, then these."""


def write_ad(attributes: Mapping[str, Constant]) -> str:
    """Return an ad of constants in one line, as in `[ ExitCode = 0; JobStatus = 4 ]`."""
    return _join_attributes((name, format_constant(value)) for name, value in attributes.items())


def format_constant(value: Constant) -> str:
    """Return the text of a constant; a NUL in a string, which no ad can hold, becomes U+FFFD."""
    match value:
        case bool():
            return "true" if value else "false"
        case float() if not math.isfinite(value):
            return f'real("{str(value).upper().replace("NAN", "NaN")}")'
        case int() | float():
            return repr(value)
        case str():
            return f'"{_SPECIAL_IN_STRING.sub(_escape_character, value)}"'
        case Failure():
            return "error"
        case _:
            return UNDEFINED.value


def unparse(node: Expression) -> str:
    """Return an expression in one line, with no more parentheses than it needs."""
    return _format(node, 0)


def _escape_character(match: re.Match[str]) -> str:
    character = match[0]
    if character == "\0":
        return "\ufffd"
    if character in "\"'\\":
        return f"\\{character}"
    return f"\\{_ESCAPE_LETTERS.get(character) or format(ord(character), '03o')}"


def _format_name(name: str) -> str:
    if _UNQUOTED_NAME.match(name) and name.lower() not in _KEYWORDS:
        return name
    return f"'{_SPECIAL_IN_NAME.sub(_escape_character, name)}'"


def _join_attributes(pairs: Iterator[tuple[str, str]]) -> str:
    assignments = "; ".join(f"{_format_name(name)} = {text}" for name, text in pairs)
    return f"[ {assignments} ]" if assignments else "[ ]"


def _format(node: Expression, binding: int) -> str:
    """Return a node's text, in parentheses if it binds more weakly than `binding`."""
    text, own_binding = _format_with_binding(node)
    return f"({text})" if own_binding < binding else text


def _format_with_binding(node: Expression) -> tuple[str, int]:  # noqa: PLR0911  # one a kind
    match node:
        case Literal(value=value):
            is_negative = isinstance(value, int | float) and str(value).startswith("-")
            return format_constant(value), _OPERAND if is_negative else _PRIMARY
        case Reference(name=name, base=base):
            before = "." if node.absolute else "" if base is None else f"{_format(base, _PRIMARY)}."
            return before + _format_name(name), _PRIMARY
        case Subscript():
            return f"{_format(node.base, _PRIMARY)}[{_format(node.key, 0)}]", _PRIMARY
        case Unary():
            return f"{node.operator}{_format(node.operand, _OPERAND)}", _OPERAND
        case OperatorChain(operations=operations):
            own = _PRECEDENCE_LEVEL[operations[0][0]] + 1
            pieces = (f" {operator} {_format(operand, own + 1)}" for operator, operand in operations)
            return _format(node.first, own + 1) + "".join(pieces), own
        case Conditional():
            middle = "?:" if node.then is None else f"? {_format(node.then, 0)} :"
            return f"{_format(node.condition, 1)} {middle} {_format(node.otherwise, 0)}", 0
        case Call():
            return f"{node.name}({', '.join(_format(a, 0) for a in node.arguments)})", _PRIMARY
        case ListExpression():
            items = ", ".join(_format(item, 0) for item in node.items)
            return f"{{ {items} }}" if items else "{ }", _PRIMARY
        case Ad():
            pairs = ((a.name, _format(a.expression, 0)) for a in node.attributes.values())
            return _join_attributes(pairs), _PRIMARY
