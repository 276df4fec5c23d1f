"""`sacctmgr` and `sshare`, which programs ask for the accounts of a user: none are known. Source: their manual pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile.job_scripts.command_line import Option, UsageError, parse_words
from osprofile.shim.command import Command
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.shim.client import Client

_SACCTMGR_TABLE: Final = (
    Option("associations", ("-s", "--associations")),
    Option("no_header", ("-n", "--noheader")),
    Option("parsable", ("-p", "--parsable")),
    Option("parsable2", ("-P", "--parsable2")),
    Option("quiet", ("-Q", "--quiet")),
    Option("immediate", ("-i", "--immediate")),
)
_SSHARE_TABLE: Final = (
    Option("accounts", ("-A", "--accounts"), "NAMES"),
    Option("all", ("-a", "--all")),
    Option("format", ("-o", "--format"), "FIELDS"),
    Option("long", ("-l", "--long")),
    Option("no_header", ("-h", "--noheader", "-n")),
    Option("parsable", ("-p", "--parsable")),
    Option("parsable2", ("-P", "--parsable2")),
    Option("users", ("-u", "--users"), "NAMES"),
    Option("own", ("-U", "--Users")),
)


def _run_sacctmgr(_client: Client, words: Sequence[str]) -> int:
    """Print no rows for `list` and `show`: nothing can be changed."""
    line = parse_words(_SACCTMGR_TABLE, words, ends_at_operand=False)
    command = line.operands[0] if line.operands else ""
    if not command or not any(name.startswith(command) for name in ("list", "show")):
        raise UsageError(f"the command {quote_name(command)} is not supported", hint="list and show are")
    return 0


def _run_sshare(_client: Client, words: Sequence[str]) -> int:
    parse_words(_SSHARE_TABLE, words, ends_at_operand=False)
    return 0


SACCTMGR: Final = Command(_SACCTMGR_TABLE, "list|show ENTITY", _run_sacctmgr)
SSHARE: Final = Command(_SSHARE_TABLE, "", _run_sshare)
