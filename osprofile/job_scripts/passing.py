"""What goes through to the batch system as the user wrote it, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.incarnation.plan import find_directive_template
from osprofile.job_scripts.command_line import OptionValue, UsageError
from osprofile.job_scripts.script_request import find_field
from osprofile.jobs.request import find_evaded_field, is_passed_option, quote_passed_value
from osprofile.profile.model import PASSED
from osprofile.text import escape_unprintable, quote_name, quote_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.job_scripts.script_request import ScriptRequest
    from osprofile.profile.model import Profile


def select_passed_options(
    profile: Profile, request: ScriptRequest, hint: str, *, passes: bool = True
) -> list[str]:
    """Return the options that the profile lets jobs give as they are; raise `UsageError` for others without a field.

    What is passed is neither an attribute of the job nor dropped. Without `passes`, the options are those of another batch
    system than the profile's. `hint` says how to do without an option.
    """
    passed: dict[str, OptionValue] = {}

    def take(option: OptionValue) -> bool:
        text = format_option(option)
        if is_passed := passes and is_passed_option(profile, text):
            passed[text] = option
        return is_passed

    for exact in request.exact:
        if take(exact.option):
            request.attributes |= dict.fromkeys(exact.attributes)
        elif exact.refusal is not None:
            if passes and (evaded := find_evaded_field(profile, format_option(exact.option))):
                exact.refusal.message += f", and profile {profile.name} limits {evaded}"
            raise exact.refusal
        elif exact.remark:
            request.remarks.append(exact.remark)
    request.dropped = [option for option in request.dropped if not take(option)]
    _refuse_options(profile, [option for option in request.others if not take(option)], hint, passes=passes)
    if passed:
        request.sources[PASSED] = OptionValue(", ".join(map(str, passed.values())))
    return list(passed)


def _refuse_options(profile: Profile, refused: Sequence[OptionValue], hint: str, *, passes: bool) -> None:
    """Raise `UsageError` for options that have no field and are not passed."""
    for option in refused:
        if option.option is not None and not option.option.name and option.option.help:
            raise UsageError(f"{option}: {option.option.help}", hint=hint)
        if passes and is_passed_option(profile, format_option(option._replace(text=""))):
            message = f"{option}: {quote_value(option.text)} cannot be passed to the batch system"
            raise UsageError(message, hint=f"a value without quotes can; {hint}")
        if passes and (evaded := find_evaded_field(profile, format_option(option))):
            message = f"{option}: profile {profile.name} limits {evaded}, which this option could exceed"
            raise UsageError(message, hint=f"give {_find_form(profile, evaded)}; {hint}")
    if not refused:
        return
    if not passes:
        option = refused[0]
        is_flag = option.option is not None and option.flag in option.option.flags and not option.option.name
        what = quote_name(option.flag if is_flag else f"{option.flag} {option.text}")
        message = f"{option.where}option {what} is not supported: this command stands in for the real one"
        raise UsageError(message, hint=hint)
    names = escape_unprintable(", ".join(f"{option} {option.text}".rstrip() for option in refused))
    message = (
        f"{names}: profile {profile.name} has no field for this, and does not pass it to the batch system"
    )
    hint = f"{hint}; a site lists options that are passed in the field PASSED_OPTIONS"
    raise UsageError(message, hint=hint)


def _find_form(profile: Profile, field: str) -> str:
    """Return the option of the profile's batch system for a field, whose limits can be checked."""
    from osprofile.job_scripts.reader import (
        FAMILIES,  # late: only a refusal needs the tables of all batch systems
    )

    template = find_directive_template(profile)
    family = FAMILIES.get(template.directive_prefix) if template is not None else None
    rows = [row for row in (family.table if family else ()) if find_field(row.name) == field]
    row = min(rows, key=lambda row: "." in row.name, default=None)
    return f"{field} by its own option" if row is None else max(row.flags, key=len)


def format_option(option: OptionValue) -> str:
    """Return an option as the batch system reads it, with its longest flag; a value with blanks or the like is in quotes."""
    flags = [flag for flag in (option.option.flags if option.option else ()) if flag.startswith("--")]
    # a flag that is not in the table has none of these; one of sbatch's variables has
    flag = max(flags, key=len) if flags else option.flag
    separator = "=" if flag.startswith("--") else " "
    return f"{flag}{separator}{quote_passed_value(option.text)}" if option.text else flag
