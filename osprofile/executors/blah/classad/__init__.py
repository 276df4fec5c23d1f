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
from osprofile.executors.blah.classad.operations import Scope, Value, describe_type
from osprofile.executors.blah.classad.syntax import (
    UNDEFINED,
    Ad,
    Call,
    Conditional,
    Constant,
    Expression,
    Failure,
    ListExpression,
    Literal,
    OperatorChain,
    Reference,
    Subscript,
    Unary,
    format_constant,
    parse_ad,
    parse_ad_prefix,
    parse_expression,
    unparse,
    write_ad,
)

__all__ = [
    "UNDEFINED",
    "Ad",
    "Call",
    "Conditional",
    "Constant",
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
    "describe_type",
    "format_constant",
    "parse_ad",
    "parse_ad_prefix",
    "parse_expression",
    "unparse",
    "write_ad",
]
