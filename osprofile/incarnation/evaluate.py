"""Evaluate a compiled template: values by name in, values by key and text out.

A plan is data: tuples of texts and of steps, which this module carries out. Whatever must be explained is left to
`incarnate`, by `UnusualError`. To import it takes no time: of this package it needs `text` alone.
"""

from __future__ import annotations

import sys
from _operator import itemgetter  # a part of the interpreter; to import `operator` takes time

from osprofile.text import format_clock, quote_shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from osprofile.incarnation.cases import ActiveCases
    from osprofile.incarnation.plain_plan import PlainPlan
    from osprofile.incarnation.plan import Plan

    Values = dict[str, str]
    Text = tuple[list[str], Callable[[Mapping[str, str]], tuple[str, ...]] | None, tuple[str, ...]]
    """Literals, what returns the values of the slots between them, and the keys of these."""
    Step = tuple[int, str, Any, Any]
    """The kind, the key of the value that it computes, and two arguments."""

LINE_END = "\n"
USPACE_ROOT = "USPACE_ROOT"
"""The field with the profile's UspaceRoot, below which working directories are created."""
USER_HOME = "USER_HOME"
"""The field with the user's home on the target system, for which `~` stands at the start of UspaceRoot."""
HOME_MARK = "~"
END_WORD_PREFIX = "END_OF_JOB_"
MAX_ARGUMENT_SIZE = 128 * 1024 - 1
"""Bytes of one argument, or of one variable with its name (MAX_ARG_STRLEN of Linux, without the NUL)."""
ALWAYS_SHORT_ENOUGH = MAX_ARGUMENT_SIZE // 8
"""Characters of a value that always fits: 8 bytes for each are enough for UTF-8 and quoting."""

# The kinds of steps; the most frequent ones come first in `compute_steps`.
INSERT = 0
"""(key, texts): the value between each two of the texts; nothing without a value."""
LINE = 1
"""(key, other keys): the last value of a line, with the line end unless all of them are empty."""
QUOTE = 2
"""(key, None): the value as one word of a shell; nothing without a value."""
TIME = 3
"""((key, form), function): whole seconds in that of DERIVED_FORMATS; the function's result for any other value."""
COMPUTE = 4
"""((key, length, other keys), function): the function's result for all values; a value shorter than that remains as it is."""
REPLACE = 5
"""(key, (old, new)): the value with a text replaced."""
JOIN = 6
"""(texts, None): the texts, joined with line ends."""
CONSTANT = 7
"""(value, None): always the same."""
END_WORD = 8
"""(key, None): a word that no line of the value equals."""
PROGRAM = 9
"""((key, key of a path or "", path), function): the value; without one, what the function finds in the name of the path's file."""

NO_PROGRAM = "gpe_job"
_MAX_PROGRAM_NAME = 63
_PROGRAM_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+-")


class UnusualError(Exception):
    """The request cannot be evaluated: its arguments are a field that needs another one, and that; or USPACE_ROOT.

    A kept plan raises it without arguments for what it leaves to the whole engine.
    """


def evaluate(
    plan: Plan | PlainPlan,
    request: Mapping[str, str],
    context: Mapping[str, str],
    joined: str | None,
    cases: ActiveCases | None = None,
) -> tuple[Values, Text]:
    """Return the checked values by key, and the text to fill; `joined` is that of `join_simple_values`.

    Raises `KeyError` with the name of a required field that has no value, `UnusualError`, and what the rules of the plan raise.
    """
    values = {**plan.defaults, **context, **request, **plan.fixed}
    if USPACE_ROOT in plan.fixed:
        root = join_home(values[USPACE_ROOT], context.get(USER_HOME, ""))
        if root is None:
            raise UnusualError(USPACE_ROOT)
        values[USPACE_ROOT] = root
    if cases is not None:
        cases.apply(values)
    _apply_rules(plan, values, request, context)
    if cases is not None:
        cases.check(values)
    if plan.unquoted_text is not None and joined is not None and plan.quoted_character not in joined:
        return values, plan.unquoted_text.text
    compute_steps(plan.steps, values)
    return values, plan.text.text


