"""The ClassAd language, as far as job ads need it: parser, evaluator and writer.

    ad = parse_ad('[ Cmd = "/bin/date"; Args = strcat("-u", " ", "+%s") ]')
    Evaluator(ad).evaluate_attribute("args")    -> '-u +%s'
    unparse(ad)                                 -> the text of the ad
    write_ad({"JobStatus": 2})                  -> '[ JobStatus = 2 ]'

The names of attributes, functions and keywords are case-insensitive. The old syntax (lines of
`name = value`, no brackets) is refused. Time, depth and memory are bounded, because the ads come
from the users of other hosts.
"""

from osprofile.executors.blah.classad.evaluator import Evaluator
from osprofile.executors.blah.classad.nodes import (
    UNDEFINED,
    Ad,
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
from osprofile.executors.blah.classad.parser import parse_ad, parse_ad_prefix, parse_expression
from osprofile.executors.blah.classad.values import Scope, Value
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
