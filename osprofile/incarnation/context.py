"""The special fields of a job on this machine: its user and a new directory (OS Profile 0.3, 2.3.1)."""

from __future__ import annotations

import os

from osprofile.incarnation.evaluate import HOME_MARK, USER_HOME, join_home

TYPE_CHECKING = (
    False  # whatever starts fast imports this module, which imports the others where it needs them
)
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final, TypeAlias

    from osprofile.incarnation.plain_plan import PlainPlan
    from osprofile.profile.model import Profile

    AnyProfile: TypeAlias = Profile | PlainPlan

TARGET_FIELDS: Final = ("SSH:HOST", "SSH:PORT", "CLUSTER")
"""The fields of the context that select a target system."""
_GENERATED_NAME: Final = "[0-9]{8}-[0-9]{6}-[0-9a-f]{16}"


def get_user_name() -> str:
    """Return the login name of the user that this process runs as; without one, the uid."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a uid without an entry, as in a container
        return str(os.geteuid())


def generate_unique_name() -> str:
    """Return a name that no other job has: time to the second (UTC), then 64 random bits."""
    import time

    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + os.urandom(8).hex()


def is_generated_name(name: str) -> bool:
    """Return whether a name begins as those of `generate_unique_name`: no person chose it."""
    import re

    return re.match(_GENERATED_NAME, name) is not None


def working_directory(profile: AnyProfile, user: str, name: str, home: str = "") -> str:
    """Return the path of a job's working directory: UspaceRoot, user, name (OS Profile 0.3, 1).

    `home` is the user's, for a UspaceRoot that begins with `~`. Raises `MissingValueError` without it, and
    `ValueRefusedError` for one in which no jobs can work.
    """
    root = join_home(profile.uspace_root, home)
    if root is None or not (root.isascii() and root.isprintable()):
        from osprofile.incarnation.field_rules import expand_home

        root = expand_home(profile.uspace_root, home)
    separator = "" if root.endswith(profile.delimiter) else profile.delimiter
    return f"{root}{separator}{user}{profile.delimiter}{name}"


def add_target_fields(profile: AnyProfile, context: Mapping[str, str]) -> dict[str, str]:
    """Return a context with SSH:HOST, SSH:PORT and CLUSTER of the profile: a fixed Value, or a Default where it has none."""
    completed = dict(context)
    for name in TARGET_FIELDS:
        field = profile.global_fields.get(name)
        value = field and (field.value or context.get(name) or field.default)
        if value:
            completed[name] = value
    return completed


def add_user_home(profile: AnyProfile, context: dict[str, str]) -> dict[str, str]:
    """Add USER_HOME of this machine to the context of a user, if the profile's jobs work below it; return it."""
    if needs_home(profile) and USER_HOME not in context and (home := _find_home(context["USER_NAME"])):
        context[USER_HOME] = home
    return context


def needs_home(profile: AnyProfile) -> bool:
    """Return whether jobs work below their user's home."""
    return profile.uspace_root.startswith(HOME_MARK)


def _find_home(user: str) -> str:
    """Return a user's home; the empty text for a user that this machine does not know."""
    import pwd

    if user == get_user_name() and os.path.isabs(home := os.environ.get("HOME", "")):
        return home
    try:
        return pwd.getpwnam(user).pw_dir
    except KeyError:
        return ""


def add_user_groups(profile: Profile, context: dict[str, str]) -> dict[str, str]:
    """Add USER_GROUPS of this machine to the context of a user here, if the profile has cases for them; return it."""
    if has_group_cases(profile) and not context.get("SSH:HOST"):
        from osprofile.profile.model import USER_GROUPS

        context.setdefault(USER_GROUPS, " ".join(_list_groups(context["USER_NAME"])))
    return context


def has_group_cases(profile: Profile) -> bool:
    """Return whether the user's groups decide about anything in a profile."""
    if not profile.cases:
        return False
    from osprofile.profile.model import USER_GROUPS

    return any(USER_GROUPS in (case.name, case.selection and case.selection.field) for case in profile.cases)


def _list_groups(user: str) -> list[str]:
    """Return the names of a user's groups, with _ for a blank; none for a user that this machine does not know."""
    import grp
    import pwd
    from contextlib import suppress

    names = list[str]()
    with suppress(KeyError):
        is_own = user == get_user_name()  # this process may have groups that it was given otherwise
        own = [os.getegid(), *os.getgroups()]
        for group in dict.fromkeys(own if is_own else os.getgrouplist(user, pwd.getpwnam(user).pw_gid)):
            with suppress(KeyError):  # a group without a name
                names.append(grp.getgrgid(group).gr_name.replace(" ", "_"))
    return names


def new_context(profile: Profile) -> dict[str, str]:
    """Return USER_NAME and a new WORKING_DIRECTORY for one job of this process's user; USER_HOME if the profile needs it."""
    context = add_user_home(profile, {"USER_NAME": get_user_name()})
    return add_directory(profile, context, generate_unique_name())


def add_directory(profile: AnyProfile, context: dict[str, str], name: str) -> dict[str, str]:
    """Add WORKING_DIRECTORY, unless it is there, to a context that has the user; return it."""
    if "WORKING_DIRECTORY" not in context:
        home = context.get(USER_HOME, "")
        context["WORKING_DIRECTORY"] = working_directory(profile, context["USER_NAME"], name, home)
    return context
