"""`incarnate shim`: writes stand-ins for the commands of Slurm or PBS."""

import os
import sys
from typing import Annotated

from osprofile.cli import common
from osprofile.cli.job.option_groups import SubmissionTarget
from osprofile.cli.options import Argument, JsonOption, Option
from osprofile.shim.job_wrapper import STAND_IN_MARK
from osprofile.text import quote_path, quote_value

_MAX_INTERPRETER_LENGTH = 120  # Linux before 5.1 reads 127 bytes of the line


def shim(
    *,
    directory: Annotated[str, Argument("Where to write the stand-ins; it is created.", "DIR")],
    target: SubmissionTarget,
    system: Annotated[
        str | None, Option(("--as",), "The batch system to look like; pbs is pbspro.", "slurm|pbspro|torque")
    ] = None,
    ignore: Annotated[
        str | None,
        Option(
            ("--ignore",),
            "Also accept options that affect only where and when a job runs, who pays and who gets mail.",
            "harmless",
        ),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Create drop-in sbatch or qsub commands that submit through a profile.

    With DIR first in PATH, a program that calls sbatch, squeue, scancel and sacct, or qsub, qstat and
    qdel, runs its jobs on the target system of the profile. PBS has two forms: pbspro prints what
    OpenPBS and PBS Pro do, torque what Torque does. A stand-in refuses the options that it does not support;
    with --ignore harmless, or a profile without queues, it takes those that do not change what a job does.

    Exit codes: 0 written; 2 wrong usage, or another program has one of the names; 3 invalid profile.

    Examples:
      incarnate shim ~/bin/slurm --profile pbs --as slurm
      PATH=~/bin/slurm:$PATH nextflow run hello -process.executor slurm
    """
    from json import dumps

    from osprofile.files import atomic_write
    from osprofile.jobs.record.names import format_target_name
    from osprofile.shim.programs import MODULES, SYNONYMS

    system = SYNONYMS.get(system or "", system)
    if system not in MODULES:
        problem = "is not given" if system is None else f"{quote_value(system)} is not supported"
        raise common.UsageError(f"--as {problem}", hint="give --as slurm, pbspro or torque")
    if ignore not in {None, "harmless"}:
        raise common.UsageError(
            f"--ignore {quote_value(ignore or '')} is not supported", hint="give --ignore harmless"
        )
    programs = MODULES[system]
    resolved = common.open_profile(target.profile, target.profiles)
    name = target.profile or ""
    search_path = os.environ.get("OSPROFILE_PATH", "").split(os.pathsep)
    settings = {
        "profile": os.path.abspath(name) if common.is_profile_path(name) else name,
        # The programs that call the stand-ins may have another environment.
        "profiles": [os.path.abspath(path) for path in (*target.profiles, *search_path) if path],
        "context": target.context,
        "target": format_target_name(resolved, target.context),
        "store": os.path.abspath(target.store) if target.store else None,
        "ignore": ignore or "",
    }
    paths = [os.path.join(directory, program) for program in programs]
    for path in paths:
        _check_replaceable(path)
    os.makedirs(directory, exist_ok=True)
    for program, path in zip(programs, paths, strict=True):
        text = format_stand_in(sys.executable, system, program, dumps(settings))
        atomic_write(path, text.encode("utf-8", "surrogateescape"))
        os.chmod(path, 0o755)  # noqa: S103  # a command for everybody, as the real one
    if json:
        common.print_json([{"path": os.path.abspath(path), **settings} for path in paths])
    else:
        common.print_result("\n".join(paths))
    return 0


def format_stand_in(python: str, system: str, program: str, settings: str) -> str:
    """Return the text of a stand-in that `python` runs.

    A shell in between would drop the variables that hold bash's functions (`module`): their names are none for dash.
    It is needed for a path that cannot be in a line `#!`.
    """
    note = f"# {program}, {STAND_IN_MARK}; its jobs run by a profile of osprofile\n"
    if not any(c.isspace() for c in python) and len(python) < _MAX_INTERPRETER_LENGTH:
        call = f"main([{system!r}, {program!r}, {settings!r}, *sys.argv[1:]])"
        return f"#!{python} -P\n{note}import sys\nfrom osprofile.shim.__main__ import main\n{call}\n"
    from osprofile.text import quote_shell_word

    words = [python, "-P", "-m", "osprofile.shim", system, program, settings]
    return f'#!/bin/sh\n{note}exec {" ".join(map(quote_shell_word, words))} "$@"\n'


def _check_replaceable(path: str) -> None:
    """Raise `UsageError` for a file that is no stand-in."""
    try:
        with open(path, "rb") as file:
            if STAND_IN_MARK.encode() in file.read(4096):
                return
    except FileNotFoundError:
        return
    except OSError as error:
        raise common.UsageError(
            f"{quote_path(path)} cannot be read: {error.strerror}", hint="choose another directory"
        ) from None
    message = f"{quote_path(path)} exists, and is not a stand-in"
    raise common.UsageError(message, hint="it was not changed: choose another directory")
