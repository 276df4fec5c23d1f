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
    repository = common.open_repository(profiles)
    found = [_encode_profile(repository, name) for name in repository.list_names()]
    if json:
        common.print_json(found)
        return 0
    width = max((len(p["name"]) for p in found), default=0)
    chains = [_format_chain(p) for p in found]
    chain_width = max(map(len, chains), default=0)
    lines = [
        f"{p['name']:{width}}  {chain:{chain_width}}  {p['file']}"
        for p, chain in zip(found, chains, strict=True)
    ]
    common.print_result("\n".join(lines))
    return 0


def _encode_profile(repository: "Repository", name: str) -> dict[str, Any]:
    told: dict[str, Any] = {"name": name, "file": str(repository.find_file(name))}
    try:
        told["chain"] = [d.name for d in repository.load(name).documents]
    except OSProfileError as error:  # one bad profile hides no other
        told["error"] = str(error).partition("\n")[0]
    return told


def _format_chain(entry: dict[str, Any]) -> str:
    if "error" in entry:
        return "(bad: incarnate lint says why)"
    return " -> ".join(["", *entry["chain"][1:]]).strip() if entry["chain"][1:] else "-"
