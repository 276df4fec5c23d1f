"""The names of target systems in the record: PROFILE[:CLUSTER][@HOST[:PORT]]."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.profile.model import Profile

CLUSTER_FIELD: Final = "CLUSTER"
"""The field of the context that selects one of several clusters of a batch system."""
_HOST_AND_PORT: Final = re.compile(r"(?:\[(.*)\]|([^:\[\]]*))(?::([^:]+))?")


def format_target_name(profile: Profile, context: Mapping[str, str]) -> str:
    """Return a target system's name: the profile's, with the cluster, host and port of the context, or its own."""
    from urllib.parse import quote

    from osprofile.incarnation.context import add_target_fields

    context = add_target_fields(profile, context)
    host, port = context.get("SSH:HOST"), context.get("SSH:PORT")
    cluster = context.get(CLUSTER_FIELD)
    name = f"{profile.name}:{quote(cluster, safe='')}" if cluster else profile.name
    if not host:
        return name
    host = f"[{host}]" if ":" in host else host  # an IPv6 address
    return f"{name}@{host}:{port}" if port else f"{name}@{host}"


def format_link_directory(profile: Profile, context: Mapping[str, str]) -> str:
    """Return the name of the directory in ~/.gpe/jobs with the links to jobs: PROFILE or PROFILE@CLUSTER.

    Two clusters may give the same id to two jobs.
    """
    field = profile.global_fields.get(CLUSTER_FIELD)
    cluster = field and (field.value or context.get(CLUSTER_FIELD) or field.default)
    return f"{profile.name}@{cluster}" if cluster else profile.name


def parse_target_name(name: str) -> tuple[str, dict[str, str]]:
    """Return the profile's name and the context from a name that `format_target_name` returned."""
    name, _, address = name.partition("@")
    profile, _, cluster = name.partition(":")
    context = {}
    if cluster:
        from urllib.parse import unquote  # late: it is slow to import

        context[CLUSTER_FIELD] = unquote(cluster)
    return profile, {**context, **(parse_host_context(address) if address else {})}


def parse_host_context(address: str) -> dict[str, str]:
    """Return SSH:HOST and SSH:PORT for `[user@]host[:port]`; an IPv6 address is in brackets."""
    match = _HOST_AND_PORT.fullmatch(address)
    host, port = (match[1] or match[2], match[3]) if match else (address, None)
    return {"SSH:HOST": host, **({"SSH:PORT": port} if port else {})}
