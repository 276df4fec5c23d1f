r"""The parser of ads and expressions.

    ad          = "[" { [ NAME "=" expression ] ";" } "]"
    expression  = chain [ "?" expression ":" expression | "?:" expression ]
    chain       = operand { OPERATOR operand }                       precedence: nodes.PRECEDENCE
    operand     = { "-" | "+" | "!" | "~" } primary { "." NAME | "[" expression "]" }
    primary     = constant | [ "." ] NAME | NAME "(" [ expressions ] ")"
                | "(" expression ")" | "{" [ expressions ] "}" | ad

Every error is a `ClassAdError`, with its location and what was expected there.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, final

from osprofile.executors.blah.classad.lexer import MAX_MAGNITUDE, Lexer, Token
from osprofile.executors.blah.classad.nodes import (
    KEYWORDS,
    PRECEDENCE,
    PRECEDENCE_LEVEL,
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
    get_children,
)
from osprofile.executors.errors import ClassAdError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.executors.blah.classad.nodes import Constant

MAX_NESTING: Final = 64
"""How deeply brackets, signs and conditionals may be nested: each level takes several Python frames."""
# Trees are walked by recursion; this is less than the evaluator's maximum depth.
_MAX_TREE_HEIGHT: Final = 100
MAX_TOKENS: Final = 20_000
"""How many tokens a text may have: parsing a megabyte of them would block all requests for seconds."""
_NAMED_CONSTANTS: Final[dict[str, Constant]] = {
    "true": True,
    "false": False,
    "undefined": UNDEFINED,
    "error": Failure("error"),
}


def parse_ad(text: str) -> Ad:
    """Parse an ad, with nothing after it.

    ClassAdError for anything else, such as the old syntax without brackets.
    """
    ad, rest = parse_ad_prefix(text)
    token = Lexer(text, len(text) - len(rest)).next_token()
    if token.kind != "end":
        message = "there is more text after the ad"
        raise ClassAdError(message, text, token.offset, expected="nothing")
    return ad


def parse_ad_prefix(text: str) -> tuple[Ad, str]:
    """Return the ad at the start of a text, and the text after it. ClassAdError as in `parse_ad`."""
    parser = _Parser(text)
    if parser.current_token.kind == "end":
        raise ClassAdError("there is no ad", text, 0, expected="[")
    if parser.current_token.kind in {"name", "quoted"}:
        message = "an ad is in brackets, as in [ a = 1; b = 2 ]; the old syntax is not supported"
        raise ClassAdError(message, text, parser.current_token.offset)
    if parser.current_token.kind != "[":
        raise parser.make_error("[")
    ad = parser.parse_ad()
    parser.check_height(ad)
    return ad, text[parser.end_offset :]


def parse_expression(text: str) -> Expression:
    """Parse an expression, with nothing after it. ClassAdError for anything else."""
    parser = _Parser(text)
    expression = parser.parse_expression()
    if parser.current_token.kind != "end":
        raise parser.make_error("an operator, or the end")
    parser.check_height(expression)
    return expression


@final
class _Parser:
    """A recursive descent parser with one token of look-ahead."""

    def __init__(self, text: str) -> None:
        self.text, self._lexer, self._depth = text, Lexer(text), 0
        self._next_token: Token | None = None
        self._token_count = 0
        self.end_offset = 0

    @property
    def current_token(self) -> Token:
        """The next token to parse; read on demand, because the text after an ad need not be valid."""
        if self._next_token is None:
            self._next_token = self._lexer.next_token()
            self._token_count += 1
            if self._token_count > MAX_TOKENS:
                message = f"there are more than {MAX_TOKENS} tokens"
                raise ClassAdError(message, self.text, self._next_token.offset)
        return self._next_token

    def make_error(self, expected: str) -> ClassAdError:
        """Return the error that `expected` should stand in place of the current token."""
        return ClassAdError(
            self.current_token.description, self.text, self.current_token.offset, expected=expected
        )

    def check_height(self, root: Expression) -> None:
        """Raise ClassAdError for a tree that is too high for the evaluator's and the writer's recursion."""
        level: list[Expression] = [root]
        for _ in range(_MAX_TREE_HEIGHT):
            level = [part for node in level for part in get_children(node)]
            if not level:
                return
        raise ClassAdError("the expressions are nested too deeply", self.text, 0)

    def parse_ad(self) -> Ad:
        """Parse an ad; of several attributes with a name the last one counts."""
        self._enter_level("[")
        attributes: dict[str, Attribute] = {}
        while self.current_token.kind != "]":
            if self.current_token.kind == ";":
                self._take_token()
                continue
            name = self._expect_name("the name of an attribute, or ]")
            self._expect_token("=")
            # A repeated name takes the position of its last attribute.
            attributes.pop(str(name.value).lower(), None)
            expression = self.parse_expression()
            attributes[str(name.value).lower()] = Attribute(str(name.value), expression, name.offset)
            if self.current_token.kind not in {";", "]"}:
                raise self.make_error("; or ]")
        self._leave_level("]")
        return Ad(attributes)

    def parse_expression(self) -> Expression:
        condition = self._parse_chain()
        if self.current_token.kind == "?:":
            self._enter_level("?:")
            otherwise = self.parse_expression()
            self._depth -= 1
            return Conditional(condition, None, otherwise)
        if self.current_token.kind != "?":
            return condition
        self._enter_level("?")
        then = self.parse_expression()
        self._expect_token(":")
        otherwise = self.parse_expression()
        self._depth -= 1
        return Conditional(condition, then, otherwise)

    def _parse_chain(self) -> Expression:
        operands, operators = [self._parse_operand()], list[str]()
        while (operator := self._peek_operator()) is not None:
            operators.append(operator)
            self._take_token()
            operands.append(self._parse_operand())
        return _group_by_precedence(operands, operators)

    def _peek_operator(self) -> str | None:
        if self.current_token.kind == "name":
            word = str(self.current_token.value).lower()
            return word if word in {"is", "isnt"} else None
        return self.current_token.kind if self.current_token.kind in PRECEDENCE_LEVEL else None

    def _parse_operand(self) -> Expression:
        if self.current_token.kind not in {"-", "+", "!", "~"}:
            return self._parse_postfix()
        token = self.current_token
        self._enter_level(token.kind)
        if token.kind == "-" and self.current_token.kind in {"integer", "real"}:
            operand = self._parse_postfix(negative=True)
        else:
            operand = Unary(token.kind, self._parse_operand())
        self._depth -= 1
        return operand

    def _parse_postfix(self, *, negative: bool = False) -> Expression:
        operand = self._parse_number(negative=negative) if negative else self._parse_primary()
        for _ in range(MAX_NESTING):
            if self.current_token.kind == ".":
                self._take_token()
                name = self._expect_name("the name of an attribute", keywords=True)
                operand = Reference(str(name.value), operand)
            elif self.current_token.kind == "[":
                self._enter_level("[")
                operand = Subscript(operand, self.parse_expression())
                self._leave_level("]")
            else:
                return operand
        raise ClassAdError("too many selections in a row", self.text, self.current_token.offset)

    def _parse_primary(self) -> Expression:  # noqa: PLR0911  # one a kind
        token = self.current_token
        match token.kind:
            case "string":
                self._take_token()
                return Literal(token.value)
            case "integer" | "real":
                return self._parse_number()
            case "name":
                return self._parse_name()
            case "quoted":
                return Reference(str(self._take_token().value))
            case ".":
                self._take_token()
                return Reference(str(self._expect_name("the name of an attribute").value), absolute=True)
            case "[":
                return self.parse_ad()
            case "{":
                return ListExpression(self._parse_expression_list("{", "}"))
            case "(":
                self._enter_level("(")
                inner = self.parse_expression()
                self._leave_level(")")
                return inner
            case _:
                raise self.make_error("an expression")

    def _parse_number(self, *, negative: bool = False) -> Literal:
        token = self._take_token()
        if negative and not isinstance(token.value, str):
            return Literal(-token.value)
        if token.value == MAX_MAGNITUDE and token.kind == "integer":
            raise ClassAdError("this integer does not fit 64 bits", self.text, token.offset)
        return Literal(token.value)

    def _parse_name(self) -> Expression:
        """Parse what begins with a name: a constant, a call or a reference."""
        word = str(self.current_token.value)
        folded = word.lower()
        if folded in {"is", "isnt"}:
            raise self.make_error("an expression")
        self._take_token()
        if folded in _NAMED_CONSTANTS:
            return Literal(_NAMED_CONSTANTS[folded])
        if self.current_token.kind == "(":
            return Call(word, self._parse_expression_list("(", ")"))
        return Reference(word)

    def _parse_expression_list(self, opening: str, closing: str) -> tuple[Expression, ...]:
        self._enter_level(opening)
        expressions: list[Expression] = []
        while self.current_token.kind != closing:
            expressions.append(self.parse_expression())
            if self.current_token.kind == ",":
                self._take_token()
                if self.current_token.kind == closing and closing == ")":
                    raise self.make_error("an expression")
            elif self.current_token.kind != closing:
                raise self.make_error(f", or {closing}")
        self._leave_level(closing)
        return tuple(expressions)

    def _expect_name(self, expected: str, *, keywords: bool = False) -> Token:
        token = self.current_token
        is_unquoted_name = token.kind == "name" and (keywords or str(token.value).lower() not in KEYWORDS)
        if not is_unquoted_name and token.kind != "quoted":
            raise self.make_error(expected)
        return self._take_token()

    def _expect_token(self, kind: str) -> None:
        if self.current_token.kind != kind:
            raise self.make_error(kind)
        self._take_token()

    def _enter_level(self, kind: str) -> None:
        """Take a bracket or operator that begins a nested expression."""
        self._depth += 1
        if self._depth > MAX_NESTING:
            message = f"expressions are nested more than {MAX_NESTING} deep here"
            raise ClassAdError(message, self.text, self.current_token.offset)
        self._expect_token(kind)

    def _leave_level(self, kind: str) -> None:
        self._depth -= 1
        if self.current_token.kind != kind:
            raise self.make_error(kind)
        self.end_offset = self.current_token.offset + 1
        self._take_token()

    def _take_token(self) -> Token:
        token, self._next_token = self.current_token, None
        return token


def _group_by_precedence(operands: Sequence[Expression], operators: Sequence[str]) -> Expression:
    """Return the tree of operands with operators between them, the weakest operators at its root."""
    if not operators:
        return operands[0]
    weakest = PRECEDENCE[min(PRECEDENCE_LEVEL[operator] for operator in operators)]
    split_indexes = [index for index, operator in enumerate(operators) if operator in weakest]
    first, *others = (
        _group_by_precedence(operands[left + 1 : right + 1], operators[left + 1 : right])
        for left, right in pairwise([-1, *split_indexes, len(operators)])
    )
    weakest_operators = [operators[index] for index in split_indexes]
    return OperatorChain(first, tuple(zip(weakest_operators, others, strict=True)))
