"""The executable `osprofile-ptp-proxy`: the agent that Eclipse starts, and that connects back to it.

Exit codes: 0 after QUIT, the end of the input or a signal; 1 if the connection failed or the client
violated the protocol; 2 for wrong usage and an unknown profile; 3 for a wrong profile.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Final, NoReturn

from osprofile.errors import InvalidProfileError, NotFoundError, OSProfileError, SettingError
from osprofile.executors.digits import parse_digits
from osprofile.executors.failures import format_internal_error
from osprofile.metrics import OPTION_HELP, OPTION_METAVAR, export_metrics, parse_destination

if TYPE_CHECKING:
    from osprofile.executors.ptp.channel import Channel

PROGRAM_NAME: Final = "osprofile-ptp-proxy"
DEFAULT_PORT: Final = 12345
_LOG_LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)

log: Final = logging.getLogger("osprofile.ptp")


def main() -> NoReturn:
    """Run as this process, with its command line, and end it."""
    options = _build_parser().parse_args()
    logging.basicConfig(
        stream=sys.stderr,
        level=_LOG_LEVELS[min(max(options.debug, 0), len(_LOG_LEVELS) - 1)],
        format=f"{PROGRAM_NAME}: %(levelname)s: %(message)s",
    )
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    try:
        with export_metrics(parse_destination(options.metrics)):
            code = asyncio.run(_serve_client(options))
    except InvalidProfileError as error:
        code = _report_failure(error, 3)
    except (NotFoundError, SettingError) as error:
        code = _report_failure(error, 2)
    except OSProfileError as error:
        code = _report_failure(error, 1)
    except KeyboardInterrupt:
        code = 130
    except Exception as error:  # noqa: BLE001  # no traceback ever reaches a user
        code = _report_failure(format_internal_error(error), 1)
    sys.exit(code)


def _report_failure(error: object, code: int) -> int:
    sys.stderr.write(f"{PROGRAM_NAME}: {error}\n")
    return code


def _build_parser() -> argparse.ArgumentParser:
    from osprofile import __version__

    parser = argparse.ArgumentParser(
        prog=PROGRAM_NAME,
        allow_abbrev=False,
        description="The Eclipse PTP resource-manager proxy over an OS Profile. Eclipse starts it.",
    )
    add = parser.add_argument
    add("--proxy", choices=("tcp", "stdio"), default="tcp", help="how to reach the client")
    add("--host", default="localhost", help="where the client listens (%(default)s)")
    add("--port", type=_parse_port, default=DEFAULT_PORT, help="the client's port (%(default)s)")
    add("--debug", type=int, nargs="?", const=1, default=0, metavar="N", help="1: log; 2: more")
    add("--profile", required=True, metavar="NAME", help="the profile, or the path of its file")
    add("--profiles", action="append", default=[], metavar="DIR", help="look for profiles here")
    add("--application", metavar="NAME[/VERSION]", help="what jobs run by (the profile's default)")
    add("--interval", type=_parse_seconds, metavar="S", help="seconds between two polls of the machine")
    draft = "commands 7, 8, 9 are MOVE_JOB, CHANGE_JOB, LIST_FILTERS; no client uses them so"
    add("--draft-commands", action="store_true", help=draft)
    add("--metrics", default="", metavar=OPTION_METAVAR, help=OPTION_HELP)
    add("--version", action="version", version=f"{PROGRAM_NAME} {__version__}")
    return parser


def _parse_port(text: str) -> int:
    port = parse_digits(text, 8)
    if port is None or not 0 < port < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: 1 to 65535")
    return port


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.01 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r}: 0.01 to 86400 seconds are possible")
    return seconds


async def _serve_client(options: argparse.Namespace) -> int:
    from osprofile.executors.ptp.agent import Agent
    from osprofile.executors.ptp.form import SubmissionForm
    from osprofile.executors.ptp.system_view import POLL_INTERVAL
    from osprofile.jobs.client import JobClient
    from osprofile.jobs.profiles import load_profile, load_profile_file
    from osprofile.jobs.timing import Timing

    is_path = "/" in options.profile or options.profile.endswith(".xml")
    load = load_profile_file if is_path else load_profile
    profile = load(options.profile, options.profiles)
    form = SubmissionForm(profile, options.application)
    interval = options.interval or POLL_INTERVAL
    timing = Timing(min_poll_interval=min(0.5, interval), max_poll_interval=interval)
    client = JobClient(record_needed=False, timing=timing)
    try:
        target = client.open_target(profile, {})
        channel = await _open_channel(options)
        agent = Agent(
            channel,
            target,
            form,
            user=target.user_name,
            interval=interval,
            draft_commands=options.draft_commands,
        )
        return await agent.serve_client()
    finally:
        await client.close()


async def _open_channel(options: argparse.Namespace) -> Channel:
    from osprofile.executors.pipes import detach_stdio
    from osprofile.executors.ptp.channel import Channel, connect_to_client

    tcp = options.proxy == "tcp"
    return Channel(await connect_to_client(options.host, options.port) if tcp else detach_stdio())


if __name__ == "__main__":
    main()