def _apply_rules(
    plan: Plan | PlainPlan, values: Values, request: Mapping[str, str], context: Mapping[str, str]
) -> None:
    """Put the values of tags in the place of their names, and check values and links between fields."""
    for name in plan.required:
        if not values[name]:
            raise KeyError(name)
    for name, cache, rule in plan.checked_fields:
        if values[name] not in cache:
            rule.resolve_value(values[name])
    for name, cache, rule in plan.tagged_fields:
        value = cache.get(values[name])
        values[name] = rule.resolve_value(values[name]) if value is None else value
    if plan.conditions or plan.requirements:
        _apply_links(plan, values, request, context)


def _apply_links(
    plan: Plan | PlainPlan, values: Values, request: Mapping[str, str], context: Mapping[str, str]
) -> None:
    """Empty the fields whose condition has no value (`ext:when`), and check `ext:requires`."""
    for name, condition in plan.conditions:
        if not values[condition]:
            values[name] = ""
    for name, other in plan.requirements:
        if values[name] and not values[other] and (name in request or name in context):
            raise UnusualError(name, other)


def compute_steps(steps: Sequence[Step], values: Values) -> None:
    """Add the values that the steps compute, in their order."""
    for kind, key, first, second in steps:
        if kind == INSERT:
            value = values[first]
            values[key] = value.join(second) if value else ""
        elif kind == REPLACE:
            value = values[first]
            old, new = second
            values[key] = value.replace(old, new) if old in value else value
        elif kind == LINE:
            value = values[first]
            # A list is faster than a generator.
            is_shown = value or (second and any([values[other] for other in second]))  # noqa: C419
            values[key] = value + LINE_END if is_shown else ""
        elif kind == QUOTE:
            value = values[first]
            values[key] = quote_shell_word(value) if value else ""
        elif kind == TIME:
            value = values[first[0]]
            is_whole = value and is_integer(value) and len(value) <= MAX_SECONDS_LENGTH
            values[key] = DERIVED_FORMATS[first[1]](int(value)) if is_whole else value and second(values)
        elif kind == COMPUTE:
            value = values[first[0]]
            values[key] = value if len(value) < first[1] else second(values)
        elif kind == JOIN:
            values[key] = LINE_END.join([fill_text(text, values).removesuffix(LINE_END) for text in first])
        elif kind == CONSTANT:
            values[key] = first
        else:
            is_end = kind == END_WORD
            values[key] = choose_end_word(values[first]) if is_end else _name_job(values, first, second)


def _name_job(values: Values, source: tuple[str, str, str], find: Callable[[str], str]) -> str:
    """Return the name of a job, or what can be one of its program's."""
    base, path, program = source
    return values[base] or find(name_program(values[path] if path else program)) or NO_PROGRAM


def list_inputs(step: Step) -> Sequence[str]:
    """Return the keys of the values that a step reads."""
    kind, _, first, second = step
    if kind == LINE:
        return (first, *second)
    if kind == TIME:
        return (first[0],)
    if kind == COMPUTE:
        return (first[0], *first[2])
    if kind == JOIN:
        return [key for _, _, keys in first for key in keys]
    if kind == PROGRAM:
        return tuple(filter(None, first[:2]))
    return () if kind == CONSTANT else (first,)


def fold_text(text: Text, values: Mapping[str, str], varying: Collection[str]) -> Text:
    """Return the text with slots for the varying keys alone: the other values become parts of the literals."""
    literals, _, keys = text
    folded, slots = [literals[0]], list[str]()
    for key, literal in zip(keys, literals[2::2], strict=True):
        if key in varying:
            slots.append(key)
            folded += ["", literal]
        else:
            folded[-1] += values[key] + literal
    return make_text(folded, slots)


def make_text(literals: Sequence[str], keys: Sequence[str]) -> Text:
    """Return a text of literals with slots between them, for the values of the keys."""
    # With a single key, itemgetter would return a value instead of a tuple.
    return list(literals), itemgetter(*keys) if len(keys) > 1 else None, tuple(keys)


