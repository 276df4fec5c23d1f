"""The names of target systems in the record: PROFILE, or PROFILE@HOST:PORT for another host."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.profile.model import Profile

_HOST_AND_PORT: Final = re.compile(r"(?:\[(.*)\]|([^:\[\]]*))(?::([^:]+))?")


def format_target_name(profile: Profile, context: Mapping[str, str]) -> str:
    """Return a target system's name: the profile's name, with `@host:port` if the context has them."""
    host, port = context.get("SSH:HOST"), context.get("SSH:PORT")
    if not host:
        return profile.name
    host = f"[{host}]" if ":" in host else host  # an IPv6 address
    return f"{profile.name}@{host}:{port}" if port else f"{profile.name}@{host}"


def parse_target_name(name: str) -> tuple[str, dict[str, str]]:
    """Return the profile's name and the context from a name that `format_target_name` returned."""
    profile, _, address = name.partition("@")
    return profile, parse_host_context(address) if address else {}


def parse_host_context(address: str) -> dict[str, str]:
    """Return SSH:HOST and SSH:PORT for `[user@]host[:port]`; an IPv6 address is in brackets."""
    match = _HOST_AND_PORT.fullmatch(address)
    host, port = (match[1] or match[2], match[3]) if match else (address, None)
    return {"SSH:HOST": host, **({"SSH:PORT": port} if port else {})}
