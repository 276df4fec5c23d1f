"""The options of batch systems, and ours that say the same.

They are found in the directives of a job's own script, which osprofile does not read, and in a command line.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, final

from osprofile.text import format_duration_option, parse_duration, quote_value


@final
class _System(NamedTuple):
    """A batch system: its name, the stand-in that reads its directives, and options with ours that say the same.

    `times` has the units of a time of one, two and three numbers: `ms` for minutes and seconds.
    """

    name: str
    stand_in: str
    options: dict[str, str]
    times: tuple[str, ...]


_SLURM: Final = {
    "--account": "--project", "-A": "--project", "--array": "--array", "-a": "--array",
    "--begin": "--start-time", "-b": "--start-time", "--mail-type": "--notify-events", "--mail-user": "--notify",
    "--priority": "--priority", "--requeue": "--requeue", "--reservation": "--reservation",
    "--chdir": "--directory", "-D": "--directory", "--constraint": "--constraint", "-C": "--constraint",
    "--cpus-per-task": "--cpus", "-c": "--cpus", "--dependency": "--after", "-d": "--after",
    "--error": "--stderr", "-e": "--stderr", "--exclusive": "--exclusive", "--gpus-per-node": "--gpus",
    "--gres": "--gpus", "--input": "--stdin", "-i": "--stdin", "--job-name": "--name", "-J": "--name",
    "--mem": "--memory", "--nodes": "--nodes", "-N": "--nodes", "--ntasks": "--processes",
    "-n": "--processes", "--output": "--stdout", "-o": "--stdout", "--partition": "--queue", "-p": "--queue",
    "--qos": "--qos", "-q": "--qos", "--time": "--walltime", "-t": "--walltime",
}  # fmt: skip
_PBS: Final = {
    "-A": "--project", "-P": "--project", "-J": "--array", "-t": "--array", "-N": "--name", "-q": "--queue",
    "-e": "--stderr", "-o": "--stdout", "-W depend": "--after", "-l cput": "--cputime", "-l mem": "--memory",
    "-M": "--notify", "-l ncpus": "--cpus", "-l nodes": "--nodes", "-l select": "--nodes", "-l walltime": "--walltime",
}  # fmt: skip
_LSF: Final = {
    "-J": "--name", "-P": "--project", "-W": "--walltime", "-cwd": "--directory", "-e": "--stderr",
    "-i": "--stdin", "-n": "--processes", "-o": "--stdout", "-q": "--queue", "-w": "--after",
}  # fmt: skip
_SGE: Final = {
    "-A": "--project", "-P": "--project", "-N": "--name", "-e": "--stderr", "-hold_jid": "--after-any",
    "-i": "--stdin", "-l h_cpu": "--cputime", "-l h_rt": "--walltime", "-o": "--stdout",
    "-pe": "--processes", "-q": "--queue", "-t": "--array", "-wd": "--directory",
}  # fmt: skip
_SYSTEM_BY_PREFIX: Final = {
    "#SBATCH": _System("Slurm", "slurm", _SLURM, ("m", "ms", "hms")),
    "#PBS": _System("PBS", "pbs", _PBS, ("s", "ms", "hms")),
    "#BSUB": _System("LSF", "", _LSF, ("m", "hm")),
    "#$": _System("Grid Engine", "", _SGE, ("s", "", "hms")),
}
_TIME_OPTIONS: Final = frozenset({"--walltime", "--cputime"})
_TIME: Final = re.compile(r"(?:([0-9]{1,6})-)?([0-9]{1,9}(?::[0-9]{1,9}){0,2})(?:/.*)?")
_SECONDS: Final = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def _translate(system: _System, option: str, value: str) -> str:
    """Return our option for one of a batch system, with the value where ours is written in another way."""
    match = _TIME.fullmatch(value.strip("'\"")) if option in _TIME_OPTIONS else None
    if match is None:
        return option
    days, clock = match.groups()
    numbers = clock.split(":")
    # Behind days, the first number counts hours.
    units = "hms"[: len(numbers)] if days else "".join(system.times[len(numbers) - 1 : len(numbers)])
    amounts = zip([days or "0", *numbers], "d" + units, strict=False)
    seconds = sum(int(number) * _SECONDS[unit] for number, unit in amounts)
    if not units or not seconds or seconds == parse_duration(value):
        return option
    return f"{option} {format_duration_option(seconds)}"


def suggest_option(flag: str, value: str) -> str:
    """Return a hint for an option of a batch system that `incarnate job submit` does not have; "" for any other."""
    found: dict[str, dict[str, list[str]]] = {}
    for system in _SYSTEM_BY_PREFIX.values():
        for theirs, option in system.options.items():
            if theirs == flag or theirs.startswith(f"{flag} "):
                ours = _translate(system, option, value) if theirs == flag else option
                found.setdefault(theirs, {}).setdefault(ours, []).append(system.name)
    texts = []
    for theirs, by_option in found.items():
        for option, names in by_option.items():
            whose = f" of {' and '.join(names)}" if len(by_option) > 1 else ""
            texts.append(f"{option} for {theirs}{whose}")
    return f"give {', '.join(texts)}" if texts else ""


def describe_directives(script: str) -> tuple[str, str] | None:
    """Return the message and the hint about the directives of a script, up to its first command; None without any."""
    found: list[tuple[int, str, _System]] = []
    for number, line in enumerate(script.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            break
        for prefix, system in _SYSTEM_BY_PREFIX.items():
            rest = line.removeprefix(prefix)
            if rest != line and rest[:1].isspace() and rest.lstrip().startswith("-"):
                found.append((number, line, system))
    if not found:
        return None
    number, line, system = found[0]
    message = f"line {number}: {quote_value(line.strip())} is a directive of {system.name}, which is not read"
    pairs = {
        flag: option
        for _, text, of_system in found
        if of_system is system
        for flag, option in _find_options(text, system)
    }
    hints = ["give " + ", ".join(f"{option} for {flag}" for flag, option in pairs.items())] if pairs else []
    if system.stand_in:
        hints.append(f"incarnate shim DIR --as {system.stand_in} writes a command that reads such lines")
    return message, "; ".join(hints) or "incarnate job submit --help lists the options"


def _find_options(line: str, system: _System) -> list[tuple[str, str]]:
    """Return the options in a directive that have one of ours, each with that one."""
    words = line.split()[1:]
    found: dict[str, str] = {}
    for i, word in enumerate(words):
        if not word.startswith("-"):
            continue
        following = "".join(words[i + 1 : i + 2])
        flag, equals, value = word.partition("=")
        values = word[2:] or following
        parts = [
            (f"{word[:2]} {name}", value) for name, _, value in (v.partition("=") for v in values.split(","))
        ]
        for name, given in [(flag, value if equals else following), (word[:2], values), *parts]:
            if name in system.options and name not in found:
                found[name] = _translate(system, system.options[name], given)
    return list(found.items())
