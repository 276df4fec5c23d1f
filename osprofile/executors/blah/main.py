"""The executable `osprofile-blahpd`: BLAH's daemon over OS Profiles.

HTCondor starts it without arguments as BATCH_GAHP, with pipes for stdin and stdout. Only the
protocol may use stdout: it is moved away, and anything else that is printed goes to stderr.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.executors.blah.settings import Settings

PROGRAM_NAME: Final = "osprofile-blahpd"
_IGNORED_SIGNALS: Final = (signal.SIGUSR1, signal.SIGUSR2)
_DROPPED_PREFIXES: Final = ("_CONDOR_ANCESTOR_", "X509_USER_PROXY")
"""Of variables that jobs must not inherit: HTCondor kills processes with the first ones when it restarts, and
the daemon's own proxy has no effect on jobs (docs/protocols/blah.md, 2.8)."""
_ROOT_WARNING: Final = (
    "HTCondor submits the jobs of a user as this user; this check is by root: repeat it as a user"
)


def _warn(message: str) -> None:
    sys.stderr.write(f"{PROGRAM_NAME}: warning: {message}\n")


def main() -> NoReturn:
    """Run the daemon with this process's command line, and exit."""
    from osprofile.errors import OSProfileError
    from osprofile.metrics import export_metrics, parse_destination

    for name in [name for name in os.environ if name.startswith(_DROPPED_PREFIXES)]:
        del os.environ[name]
    for number in _IGNORED_SIGNALS:  # by a handler, because jobs would inherit SIG_IGN
        signal.signal(number, lambda *_: None)
    try:
        settings, dry_run, checked = _read_configuration(sys.argv[1:])
        destination = parse_destination(settings.metrics)
        _configure_logging(settings)
        if checked:
            from osprofile.executors.blah.check import check_batch_system

            if os.geteuid() == 0:
                _warn(_ROOT_WARNING)
            sys.stdout.write(f"{asyncio.run(check_batch_system(checked, settings, _warn))}\n")
            sys.exit()
    except OSProfileError as error:
        sys.stderr.write(f"{PROGRAM_NAME}: {error}\n")
        sys.exit(error.exit_code)
    from osprofile.executors.pipes import detach_stdio

    try:
        stdin, stdout = detach_stdio()
    except OSError as error:
        sys.stderr.write(f"{PROGRAM_NAME}: standard input and output are needed: {error.strerror}\n")
        sys.exit(2)
    from osprofile.executors.blah.server import Server

    async def serve() -> int:
        return await Server(stdin, stdout, settings, dry_run=dry_run).run()

    with export_metrics(destination):
        code = asyncio.run(serve())
    sys.exit(code)


def _read_configuration(arguments: Sequence[str]) -> tuple[Settings, bool, str]:
    """Return the settings from files and the command line, whether this is a dry run, and the GridType to check."""
    import argparse

    from osprofile import __version__
    from osprofile.errors import SettingError
    from osprofile.executors.blah.settings import CONFIG_FILE, Settings, read_settings
    from osprofile.executors.settings import HELP_EPILOG, list_config_files
    from osprofile.jobs.record.store import put_user_name
    from osprofile.metrics import OPTION_HELP, OPTION_METAVAR

    parser = argparse.ArgumentParser(
        prog=PROGRAM_NAME,
        description="BLAH's daemon over OS Profiles.",
        epilog=HELP_EPILOG.format(CONFIG_FILE),
        allow_abbrev=False,
    )
    add: Any = parser.add_argument
    add("--profiles", action="append", default=[], metavar="DIR", help="search DIR for profiles first")
    add("--map", action="append", default=[], metavar="GRIDTYPE=PROFILE",
        help="the profile of a GridType that is not the name of one")  # fmt: skip
    add("--config", metavar="FILE", help="further settings")
    add("--log", metavar="FILE", help="append the log to FILE [default: standard error]")
    add("--metrics", metavar=OPTION_METAVAR, help=OPTION_HELP)
    add("--dry-run", action="store_true", help="show each script on standard error, submit nothing")
    add("--check", default="", metavar="GRIDTYPE", help="run a job, say whether jobs can run, and exit")
    add("--version", action="version", version=f"{PROGRAM_NAME} {__version__}")
    options = parser.parse_args(arguments)
    settings = Settings()
    for path in list_config_files(CONFIG_FILE, options.config):
        settings = read_settings(path, settings)
    pairs = dict(word.partition("=")[::2] for word in options.map)
    try:
        settings = settings.with_grid_types(pairs)
    except SettingError as error:
        error.message = f"--map: {error.message}"
        raise
    settings = replace(
        settings,
        profiles=(*options.profiles, *settings.profiles),
        log=options.log
        or ("" if options.dry_run else settings.log),  # who tries a job sees why it is refused
        metrics=options.metrics or settings.metrics,
    )
    settings = replace(settings, log=put_user_name(settings.log), store=put_user_name(settings.store))
    return settings, options.dry_run, options.check


def _configure_logging(settings: Settings) -> None:
    """Log to the file in the settings, or to stderr if there is none or it cannot be opened."""
    from osprofile.errors import SettingError
    from osprofile.executors.settings import configure_logging

    failure = ""
    try:
        configure_logging(settings.log, settings.log_level)
    except SettingError as error:
        failure = error.message
    if failure:
        configure_logging("", settings.log_level)
        logging.getLogger("osprofile.blah").error("%s; the log goes to standard error", failure)


if __name__ == "__main__":
    main()
