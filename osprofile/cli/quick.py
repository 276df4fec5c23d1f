"""Command lines that take the time of a shell script: `incarnate START ...` by a kept plan, and `incarnate --help`.

Everything unusual is left to `command_line`, which prints the same text for what is done here.
"""

from __future__ import annotations

import os
from os import path as paths

from osprofile.cli.streams import print_result
from osprofile.incarnation import context, kept_plans

TYPE_CHECKING = False  # to import this module takes no time
if TYPE_CHECKING:
    from collections.abc import Sequence

HELP_FILE = paths.join(paths.dirname(__file__), "help.txt")
"""What `incarnate --help` prints where a line has 80 characters."""
_OPTIONS = {
    "--profile": "profile", "-p": "profile", "--profiles": "profiles", "--set": "set", "-s": "set",
    "--context": "context", "--variation": "variation", "-v": "variation",
}  # fmt: skip


def run(words: Sequence[str]) -> int | None:
    """Run a usual command line and return the exit code; None for one that `command_line` has to run."""
    if "_INCARNATE_COMPLETE" in os.environ:
        return None
    try:
        text = _read_help() if list(words) in ([], ["--help"], ["-h"]) else _render(words)
    except Exception:  # noqa: BLE001  # whatever it is, the whole engine explains it
        text = None
    if text is None:
        return None
    try:
        print_result(text)
    except Exception as error:  # noqa: BLE001  # as `run_verb` does
        from osprofile.cli.common import print_failure

        return print_failure(error)
    except KeyboardInterrupt:
        return 130
    return 0


def _read_help() -> str | None:
    try:
        is_narrow = os.get_terminal_size(1).columns < 80
    except OSError:
        is_narrow = False
    if is_narrow or "COLUMNS" in os.environ:
        return None
    with open(HELP_FILE, encoding="utf-8") as file:
        return file.read()


def _render(words: Sequence[str]) -> str | None:
    """Return the script of a template by a kept plan; None for a command line that has other options, or none is kept."""
    given: dict[str, list[str]] = {name: [] for name in (*_OPTIONS.values(), "template")}
    rest = iter(words[1:] if words[0] == "render" else words)
    for word in rest:
        if not word.startswith("-"):
            given["template"].append(word)
            continue
        flag, equals, value = word.partition("=")
        if flag not in _OPTIONS or (equals and not flag.startswith("--")):
            return None
        given[_OPTIONS[flag]].append(value if equals else next(rest))
    (template,) = given["template"]
    if not template[0].isupper():  # else it may be a verb
        return None
    profile = (given["profile"] or [""])[-1] or os.environ.get("OSPROFILE_PROFILE", "")
    plan = kept_plans.find_plan(profile, given["profiles"], template, (given["variation"] or [""])[-1])
    if plan is None:
        return None
    request, assigned = _parse_assignments(given["set"]), _parse_assignments(given["context"])
    user = {"USER_NAME": context.get_user_name(), **context.add_target_fields(plan, assigned)}
    name = context.generate_unique_name()
    special = context.add_directory(plan, context.add_user_home(plan, user), name)
    return plan.fill(request, special)


def _parse_assignments(words: Sequence[str]) -> dict[str, str]:
    if not all(word.find("=") > 0 for word in words):
        raise ValueError
    return {word.partition("=")[0]: word.partition("=")[2] for word in words}