def fill_text(text: Text, values: Mapping[str, str]) -> str:
    """Return the text with its slots filled; raise `KeyError` for a key that has no value.

    One slice assignment, since this takes most of the time of an incarnation.
    """
    literals, getter, keys = text
    parts = literals.copy()
    if getter is not None:
        parts[1::2] = getter(values)
    elif keys:
        parts[1] = values[keys[0]]
    return "".join(parts)


def join_simple_values(request: Mapping[str, str], context: Mapping[str, str]) -> str | None:
    """Return all values in one string if it is short ASCII text, else None.

    Any script can contain such text, so that the values need no check of their own.
    """
    try:
        joined = "".join([*request.values(), *context.values()] if context else request.values())
    except TypeError:  # not all are strings
        return None
    is_short = len(joined) <= ALWAYS_SHORT_ENOUGH
    return joined if is_short and joined.isascii() and "\0" not in joined else None


def is_integer(value: str) -> bool:
    """Return whether a value is an integer: ASCII digits without a leading zero."""
    return value.isascii() and value.isdigit() and (value[0] != "0" or value == "0")


def is_integer_between(value: str, minimum: float, maximum: float) -> bool:
    """Return whether a value is an integer above 0, of less than 19 digits, between two limits."""
    return value[0] != "0" and len(value) < 19 and is_integer(value) and minimum <= int(value) <= maximum


def name_program(path: str) -> str:
    """Return the last part of a program's path as the name of a job, without what names seldom have."""
    name = path[:9999].rstrip("/").rpartition("/")[2]
    if not _PROGRAM_CHARACTERS.issuperset(name):
        name = "".join([c if c in _PROGRAM_CHARACTERS else "_" for c in name])
    return name.lstrip("-.")[:_MAX_PROGRAM_NAME]


def format_minutes(seconds: int) -> str:
    """Return a duration in minutes, rounded up."""
    return str(-(-seconds // 60))


DERIVED_FORMATS: dict[str, Callable[[int], str]] = {"HMS": format_clock, "MINUTES": format_minutes}
"""The derived fields `<X:HMS>` and `<X:MINUTES>` of an integer field X in seconds."""
MAX_SECONDS_LENGTH = 19


def join_home(root: str, home: str) -> str | None:
    """Return a UspaceRoot with a user's home for the `~` at its start; any other as it is.

    None for a home in which no jobs can work.
    """
    if not root.startswith(HOME_MARK):
        return root
    parts = [part for part in home.split("/") if part]
    if not home.startswith("/") or not parts:
        return None
    return "".join([f"/{part}" for part in parts]) + root.removeprefix(HOME_MARK)


def choose_end_word(text: str) -> str:
    """Return a word that no line of a text equals: the delimiter of a here-document that has the text.

    It is made from the text's digest, so that the same text always gets the same word.
    """
    word, digest = "", text
    while not word or _has_line(text, word):
        digest = compute_digest(digest.encode())
        word = f"{END_WORD_PREFIX}{digest[:12]}"
    return word


def compute_digest(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in hex."""
    # To import hashlib takes a quarter of the time that the interpreter takes to start.
    name = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
    try:
        module = __import__(name)
    except ImportError:
        module = __import__("hashlib")
    digest: str = module.sha256(data).hexdigest()
    return digest


def add_check(text: str, path: str, profile_name: str) -> str:
    """Return a script with a line that says what to do where its static scripts are not deployed; as it is without a path.

    `path` is the first of those that it runs, as those of a profile are deployed together. It does not exit: the script
    may be pasted into a shell, and fails by itself.
    """
    if not path:
        return text
    comment, line_end, rest = text.partition("\n") if text.startswith("# ") else ("", "", text)
    check = f"[ -s {path} ] || echo 'install: incarnate render --deploy -p {profile_name} --run' >&2\n"
    return f"{comment}{line_end}{check}{rest}"


def _has_line(text: str, word: str) -> bool:
    """Return whether a line of a text is this word, after any tabs: the shell's `<<-` removes them."""
    return word in text and any(line.lstrip("\t") == word for line in text.split("\n"))
