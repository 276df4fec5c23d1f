"""Find profiles by name, and describe the fields that a request may set. For executors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import OSProfileError
from osprofile.incarnation.evaluate import is_integer
from osprofile.incarnation.field_rules import format_range, is_number, is_numeric_field, is_within_limits
from osprofile.incarnation.plan import get_plan
from osprofile.profile.model import ENERGY_PRICE, SITE_CONFIRM
from osprofile.profile.repository import Repository
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Field, Profile

_CONFIRM_WORD: Final = re.compile(r"yes|no|([A-Za-z_][A-Za-z0-9_.-]*)>([0-9]{1,18})")
CONFIRM_WORDS: Final = "yes, no, or limits of fields, with blanks between them"
CONFIRM_EXAMPLE: Final = "NODES>100 WALLTIME>86400"
ENERGY_PRICE_FORM: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) (\S{1,10})")
"""A price for a kWh and its currency, as in `0.30 EUR`."""
_JOULES_PER_KWH: Final = 3.6e6


def load_profile(name: str, directories: Sequence[str] = ()) -> Profile:
    """Return the resolved profile of a name, which is never a path, as it may come from a client.

    `directories` are searched before the standard search path (see `Repository`). Raises
    `ProfileNotFoundError`, and `InvalidProfileError` with everything that is wrong.
    """
    return Repository(directories).load(name)


def load_profile_file(path: str, directories: Sequence[str] = ()) -> Profile:
    """Return the resolved profile of a file; its parents are searched as by `load_profile`."""
    return Repository(directories).load_file(path)


def list_profile_names(directories: Sequence[str] = ()) -> list[str]:
    """Return the names that `load_profile` finds."""
    return Repository(directories).list_names()


@final
class JobField(NamedTuple):
    """A field of START that a request may set.

    - `tags`: the names of its tags
    - `is_number`: whether it accepts only numbers, by its type or its limits
    - `minimum`, `maximum`: the limits (None: no limit); `range_text` shows them to a user
    - `has_valid_default`: whether its default is a number that it accepts
    - `is_switch`: whether it accepts `true` and nothing else, unless a tag does
    """

    name: str
    description: str
    default: str
    tags: tuple[str, ...]
    is_integer: bool
    is_number: bool
    minimum: float | None
    maximum: float | None
    range_text: str
    has_valid_default: bool
    is_switch: bool


@final
class JobFields(NamedTuple):
    """The fields of START that a request may set, by name.

    `starts_processes`: the application starts the job's program PROCESSES times.
    """

    fields: Mapping[str, JobField]
    starts_processes: bool


def describe_job_fields(profile: Profile, application: str | None = None) -> JobFields:
    """Return the settable fields of START with an application (default: the profile's own).

    Raises `NotFoundError`, `InvalidProfileError`.
    """
    plan = get_plan(profile, "START", "", application)
    declarations = sorted(plan.declarations.items())
    fields = {name: _describe_field(f) for name, f in declarations if name in plan.settable}
    return JobFields(fields, _starts_processes(profile, plan))


def list_settable_fields(profile: Profile) -> frozenset[str]:
    """Return the names of all fields of START that a request may set."""
    return get_plan(profile, "START", "", None).settable


def needs_confirmation(profile: Profile) -> bool:
    """Return whether a person must confirm what an agent submits or cancels, by SITE_CONFIRM; `no` is as without it."""
    return profile.get_value("START", SITE_CONFIRM) not in {"", "no"}


def read_confirmation_limits(profile: Profile) -> dict[str, int]:
    """Return above which amounts a person is asked before a job is submitted, by field: `NODES>100` in SITE_CONFIRM.

    Raises `OSProfileError` for a word that is neither such a limit nor `yes` or `no`.
    """
    text = profile.get_value("START", SITE_CONFIRM)
    limits = parse_confirmation(text or "no")
    if limits is None:
        message = f"SITE_CONFIRM of profile {profile.name} is {quote_value(text)}"
        raise OSProfileError(message, hint=f"it is {CONFIRM_WORDS}, as in {CONFIRM_EXAMPLE}")
    return limits


def parse_confirmation(text: str) -> dict[str, int] | None:
    """Return the limits that a value of SITE_CONFIRM lists, by field; None for what is not of its form."""
    words = [_CONFIRM_WORD.fullmatch(word) for word in text.split()]
    return {w[1]: int(w[2]) for w in words if w and w[1]} if words and all(words) else None


def tells_energy(profile: Profile) -> bool:
    """Return whether a site has measured energy: then it has a price, though it may be 0."""
    return bool(profile.get_value("START", ENERGY_PRICE))


def list_job_functions(profile: Profile) -> bytes:
    """Return the functions of a staged job (job.sh, job-staging.sh); nothing if START leaves them in each job's directory."""
    invocations = profile.get_template("START").invocations.values()
    if any(call.body is not None and "<BIN:submit.sh>" in call.body.text for call in invocations):
        return b""
    scripts = {
        script.file_name: script.body.text for _, script in load_profile("linux").list_static_scripts()
    }
    return f"{scripts['job.sh']}\n{scripts['job-staging.sh']}".encode()


def format_energy(profile: Profile, joules: float) -> str:
    """Return the energy of a job with its price: `1.25 kWh (0.38 EUR)`; without one that is 0."""
    hours = joules / _JOULES_PER_KWH
    text = f"{hours:.3g} kWh"
    price = ENERGY_PRICE_FORM.fullmatch(profile.get_value("START", ENERGY_PRICE))
    return f"{text} ({float(price[1]) * hours:.2f} {price[2]})" if price and float(price[1]) else text


def _starts_processes(profile: Profile, plan: Plan) -> bool:
    if plan.application is None:
        return False
    return "PROCESSES" in get_plan(profile, plan.application.template, "", None).uses


def _describe_field(field: Field) -> JobField:
    return JobField(
        name=field.name,
        description=field.description,
        default=field.default or "",
        tags=tuple(tag.name for tag in field.tags),
        is_integer=field.type == "integer",
        is_number=field.type == "integer" or is_numeric_field(field),
        minimum=field.minimum,
        maximum=field.maximum,
        range_text=format_range(field),
        has_valid_default=_has_valid_default(field),
        is_switch=field.pattern_text == "true",
    )


def _has_valid_default(field: Field) -> bool:
    default = field.default or ""
    is_valid_number = is_integer(default) if field.type == "integer" and default else is_number(default)
    return is_valid_number and is_within_limits(default, field.minimum, field.maximum)
