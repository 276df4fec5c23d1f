"""Who is a user of a facility for many users: by the settings, and by the system of this machine, which may change at any time."""

from __future__ import annotations

import grp
import logging
import os
import pwd
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from osprofile.executors.facility.settings import Settings

log: Final = logging.getLogger("osprofile.facility")
USER_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}\Z")
_FIRST_UID: Final = 1000
"""The first number of a person's account: what is below is the system's."""
_CLOSED_SHELLS: Final = frozenset({"nologin", "false"})


def is_reserved(account: pwd.struct_passwd) -> bool:
    """Return whether an account is root's, or that of this process: nothing runs as these."""
    return account.pw_uid in {0, os.geteuid()}


def is_user(settings: Settings, name: str) -> bool:
    """Return whether the system of this machine lets a user in; who is not known here may be on the resources' hosts."""
    if not USER_NAME.match(name):
        return False
    try:
        account = pwd.getpwnam(name)
    except KeyError:
        is_remote = all(resource.host for resource in settings.resources.values())
        return not settings.users_group and (is_remote or bool(settings.users))
    is_listed = bool(settings.users or settings.users_group)
    is_person = account.pw_uid >= _FIRST_UID and os.path.basename(account.pw_shell) not in _CLOSED_SHELLS
    if is_reserved(account) or not (is_listed or is_person):
        log.warning("the user %s is refused: root, the daemon, a system's account or without a shell", name)
        return False
    try:
        group = settings.users_group and grp.getgrnam(settings.users_group).gr_gid
    except KeyError:
        log.warning("users_group: there is no group %s", settings.users_group)
        return False
    return group == "" or group in os.getgrouplist(name, account.pw_gid)
