"""`incarnate profiles`: which profiles there are."""

from typing import TYPE_CHECKING, Any

from osprofile.cli import common
from osprofile.cli.options import JsonOption, ProfilesOption
from osprofile.errors import OSProfileError

if TYPE_CHECKING:
    from osprofile.profile.repository import Repository


def profiles(
    *,
    profiles: ProfilesOption = [],
    json: JsonOption = False,
) -> int:
    """List the profiles of the search path: name, what it extends, file.

    Two profiles of one name: the first on the path counts, and it may extend the other.

    Examples:
      incarnate profiles
      incarnate profiles --profiles ./site --json
    """
    repository = common.repository(profiles)
    found = [_told(repository, name) for name in repository.names()]
    if json:
        common.put_json(found)
        return 0
    width = max((len(p["name"]) for p in found), default=0)
    chains = [_chain(p) for p in found]
    chain_width = max(map(len, chains), default=0)
    lines = [
        f"{p['name']:{width}}  {chain:{chain_width}}  {p['file']}"
        for p, chain in zip(found, chains, strict=True)
    ]
    common.put("\n".join(lines))
    return 0


def _told(repository: "Repository", name: str) -> dict[str, Any]:
    told: dict[str, Any] = {"name": name, "file": str(repository.path(name))}
    try:
        told["chain"] = [d.name for d in repository.load(name).documents]
    except OSProfileError as error:  # one bad profile hides no other
        told["error"] = str(error).partition("\n")[0]
    return told


def _chain(told: dict[str, Any]) -> str:
    if "error" in told:
        return "(bad: incarnate lint says why)"
    return " -> ".join(["", *told["chain"][1:]]).strip() if told["chain"][1:] else "-"
