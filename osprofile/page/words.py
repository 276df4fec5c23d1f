"""Limits, defaults and options in words: `at most 24 hours` for a Max of 86400."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from osprofile.incarnation.evaluate import is_integer
from osprofile.text import DURATION_FIELDS, format_duration_words, format_memory

if TYPE_CHECKING:
    from osprofile.page.model import Case, Setting

_UNLIMITED: Final = re.compile("9{4,}")
"""A Max that only says how many digits a number may have: no limit of the site."""
_ANY_NUMBER: Final = frozenset({"[1-9][0-9]*", "[0-9]+", "[0-9]*", r"\d+", r"[1-9]\d*", "0|[1-9][0-9]*"})
"""Patterns that only say what a number looks like."""
_COUNT_NOUNS: Final = {
    "NODES": ("node", "nodes"),
    "PROCESSES": ("process", "processes"),
    "CPUS": ("CPU", "CPUs"),
    "GPUS": ("GPU", "GPUs"),
}
_EACH: Final = {"CPUS": "for each process", "GPUS": "on each node"}

QUANTITIES: Final = {
    "WALLTIME": "run time",
    "CPUTIME": "processor time",
    "NODES": "nodes",
    "PROCESSES": "processes",
    "CPUS": "CPUs for each process",
    "MEMORY": "memory on each node",
    "GPUS": "GPUs on each node",
}
"""What a job may use, by the fields that ask for it."""


def describe_limits(setting: Setting) -> str:
    """Return the limits of a field in words: `1 to 64 nodes`, `at most 24 hours`; empty without any."""
    low, high = setting.minimum, setting.maximum
    if is_unlimited(high):
        high = ""
    is_trivial = low in {"0", "1"} and (not high or setting.name not in _COUNT_NOUNS)
    if is_trivial and setting.name in QUANTITIES:
        low = ""
    if low and high:
        if low == high:
            return f"exactly {describe_value(setting, high)}"
        if setting.name in _COUNT_NOUNS or setting.name not in QUANTITIES:  # the unit only once
            return f"{_group_digits(low)} to {describe_value(setting, high)}"
        return f"{describe_value(setting, low)} to {describe_value(setting, high)}"
    if high:
        return f"at most {describe_value(setting, high)}"
    return f"at least {describe_value(setting, low)}" if low else ""


def describe_case(setting: Setting, case: Case) -> str:
    """Return what a case of a field says: `at most 2 nodes`, `no GPUs`, `the default is 10 minutes`."""
    noun = _COUNT_NOUNS.get(setting.name)
    limits = describe_limits(setting._replace(minimum=case.minimum, maximum=case.maximum))
    if case.maximum == "0":
        limits = f"no {noun[1]}" if noun else f"no {_name_option(setting)}"
    elif limits and setting.name in _EACH:
        limits = f"{limits} {_EACH[setting.name]}"
    elif limits and noun is None and setting.name in QUANTITIES:
        limits = f"{QUANTITIES[setting.name]} {limits}"
    elif limits and noun is None:
        limits = f"{_name_option(setting)} {limits}"
    words = [limits] if limits else []
    if case.pattern is not None and case.pattern not in _ANY_NUMBER:
        words.append(f"{_name_option(setting)} {' or '.join(case.pattern.split('|'))}")
    if case.default:
        value = describe_value(setting, case.default)
        words.append(f"{value if limits else f'{_name_option(setting)} {value}'} if not given")
    return ", ".join(words)


def _name_option(setting: Setting) -> str:
    return setting.option.split()[0] if setting.option.startswith("-") else setting.name


def has_own_pattern(setting: Setting) -> bool:
    """Return whether a field has a pattern that may refuse numbers, such as `3600|7200`: a limit without words."""
    return setting.pattern is not None and setting.pattern not in _ANY_NUMBER


def is_unlimited(maximum: str) -> bool:
    """Return whether a Max only says how many digits a number may have, as 999999999 does."""
    return bool(_UNLIMITED.fullmatch(maximum))


def describe_value(setting: Setting, value: str) -> str:
    """Return a value of a field with its unit: `24 hours` for 86400 seconds; other values unchanged."""
    if not is_integer(value) or not setting.type:
        return value
    if setting.name in DURATION_FIELDS:
        return format_duration_words(int(value))
    if setting.name == "MEMORY":
        return format_memory(int(value))
    if setting.name in _COUNT_NOUNS:
        return f"{_group_digits(value)} {_COUNT_NOUNS[setting.name][value != '1']}"
    return _group_digits(value)


def describe_amount(setting: Setting, value: str) -> str:
    """Return what a job asks for with a value: `4 CPUs`, `4 GiB of memory`, `a run time of at most 1 hour`."""
    words = describe_value(setting, value)
    if setting.name in DURATION_FIELDS:
        return f"a {QUANTITIES[setting.name]} of at most {words}"
    return f"{words} of memory" if setting.name == "MEMORY" else words


def _group_digits(number: str) -> str:
    return f"{int(number):,}" if is_integer(number) else number
