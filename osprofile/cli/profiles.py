"""`incarnate show --list`: the profiles of the search path."""

from typing import TYPE_CHECKING, Any

from osprofile.cli import common
from osprofile.errors import OSProfileError

if TYPE_CHECKING:
    from osprofile.profile.repository import Repository


def print_profiles(repository: "Repository", *, json: bool) -> None:
    """Print the name, the parents and the file of each profile."""
    entries = [_encode_profile(repository, name) for name in repository.list_names()]
    if json:
        common.print_json(entries)
        return
    width = max((len(e["name"]) for e in entries), default=0)
    chains = [_format_chain(e) for e in entries]
    chain_width = max(map(len, chains), default=0)
    lines = [
        f"{e['name']:{width}}  {chain:{chain_width}}  {e['file']}"
        for e, chain in zip(entries, chains, strict=True)
    ]
    common.print_result("\n".join(lines))


def _encode_profile(repository: "Repository", name: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "file": str(repository.find_file(name))}
    try:
        entry["chain"] = [d.name for d in repository.load(name).documents]
    except OSProfileError as error:  # the other profiles are listed all the same
        entry["error"] = str(error).partition("\n")[0]
    return entry


def _format_chain(entry: dict[str, Any]) -> str:
    if "error" in entry:
        return "(invalid: incarnate lint says why)"
    return " -> ".join(["", *entry["chain"][1:]]).strip() if entry["chain"][1:] else "-"
