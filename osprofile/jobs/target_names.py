"""What the record calls a target system: its profile's name, and where that is another machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.profile.model import Profile

_HOST_AND_PORT: Final = re.compile(r"(?:\[(.*)\]|([^:\[\]]*))(?::([^:]+))?")


def format_target_name(profile: Profile, context: Mapping[str, str]) -> str:
    """Give what the record calls a target: the profile's name, and `@host:port` of another one."""
    host, port = context.get("SSH:HOST"), context.get("SSH:PORT")
    if not host:
        return profile.name
    host = f"[{host}]" if ":" in host else host  # an IPv6 address
    return f"{profile.name}@{host}:{port}" if port else f"{profile.name}@{host}"


def parse_target_name(name: str) -> tuple[str, dict[str, str]]:
    """Give the profile's name and the context of a name that `format_target_name` gave."""
    profile, _, place = name.partition("@")
    return profile, parse_host_context(place) if place else {}


def parse_host_context(address: str) -> dict[str, str]:
    """Give SSH:HOST and SSH:PORT for `[user@]host[:port]`; an IPv6 address stands in brackets."""
    found = _HOST_AND_PORT.fullmatch(address)
    host, port = (found[1] or found[2], found[3]) if found else (address, None)
    return {"SSH:HOST": host, **({"SSH:PORT": port} if port else {})}
