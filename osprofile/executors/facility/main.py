"""The executable `osprofile-facility`: the IRI Facility API over OS Profiles, for one user or many."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from osprofile.executors.facility.settings import Settings

PROGRAM_NAME: Final = "osprofile-facility"
DESCRIPTION: Final = "The IRI Facility API over OS Profiles, for one user or many, on 127.0.0.1."
TOKEN_FILE_NAME: Final = "facility-token"  # noqa: S105


def main() -> NoReturn:
    """Run the daemon with this process's command line, and exit."""
    run_program(PROGRAM_NAME, DESCRIPTION, _run)


def run_program(name: str, description: str, run: Callable[[Settings], None]) -> NoReturn:
    """Run a program with the settings of this process's command line, and exit; report what keeps it from running."""
    from osprofile.errors import OSProfileError

    try:
        run(read_configuration(sys.argv[1:], name, description))
    except OSProfileError as error:
        sys.stderr.write(f"{name}: {error}\n")
        sys.exit(error.exit_code)
    sys.exit(0)


def _run(settings: Settings) -> None:
    from osprofile.executors.facility.settings import require_extra
    from osprofile.executors.facility.tokens import TokenFile
    from osprofile.executors.settings import configure_logging
    from osprofile.jobs.record.store import default_store_path, put_user_name
    from osprofile.metrics import export_metrics, parse_destination

    with require_extra("facility"):
        from osprofile.executors.facility.clients import Clients
        from osprofile.executors.facility.server import serve
    settings.check()
    destination = parse_destination(settings.metrics)
    configure_logging(settings.log, settings.log_level)
    user_name = put_user_name("{user}")
    tokens: TokenFile | Clients
    if settings.is_shared:
        tokens = Clients(settings)
        os.chdir("/")  # where each user may be
    else:
        beside = os.path.dirname(default_store_path())
        tokens = TokenFile(settings.token_file or os.path.join(beside, TOKEN_FILE_NAME), user_name)
    with export_metrics(destination):
        asyncio.run(serve(settings, tokens.find_client, user_name))


def read_configuration(arguments: Sequence[str], program: str, description: str) -> Settings:
    """Return the settings from files and the command line of a program."""
    import argparse

    from osprofile import __version__
    from osprofile.executors.facility.settings import CONFIG_FILE, Settings, read_settings
    from osprofile.executors.settings import HELP_EPILOG, list_config_files
    from osprofile.jobs.record.store import put_user_name
    from osprofile.metrics import OPTION_HELP, OPTION_METAVAR

    parser = argparse.ArgumentParser(
        prog=program,
        description=description,
        epilog=HELP_EPILOG.format(CONFIG_FILE),
        allow_abbrev=False,
    )
    add: Any = parser.add_argument
    add("--profiles", action="append", default=[], metavar="DIR", help="search DIR for profiles first")
    add("--config", metavar="FILE", help="further settings")
    add("--port", type=int, metavar="PORT", help="the port of 127.0.0.1 [default: 8020]; 0: a free one")
    add("--log", metavar="FILE", help="append the log to FILE [default: standard error]")
    add("--metrics", metavar=OPTION_METAVAR, help=OPTION_HELP)
    add("--version", action="version", version=f"{program} {__version__}")
    options = parser.parse_args(arguments)
    if options.port is not None and not 0 <= options.port <= 65535:
        parser.error(f"--port {options.port}: not a port")
    settings = Settings()
    for path in list_config_files(CONFIG_FILE, options.config):
        settings = read_settings(path, settings)
    return replace(
        settings,
        profiles=(*options.profiles, *settings.profiles),
        port=settings.port if options.port is None else options.port,
        metrics=options.metrics or settings.metrics,
        log=put_user_name(options.log or settings.log),
        audit=put_user_name(settings.audit),
        token_file=put_user_name(settings.token_file),
    )


if __name__ == "__main__":
    main()
