"""`incarnate page`: documents a profile for a site's users, as an HTML file or on a local server."""

from typing import TYPE_CHECKING, Annotated, Any

from osprofile.cli import common
from osprofile.cli.options import ContextOption, JsonOption, Option, ProfileOption, ProfilesOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.profile.model import Profile

STDOUT = "-"


def page(
    *,
    profile: ProfileOption = None,
    output: Annotated[
        str | None, Option(("--output", "-o"), "Write the page to this file [default: stdout].", "FILE|-")
    ] = None,
    serve: Annotated[
        bool, Option(("--serve",), "Serve the page with a form on 127.0.0.1 until Ctrl-C.")
    ] = False,
    port: Annotated[
        str | None, Option(("--port",), "With --serve: the port [default: any free port].", "N")
    ] = None,
    context: ContextOption = [],
    profiles: ProfilesOption = [],
    json: JsonOption = False,
) -> int:
    """Write a page about a profile for the users of a site.

    The page is one HTML file that needs no other file, no network and no JavaScript. Patterns, whole
    scripts and where each part is defined are folded. With --serve, the page also has a form that shows
    the script for the values entered, as incarnate render would print it, and follows changes of the
    profile's files.

    Examples:
      incarnate page --profile slurm --output slurm.html
      incarnate page --profile slurm --serve
      incarnate page --profile slurm --context USER_NAME=alice > slurm.html
    """
    from osprofile.page.collector import collect_page

    common.check_option(
        "--serve", serve, excludes={"--output": output, "--json": json}, needed_by={"--port": port}
    )
    common.check_option("--json", json, excludes={"--output": output})
    assigned = common.parse_assignments(context, "--context")
    if serve:
        return _serve_page(profile, profiles, assigned, _parse_port(port))
    collected = collect_page(common.open_profile(profile, profiles), assigned)
    if json:
        common.print_json(_encode_value(collected))
        return 0
    from osprofile.page.document import render_page

    text = render_page(collected)
    if output is None or output == STDOUT:
        common.print_result(text)
    else:
        _write_page(output, text.encode())
    return 0


def _parse_port(port: str | None) -> int:
    if port is None:
        return 0
    if not (port.isascii() and port.isdigit() and int(port[:6]) < 65536):
        raise common.UsageError(f"--port {port!r} is not a number from 0 (any free port) to 65535")
    return int(port)


def _write_page(file: str, data: bytes) -> None:
    """Replace a file in one step, or write to it if it is not a plain file (a pipe, /dev/stdout).

    Raises `OSError`.
    """
    import os

    from osprofile.files import atomic_write

    file = os.path.realpath(file)
    if os.path.exists(file) and not os.path.isfile(file):
        with open(file, "wb") as stream:
            stream.write(data)
    else:
        atomic_write(file, data)


def _serve_page(name: str | None, profiles: "Sequence[str]", context: dict[str, str], port: int) -> int:
    import asyncio
    import logging
    import signal

    from osprofile.page.server import LOOPBACK, LivePage, make_server

    def load() -> "Profile":
        return common.open_profile(name, profiles)

    logging.basicConfig(format="incarnate: %(message)s", level=logging.WARNING)
    site = LivePage(load, context, lambda: list(common.open_repository(profiles).iter_directories()))

    async def run() -> None:
        server = make_server(site, port)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, server.stop)

        def announce() -> None:
            common.print_result(f"http://{LOOPBACK}:{server.port}/")
            common.print_message("Press Ctrl-C to stop the server.")

        await server.run(announce)

    asyncio.run(run())
    return 0


def _encode_value(value: Any) -> Any:
    """Return a value for JSON, with named tuples as objects."""
    if isinstance(value, tuple):
        if hasattr(value, "_asdict"):
            return {name: _encode_value(part) for name, part in value._asdict().items()}
        return [_encode_value(part) for part in value]
    return value
