"""`incarnate login`: opens a connection to another machine that later scripts use."""

import os
import subprocess
from typing import Annotated

from osprofile.cli import common
from osprofile.cli.options import Argument, ContextOption, Option, ProfileOption, ProfilesOption
from osprofile.errors import ScriptFailedError


def login(
    host: Annotated[str, Argument("The machine, as for --host of job submit.", "[USER@]HOST[:PORT]")],
    *,
    profile: ProfileOption = None,
    context: ContextOption = [],
    profiles: ProfilesOption = [],
    check: Annotated[
        bool, Option(("--check",), "Only print whether the connection is open; exit with 0 if it is, else 1.")
    ] = False,
) -> int:
    """Open a reusable ssh connection to a host that needs a password or a second factor.

    ssh asks for the password or the second factor once, and keeps the connection open in the background.
    Until it ends, jobs with the same --host use it, also those of the user's daemons. ssh -O exit ends
    it. If ssh is configured to keep connections open (ControlMaster and ControlPath), this command is
    not needed.

    Examples:
      incarnate login me@login.example.org
      incarnate login me@login.example.org --check
    """
    from osprofile.jobs.record.names import parse_host_context
    from osprofile.jobs.shell import scripts as shell

    resolved = common.open_profile(profile or "linux", profiles)
    values = common.build_context(resolved, context) | parse_host_context(host)
    command = shell.get_login_command(resolved, values)
    path = shell.get_control_path(values)
    ssh = [command[0], "-o", f"ControlPath={path}"]
    is_open = (
        os.path.exists(path) and _run([*ssh, "-O", "check", "--", values["SSH:HOST"]], is_quiet=True) == 0
    )
    if check:
        common.print_result(f"{host}: {'the connection is open' if is_open else 'no connection is open'}\n")
        return 0 if is_open else 1
    if is_open:
        common.print_message(f"{host}: the connection is already open")
        return 0
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)  # of a connection that has ended: ssh would not open another one
    if (code := _run(command)) != 0:
        message = f"{host}: the login failed: ssh exited with status {code}"
        raise ScriptFailedError(message, template=shell.SHELL_TEMPLATE, exit_status=code, output="")
    common.print_message(
        f"{host}: the connection is open; to end it: ssh -O exit -o ControlPath={path} {values['SSH:HOST']}"
    )
    return 0


def _run(command: list[str], *, is_quiet: bool = False) -> int:
    """Run ssh on this terminal and return its exit status."""
    output = subprocess.DEVNULL if is_quiet else None
    try:
        return subprocess.run(command, check=False, stdout=output, stderr=output).returncode
    except OSError as error:
        raise common.UsageError(f"cannot start {command[0]}: {error.strerror}") from None
