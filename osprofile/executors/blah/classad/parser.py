r"""Text to ads and expressions.

    ad          = "[" { [ NAME "=" expression ] ";" } "]"
    expression  = chain [ "?" expression ":" expression | "?:" expression ]
    chain       = operand { OPERATOR operand }                       precedence: nodes.PRECEDENCE
    operand     = { "-" | "+" | "!" | "~" } primary { "." NAME | "[" expression "]" }
    primary     = constant | [ "." ] NAME | NAME "(" [ expressions ] ")"
                | "(" expression ")" | "{" [ expressions ] "}" | ad

Every error is a `ClassAdError`, with the place and with what was expected there.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import ClassAdError
from osprofile.executors.blah.classad.lexer import LARGEST, Lexer, Token
from osprofile.executors.blah.classad.nodes import (
    KEYWORDS,
    LEVEL,
    PRECEDENCE,
    UNDEFINED,
    Ad,
    Attribute,
    Call,
    Chain,
    Conditional,
    Expression,
    Failure,
    ListOf,
    Literal,
    Reference,
    Subscript,
    Unary,
    parts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.executors.blah.classad.nodes import Constant

DEEPEST: Final = 64
"""How deeply brackets may be nested; the tree may be 100 high."""
_HIGHEST: Final = 100
MOST_WORDS: Final = 20_000
"""How many words and signs a text may have: the daemon answers nobody while it reads them."""
_CONSTANTS: Final[dict[str, Constant]] = {
    "true": True,
    "false": False,
    "undefined": UNDEFINED,
    "error": Failure("error"),
}


def parse_ad(text: str) -> Ad:
    """Read one ad, with nothing behind it.

    `ClassAdError` for anything else, the old syntax without brackets too.
    """
    ad, rest = read_ad(text)
    behind = Lexer(text, len(text) - len(rest)).next()
    if behind.kind != "end":
        message = "there is more text behind the ad"
        raise ClassAdError(message, text, behind.offset, expected="nothing")
    return ad


def read_ad(text: str) -> tuple[Ad, str]:
    """Read one ad; give it and the text behind it. `ClassAdError` as from `parse_ad`."""
    parser = _Parser(text)
    if parser.token.kind == "end":
        raise ClassAdError("there is no ad", text, 0, expected="[")
    if parser.token.kind in {"name", "quoted"}:
        message = "an ad stands in brackets, as in [ a = 1; b = 2 ]; the old syntax is not read"
        raise ClassAdError(message, text, parser.token.offset)
    if parser.token.kind != "[":
        raise parser.error("[")
    ad = parser.ad()
    parser.check_height(ad)
    return ad, text[parser.end :]


def parse_expression(text: str) -> Expression:
    """Read one expression, with nothing behind it. `ClassAdError` for anything else."""
    parser = _Parser(text)
    found = parser.expression()
    if parser.token.kind != "end":
        raise parser.error("an operator, or the end")
    parser.check_height(found)
    return found


@final
class _Parser:
    """Recursive descent with one word of look-ahead."""

    def __init__(self, text: str) -> None:
        self.text, self._lexer, self._depth = text, Lexer(text), 0
        self._next: Token | None = None
        self._words = 0
        self.end = 0

    @property
    def token(self) -> Token:
        """The next word. It is read when it is asked for: what is behind an ad need be none."""
        if self._next is None:
            self._next = self._lexer.next()
            self._words += 1
            if self._words > MOST_WORDS:
                message = f"there are more than {MOST_WORDS} words and signs"
                raise ClassAdError(message, self.text, self._next.offset)
        return self._next

    def error(self, expected: str) -> ClassAdError:
        """Give the error that something else was expected where the next word stands."""
        return ClassAdError(self.token.told, self.text, self.token.offset, expected=expected)

    def check_height(self, root: Expression) -> None:
        """Refuse a tree that is too high to be walked by recursion."""
        level: list[Expression] = [root]
        for _ in range(_HIGHEST):
            level = [part for node in level for part in parts(node)]
            if not level:
                return
        raise ClassAdError("the expressions are nested too deeply", self.text, 0)

    def ad(self) -> Ad:
        """Read an ad; the last attribute of a name wins."""
        self._enter("[")
        attributes: dict[str, Attribute] = {}
        while self.token.kind != "]":
            if self.token.kind == ";":
                self._take()
                continue
            name = self._name("the name of an attribute, or ]")
            self._expect("=")
            # a name that comes again stands where it came last
            attributes.pop(str(name.value).lower(), None)
            expression = self.expression()
            attributes[str(name.value).lower()] = Attribute(
                str(name.value), expression, name.offset
            )
            if self.token.kind not in {";", "]"}:
                raise self.error("; or ]")
        self._leave("]")
        return Ad(attributes)

    def expression(self) -> Expression:
        """Read an expression."""
        condition = self._chain()
        if self.token.kind == "?:":
            self._enter("?:")
            otherwise = self.expression()
            self._depth -= 1
            return Conditional(condition, None, otherwise)
        if self.token.kind != "?":
            return condition
        self._enter("?")
        then = self.expression()
        self._expect(":")
        otherwise = self.expression()
        self._depth -= 1
        return Conditional(condition, then, otherwise)

    def _chain(self) -> Expression:
        operands, operators = [self._operand()], list[str]()
        while (operator := self._operator()) is not None:
            operators.append(operator)
            self._take()
            operands.append(self._operand())
        return _grouped(operands, operators)

    def _operator(self) -> str | None:
        if self.token.kind == "name":
            word = str(self.token.value).lower()
            return word if word in {"is", "isnt"} else None
        return self.token.kind if self.token.kind in LEVEL else None

    def _operand(self) -> Expression:
        if self.token.kind not in {"-", "+", "!", "~"}:
            return self._postfixed()
        token = self.token
        self._enter(token.kind)
        if token.kind == "-" and self.token.kind in {"integer", "real"}:
            operand = self._postfixed(negative=True)
        else:
            operand = Unary(token.kind, self._operand())
        self._depth -= 1
        return operand

    def _postfixed(self, *, negative: bool = False) -> Expression:
        found = self._number(negative=negative) if negative else self._primary()
        for _ in range(DEEPEST):
            if self.token.kind == ".":
                self._take()
                name = self._name("the name of an attribute", keywords=True)
                found = Reference(str(name.value), found)
            elif self.token.kind == "[":
                self._enter("[")
                found = Subscript(found, self.expression())
                self._leave("]")
            else:
                return found
        raise ClassAdError("too many selections in a row", self.text, self.token.offset)

    def _primary(self) -> Expression:  # noqa: PLR0911  # one a kind
        token = self.token
        match token.kind:
            case "string":
                self._take()
                return Literal(token.value)
            case "integer" | "real":
                return self._number()
            case "name":
                return self._word()
            case "quoted":
                return Reference(str(self._take().value))
            case ".":
                self._take()
                return Reference(str(self._name("the name of an attribute").value), absolute=True)
            case "[":
                return self.ad()
            case "{":
                return ListOf(self._expressions("{", "}"))
            case "(":
                self._enter("(")
                inner = self.expression()
                self._leave(")")
                return inner
            case _:
                raise self.error("an expression")

    def _number(self, *, negative: bool = False) -> Literal:
        token = self._take()
        if negative and not isinstance(token.value, str):
            return Literal(-token.value)
        if token.value == LARGEST and token.kind == "integer":
            raise ClassAdError("this integer does not fit 64 bits", self.text, token.offset)
        return Literal(token.value)

    def _word(self) -> Expression:
        """Read what begins with a name: a constant, a call, a reference."""
        word = str(self.token.value)
        folded = word.lower()
        if folded in {"is", "isnt"}:
            raise self.error("an expression")
        self._take()
        if folded in _CONSTANTS:
            return Literal(_CONSTANTS[folded])
        if self.token.kind == "(":
            return Call(word, self._expressions("(", ")"))
        return Reference(word)

    def _expressions(self, opening: str, closing: str) -> tuple[Expression, ...]:
        self._enter(opening)
        found: list[Expression] = []
        while self.token.kind != closing:
            found.append(self.expression())
            if self.token.kind == ",":
                self._take()
                if self.token.kind == closing and closing == ")":
                    raise self.error("an expression")
            elif self.token.kind != closing:
                raise self.error(f", or {closing}")
        self._leave(closing)
        return tuple(found)

    def _name(self, expected: str, *, keywords: bool = False) -> Token:
        token = self.token
        plain = token.kind == "name" and (keywords or str(token.value).lower() not in KEYWORDS)
        if not plain and token.kind != "quoted":
            raise self.error(expected)
        return self._take()

    def _expect(self, kind: str) -> None:
        if self.token.kind != kind:
            raise self.error(kind)
        self._take()

    def _enter(self, kind: str) -> None:
        """Go past an opening sign, one level deeper."""
        self._depth += 1
        if self._depth > DEEPEST:
            message = f"expressions are nested more than {DEEPEST} deep here"
            raise ClassAdError(message, self.text, self.token.offset)
        self._expect(kind)

    def _leave(self, kind: str) -> None:
        self._depth -= 1
        if self.token.kind != kind:
            raise self.error(kind)
        self.end = self.token.offset + 1
        self._take()

    def _take(self) -> Token:
        token, self._next = self.token, None
        return token


def _grouped(operands: Sequence[Expression], operators: Sequence[str]) -> Expression:
    """Make a tree of operands and the operators between them."""
    if not operators:
        return operands[0]
    weakest = PRECEDENCE[min(LEVEL[operator] for operator in operators)]
    cuts = [at for at, operator in enumerate(operators) if operator in weakest]
    edges = [-1, *cuts, len(operators)]
    found = [_grouped(operands[a + 1 : b + 1], operators[a + 1 : b]) for a, b in pairwise(edges)]
    signs = [operators[at] for at in cuts]
    return Chain(found[0], tuple(zip(signs, found[1:], strict=True)))
