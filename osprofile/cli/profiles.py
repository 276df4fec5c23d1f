"""`incarnate show --list`: the profiles of the search path."""

from typing import TYPE_CHECKING, Any

from osprofile.cli import common
from osprofile.errors import OSProfileError

if TYPE_CHECKING:
    from osprofile.profile.repository import Repository


def print_profiles(repository: "Repository", *, json: bool) -> None:
    """Print the name, the parents and the file of each profile, and whether it is experimental."""
    entries = [_encode_profile(repository, name) for name in repository.list_names()]
    if json:
        common.print_json(entries)
        return
    width = max((len(e["name"]) for e in entries), default=0)
    chains = [_format_chain(e) for e in entries]
    chain_width = max(map(len, chains), default=0)
    lines = [
        f"{e['name']:{width}}  {chain:{chain_width}}  {e['file']}{_format_experimental(e)}"
        for e, chain in zip(entries, chains, strict=True)
    ]
    common.print_result("\n".join(lines))


def _encode_profile(repository: "Repository", name: str) -> dict[str, Any]:
    from osprofile.profile.model import EXPERIMENTAL

    entry: dict[str, Any] = {"name": name, "file": str(repository.find_file(name))}
    try:
        profile = repository.load(name)
        entry["chain"] = [d.name for d in profile.documents]
        if words := profile.get_value("START", EXPERIMENTAL):
            entry["experimental"] = words
    except OSProfileError as error:  # the other profiles are listed all the same
        entry["error"] = str(error).partition("\n")[0]
    return entry


def _format_experimental(entry: dict[str, Any]) -> str:
    return f"  (experimental, {entry['experimental']})" if "experimental" in entry else ""


def _format_chain(entry: dict[str, Any]) -> str:
    if "error" in entry:
        return "(invalid: incarnate lint says why)"
    return " -> ".join(["", *entry["chain"][1:]]).strip() if entry["chain"][1:] else "-"
