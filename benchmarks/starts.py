"""The promise: START of the bundled profiles is computed fast, against compiled jinja2 with an `if` for each optional piece.

The requests give 5 or up to 25 fields, with a new job name, program and time in each. Both give the same text; the
peer checks nothing, and gets the delimiter of the here-document, which ours computes from the script.
"""

from __future__ import annotations

import itertools
import re
import sys
from typing import TYPE_CHECKING

import jinja2
from paired import Promise, compare, heading, rounds, timed

import osprofile
from osprofile.incarnation import evaluate
from osprofile.incarnation.plan import get_plan
from osprofile.text import quote_shell_word

if TYPE_CHECKING:
    from collections.abc import Iterable

    from osprofile.incarnation.evaluate import Text
    from osprofile.incarnation.plan import Plan

CONTEXT = {"USER_NAME": "me", "USER_HOME": "/home/me", "WORKING_DIRECTORY": "/home/me/.gpe/work/me/1"}
FEW = ("JOB_NAME", "EXECUTABLE", "ARGUMENTS", "WALLTIME", "NODES")
MANY = {
    "QUEUE": "long", "PROJECT": "p1", "PROCESSES": "8", "CPUS": "2", "MEMORY": "4096", "STDIN": "/dev/null",
    "STDOUT": "out", "STDERR": "err", "PRIORITY": "5", "QOS": "high", "RESERVATION": "7",
    "GPUS": "1", "GPU_TYPE": "a100", "CPUTIME": "60", "DIRECTORY": "/work", "MODULES": "gcc",
    "SETUP": "true", "CONTAINER": "/c.sif",
}  # fmt: skip
# With many fields, the checks and the digest of the script, which the peer does not make, take as long as the text.
CASES = [("slurm", True, 1.4), ("pbs", True, 1.4), ("slurm", False, 0.85), ("linux", False, 0.85)]
QUOTE = ("'", "'\\''")


def list_requests(settable: Iterable[str], *, is_many: bool) -> list[dict[str, str]]:
    """Return 500 requests for a profile with these settable fields."""
    given = {name: value for name, value in MANY.items() if is_many and name in settable}
    changing = [
        {
            "JOB_NAME": f"job{n}", "EXECUTABLE": f"/opt/app/{n}" if n % 4 else f"/opt/it's/{n}",
            "ARGUMENTS": f"--input {n}", "WALLTIME": str(600 + n % 100), "NODES": "1",
        }
        for n in range(500)
    ]  # fmt: skip
    return [{k: v for k, v in {**given, **request}.items() if k in settable} for request in changing]


class PeerText:
    """The text of a plan for jinja2: `[[ X ]]` is a value, `[% if X %]` a condition."""

    def __init__(self, plan: Plan) -> None:
        self.steps = {step[1]: step for step in plan.steps}
        environment = jinja2.Environment(  # noqa: S701
            block_start_string="[%", block_end_string="%]", variable_start_string="[[", variable_end_string="]]",
            comment_start_string="\x01", comment_end_string="\x02", keep_trailing_newline=True,
        )  # fmt: skip
        environment.filters |= evaluate.DERIVED_FORMATS
        environment.filters["quoted"] = lambda value: value.replace(*QUOTE) if "'" in value else value
        environment.filters["shell_word"] = quote_shell_word
        self.template = environment.from_string(self.write_text(plan.text.text))

    def write_text(self, text: Text) -> str:
        """Return the source of a text."""
        literals, _, keys = text
        pieces = (self.write_value(key) + literal for key, literal in zip(keys, literals[2::2], strict=True))
        return literals[0] + "".join(pieces)

    def write_value(self, key: str) -> str:
        """Return the source of a value."""
        kind, _, first, second = self.steps.get(key, (-1, key, key, None))
        if kind == evaluate.INSERT:
            return self.write_if([first], self.write_value(first).join(second))
        if kind == evaluate.LINE:
            return self.write_if([first, *second], self.write_value(first) + "\n")
        if kind in {evaluate.QUOTE, evaluate.TIME}:
            name, form = (
                (to_name(first), "shell_word")
                if kind == evaluate.QUOTE
                else (to_name(first[0]), f"int|{first[1]}")
            )
            return f"[% if {name} %][[ {name}|{form} ]][% endif %]"
        if kind == evaluate.REPLACE and second == QUOTE:
            return f"[[ {to_name(first)}|quoted ]]"
        if kind == evaluate.JOIN:
            ends = ("\n", "\n[% endif %]")
            texts = map(self.write_text, first)
            return "".join(t if t.endswith(ends) else f"{t}\n" for t in texts).removesuffix("\n")
        # No request has a value for the few other patterns.
        return (
            first
            if kind == evaluate.CONSTANT
            else f"[[ {to_name(first[0] if kind in {evaluate.COMPUTE, evaluate.PROGRAM} else key)} ]]"
        )

    def write_if(self, keys: Iterable[str], text: str) -> str:
        """Return a text that is there if one of the values is."""
        return f"[% if {' or '.join(to_name(self.find_field(key)) for key in keys)} %]{text}[% endif %]"

    def find_field(self, key: str) -> str:
        """Return the field on which a value depends."""
        kind, _, first, _ = self.steps.get(key, (-1, key, key, None))
        if kind < 0:
            return key
        return self.find_field(first if isinstance(first, str) else first[0])


def to_name(key: str) -> str:
    """Return the name of a variable of jinja2 for a field."""
    return re.sub(r"\W", "_", key)


def compare_profile(name: str, limit: float, count: int, *, is_many: bool) -> bool:
    """Compare START of one profile, and return whether the promise is kept."""
    profile = osprofile.load(name)
    plan = get_plan(profile, "START", "", None)
    template, incarnate = PeerText(plan).template, osprofile.incarnate
    given = list_requests(plan.settable, is_many=is_many)
    peer_values = list[dict[str, str]]()
    for request in given:
        made = incarnate(profile, "START", fields=request, context=CONTEXT)
        values = {field: made.get_value(field) for field in plan.uses}
        end = evaluate.choose_end_word(made.job_script or "")
        peer_values.append({to_name(k): v for k, v in {**values, "JOB_SCRIPT:END": end}.items()})
        if made.text != template.render(peer_values[-1]):
            message = f"{name}: the peer gives another text"
            raise RuntimeError(message)
    mine, theirs = itertools.cycle(given), itertools.cycle(peer_values)
    what = f"START of {name} with {len(given[0])} fields"
    return compare(
        Promise(what, "compiled jinja2", limit),
        timed(lambda: incarnate(profile, "START", fields=next(mine), context=CONTEXT).text, 500),
        timed(lambda: template.render(next(theirs)), 500),
        count,
    )


def main() -> int:
    """Compare and print; 1 where a promise is broken."""
    heading()
    count = rounds()
    held = [compare_profile(name, limit, count, is_many=is_many) for name, is_many, limit in CASES]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
