"""`incarnate explain`: explains the rules of the linter."""

from typing import Annotated

from osprofile.cli import common
from osprofile.cli.options import Argument, JsonOption


def explain(
    *,
    codes: Annotated[
        list[str], Argument("Codes, as in OSP605 [default: list all].", "[CODE...]", "codes")
    ] = [],
    json: JsonOption = False,
) -> int:
    """Explain rules of the linter, with a wrong example and a right one.

    Examples:
      incarnate explain
      incarnate explain OSP605
    """
    from osprofile.lint import RULES
    from osprofile.lint.explanation import find_rule, format_explanation, format_rule_list

    rules = [find_rule(code) for code in codes]
    if json:
        keys = ("code", "severity", "summary", "why", "wrong", "right")
        common.print_json([{k: getattr(r, k) for k in keys} for r in rules or RULES.values()])
    else:
        common.print_result("\n\n".join(map(format_explanation, rules)) or format_rule_list())
    return 0
