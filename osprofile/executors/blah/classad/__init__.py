"""The ClassAd language, as far as job ads need it: reading, evaluating, writing.

    ad = parse_ad('[ Cmd = "/bin/date"; Args = strcat("-u", " ", "+%s") ]')
    Evaluator(ad).attribute("args")        -> '-u +%s'
    unparse(ad)                            -> the text again
    write_ad({"JobStatus": 2})             -> '[ JobStatus = 2 ]'

Names of attributes, functions and keywords are the same in any case. The old syntax (lines of
`name = value`, no brackets) is refused. Reading and evaluating take bounded time, depth and memory.
"""

from osprofile.executors.blah.classad.evaluator import Evaluator
from osprofile.executors.blah.classad.nodes import (
    Ad,
    Call,
    Conditional,
    Expression,
    ListExpression,
    Literal,
    OperatorChain,
    Reference,
    Subscript,
    Unary,
)
from osprofile.executors.blah.classad.parser import parse_ad, parse_ad_prefix, parse_expression
from osprofile.executors.blah.classad.values import UNDEFINED, Failure, Scope, Value
from osprofile.executors.blah.classad.writer import unparse, write_ad

__all__ = [
    "UNDEFINED",
    "Ad",
    "Call",
    "Conditional",
    "Evaluator",
    "Expression",
    "Failure",
    "ListExpression",
    "Literal",
    "OperatorChain",
    "Reference",
    "Scope",
    "Subscript",
    "Unary",
    "Value",
    "parse_ad",
    "parse_ad_prefix",
    "parse_expression",
    "unparse",
    "write_ad",
]
