"""`incarnate page`: what a profile offers, for a site's users, in one HTML file or served."""

from typing import TYPE_CHECKING, Annotated, Any

from osprofile.cli import common
from osprofile.cli.options import (
    ContextOption,
    JsonOption,
    Option,
    ProfileOption,
    ProfilesOption,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.page.server import PageServer
    from osprofile.profile.model import Profile

STDOUT = "-"


def page(
    *,
    profile: ProfileOption = None,
    output: Annotated[
        str | None,
        Option(("--output", "-o"), "Write the page to this file [stdout].", "FILE|-"),
    ] = None,
    serve: Annotated[
        bool,
        Option(("--serve",), "Serve the page on 127.0.0.1, with the form, until Ctrl-C."),
    ] = False,
    port: Annotated[
        str | None, Option(("--port",), "With --serve: the port [a free one].", "N")
    ] = None,
    context: ContextOption = [],
    profiles: ProfilesOption = [],
    json: JsonOption = False,
) -> int:
    """Write a page for a site's users: applications, fields, scripts, and where each comes from.

    One HTML file that needs nothing else: no other file, no network, no JavaScript to be read. Its
    scripts are examples. With --serve there is a form as well that shows the script while its
    values change, made by osprofile itself, and the profile's files are read again when they change.

    Examples:
      incarnate page --profile slurm --output slurm.html
      incarnate page --profile slurm --serve
      incarnate page --profile slurm --context USER_NAME=alice > slurm.html
    """
    from osprofile.page.collector import collect_page

    if serve and (output is not None or json):
        raise common.UsageError("--serve writes no file: leave --output and --json out")
    if json and output is not None:
        raise common.UsageError("--json prints what the page tells: leave --output out")
    if port is not None and not serve:
        raise common.UsageError("--port is the port of --serve: give that too")
    given = common.parse_assignments(context, "--context")
    if serve:
        return _serve_page(profile, profiles, given, _parse_port(port))
    gathered = collect_page(common.open_profile(profile, profiles), given)
    if json:
        common.print_json(_encode_value(gathered))
        return 0
    from osprofile.page.document import render_page

    text = render_page(gathered)
    if output is None or output == STDOUT:
        common.print_result(text)
    else:
        _write_page(output, text.encode())
    return 0


def _parse_port(port: str | None) -> int:
    if port is None:
        return 0
    if not (port.isascii() and port.isdigit() and int(port[:6]) < 65536):
        raise common.UsageError(f"--port {port!r}: a number from 0 (any free one) to 65535")
    return int(port)


def _write_page(file: str, data: bytes) -> None:
    """Write a file as a whole or not at all; what is no file (a pipe, /dev/stdout) is written to.

    Raises `OSError`.
    """
    import os

    from osprofile import files

    file = os.path.realpath(file)
    if os.path.exists(file) and not os.path.isfile(file):
        with open(file, "wb") as stream:
            stream.write(data)
    else:
        files.atomic_write(file, data)


def _serve_page(
    name: str | None, profiles: "Sequence[str]", context: dict[str, str], port: int
) -> int:
    import asyncio
    import logging

    from osprofile.page.server import LivePage, PageServer

    def load() -> "Profile":
        return common.open_profile(name, profiles)

    logging.basicConfig(format="incarnate: %(message)s", level=logging.WARNING)
    site = LivePage(
        load, context, lambda: list(common.open_repository(profiles).iter_directories())
    )

    async def run() -> None:
        server = PageServer(site, port)
        await server.run(lambda: _print_url(server))

    asyncio.run(run())
    return 0


def _print_url(server: "PageServer") -> None:
    common.print_result(server.url)
    common.print_message("Ctrl-C ends it.")


def _encode_value(value: Any) -> Any:
    """Give the page's parts for JSON: each named tuple as an object."""
    if isinstance(value, tuple):
        if hasattr(value, "_asdict"):
            return {name: _encode_value(part) for name, part in value._asdict().items()}
        return [_encode_value(part) for part in value]
    return value
