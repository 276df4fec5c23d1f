"""The options of batch systems, and ours that say the same.

They are found in the directives of a job's own script, which osprofile does not read, and in a command line.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from osprofile.errors import quote_value


@final
class _System(NamedTuple):
    """A batch system: its name, the stand-in that reads its directives, and options with ours that say the same."""

    name: str
    stand_in: str
    options: dict[str, str]


_SLURM: Final = {
    "--account": "--project", "-A": "--project", "--array": "--array", "-a": "--array",
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
    "-l ncpus": "--cpus", "-l nodes": "--nodes", "-l select": "--nodes", "-l walltime": "--walltime",
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
    "#SBATCH": _System("Slurm", "slurm", _SLURM),
    "#PBS": _System("PBS", "pbs", _PBS),
    "#BSUB": _System("LSF", "", _LSF),
    "#$": _System("Grid Engine", "", _SGE),
}


def suggest_option(flag: str) -> str:
    """Return a hint for an option of a batch system that `incarnate job submit` does not have; "" for any other."""
    found: dict[str, dict[str, list[str]]] = {}
    for system in _SYSTEM_BY_PREFIX.values():
        for theirs, option in system.options.items():
            if theirs == flag or theirs.startswith(f"{flag} "):
                found.setdefault(theirs, {}).setdefault(option, []).append(system.name)
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
        for flag, option in _find_options(text, system.options)
    }
    hints = ["give " + ", ".join(f"{option} for {flag}" for flag, option in pairs.items())] if pairs else []
    if system.stand_in:
        hints.append(f"incarnate shim DIR --as {system.stand_in} writes a command that reads such lines")
    return message, "; ".join(hints) or "incarnate job submit --help lists the options"


def _find_options(line: str, options: dict[str, str]) -> list[tuple[str, str]]:
    """Return the options in a directive that have one of ours, each with that one."""
    words = line.split()[1:]
    found = []
    for i, word in enumerate(words):
        if not word.startswith("-"):
            continue
        flag = word.partition("=")[0]
        values = word[2:] or "".join(words[i + 1 : i + 2])
        names = [flag, word[:2], *(f"{word[:2]} {part.partition('=')[0]}" for part in values.split(","))]
        found += [(name, options[name]) for name in dict.fromkeys(names) if name in options]
    return found
