"""Variables of a request reach the program unchanged, whatever the shell makes of their names."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.profiles.conftest import Job, exports, quoted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target

SPECIAL = """
BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_COMPAT BASH_ENV
BASH_EXECUTION_STRING BASH_LINENO BASH_LOADABLES_PATH BASH_REMATCH BASH_SOURCE BASH_SUBSHELL BASH_VERSINFO
BASH_VERSION BASH_XTRACEFD CDPATH CHILD_MAX COLUMNS COMPREPLY COMP_CWORD COMP_KEY COMP_LINE COMP_POINT COMP_TYPE
COMP_WORDBREAKS COMP_WORDS COPROC DIRSTACK EMACS ENV EPOCHREALTIME EPOCHSECONDS ERRNO EUID EXECIGNORE FCEDIT
FIGNORE FPATH FUNCNAME FUNCNEST GLOBIGNORE GLOBSORT GROUPS HISTCMD HISTCONTROL HISTFILE HISTFILESIZE HISTIGNORE
HISTSIZE HISTTIMEFORMAT HOSTFILE HOSTNAME HOSTTYPE IFS IGNOREEOF INPUTRC INSIDE_EMACS KSH_VERSION KSHEGID KSHGID
KSHUID LANG LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_NUMERIC LINENO LINES LOGNAME MACHTYPE MAIL MAILCHECK
MAILPATH MAPFILE OLDPWD OPTARG OPTERR OPTIND OSTYPE PATH_SEPARATOR PGRP PIPESTATUS POSIXLY_CORRECT PPID
PROMPT_COMMAND PROMPT_DIRTRIM PS0 PS1 PS2 PS3 PS4 PWD RANDOM READLINE_LINE READLINE_MARK READLINE_POINT REPLY
SECONDS SHELL SHELLOPTS SHLVL SRANDOM TERM TIMEFORMAT TMOUT TMPDIR UID USER USER_ID VISUAL WORDCHARS YASH_VERSION
ZSH_VERSION ZDOTDIR ZSH_EVAL_CONTEXT ZSH_SUBSHELL ARGC CPUTYPE EGID GID HOST NULLCMD READNULLCMD TRY_BLOCK_ERROR
TTY TTYIDLE USERNAME VENDOR argv cdpath fignore fpath histchars mailpath manpath module_path options path
path_ pipestatus prompt psvar signals status watch EDITOR COMMAND_NOT_FOUND_HANDLER DIRSTACKSIZE JOBMAX KSHELL
gpe_d gpe_id gpe_status gpe_umask gpe_watch GPE_JOB_NAME
"""
HOSTILE = "a[$(touch pwned)]"
DUMP = "import json, os; print(json.dumps(dict(os.environ)))"


def run(target: Target, application: str, **fields: str) -> Job:
    """Run Python code that prints its environment, with that application; return the ended job."""
    directory = target.directory()
    fields = {"EXECUTABLE": sys.executable, "ARGUMENTS": quoted("-I", "-c", DUMP)} | fields
    done = target.sh(target.script("START", directory=directory, application=application, **fields))
    assert (done.returncode, done.stderr) == (0, ""), done
    job = Job(target, target.job_id(done.stdout), directory)
    assert job.wait().exit == 0, job.read("stderr") + job.read(".gpe/output")
    return job


def check(target: Target, application: str, *, path: str = "/usr/bin:/bin", **fields: str) -> None:
    """Pass every special variable with a value that a shell would evaluate."""
    wanted = dict.fromkeys(SPECIAL.split(), HOSTILE) | {"PATH": f"{path}:$(touch pwned)"}
    job = run(target, application, ENVIRONMENT=exports(**wanted), **fields)
    got = json.loads(job.read("stdout"))
    assert {name: got.get(name) for name in wanted} == wanted
    assert [*target.root.glob("**/pwned")] == []


@pytest.mark.parametrize("application", ["Executable", "Processes"])
def test_special_variables(target_of: Callable[[str], Target], application: str) -> None:
    check(target_of("linux"), application)


def test_a_program_has_the_time_zone_of_the_caller(target_of: Callable[[str], Target]) -> None:
    """START itself does without it: START_TIME is in that of the machine."""
    linux = target_of("linux")
    linux.environment["TZ"] = "Etc/GMT+9"
    job = linux.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", 'echo "$TZ ${GPE_TZ-none}"'))
    assert job.wait().exit == 0
    assert job.read("stdout") == "Etc/GMT+9 none\n"


def test_a_program_with_an_equals_sign(target_of: Callable[[str], Target], tmp_path: Path) -> None:
    """To `env`, it looks like a variable; nothing else is looked for in the PATH of the request."""
    program = tmp_path / "a=b"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$X" "$@"\n')
    program.chmod(0o700)
    linux = target_of("linux")
    for fields in ({}, {"ENVIRONMENT": exports(X="a 'b'\nc", PATH="/nowhere")}):
        job = linux.start(EXECUTABLE=str(program), ARGUMENTS=quoted("-n", "c=d"), **fields)
        assert job.wait().exit == 0
        assert job.read("stdout") == ("a 'b'\nc" if fields else "") + "\n-n\nc=d\n"


def test_a_program_is_looked_for_in_the_path_that_it_gets(
    target_of: Callable[[str], Target], tmp_path: Path
) -> None:
    program = tmp_path / "own-program"
    program.write_text("#!/bin/sh\necho found\n")
    program.chmod(0o700)
    job = target_of("linux").start(
        EXECUTABLE="own-program", ENVIRONMENT=exports(PATH=f"{tmp_path}:/usr/bin:/bin")
    )
    assert (job.wait().exit, job.read("stdout")) == (0, "found\n")


@pytest.mark.parametrize("environment", ["", exports(X="1")])
@pytest.mark.parametrize(("name", "status"), [("no-such-program", 127), ("/etc/passwd", 126)])
def test_a_program_that_cannot_run(linux: Target, name: str, status: int, environment: str) -> None:
    job = linux.start(EXECUTABLE=name, ENVIRONMENT=environment)
    assert job.wait().exit == status
    assert name in job.read("stderr")
