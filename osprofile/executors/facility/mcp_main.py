"""The executable `osprofile-mcp`: tools for agents over OS Profiles, on standard input and output, for the user who starts it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NoReturn

from osprofile.executors.facility.main import run_program

if TYPE_CHECKING:
    from osprofile.executors.facility.settings import Settings

PROGRAM_NAME: Final = "osprofile-mcp"
DESCRIPTION: Final = (
    "Tools for agents over OS Profiles: the Model Context Protocol on standard input and output."
)


def main() -> NoReturn:
    """Serve one client with this process's command line, and exit."""
    run_program(PROGRAM_NAME, DESCRIPTION, _run)


def _run(settings: Settings) -> None:
    from osprofile.executors.facility.facility import Facility
    from osprofile.executors.facility.settings import require_extra
    from osprofile.executors.settings import configure_logging
    from osprofile.jobs.record.store import put_user_name

    # Of many users' settings, those of the resources count: here is only the user who starts it.
    settings = replace(settings, issuer="", store="" if "{user}" in settings.store else settings.store)
    configure_logging(settings.log, settings.log_level)
    with require_extra("mcp"):
        from mcp.server.stdio import stdio_server

        from osprofile.executors.facility.mcp_server import build_server

    async def serve() -> None:
        user_name = put_user_name("{user}")
        facility = Facility(settings, user_name, "")
        account = facility.open_account(user_name)
        server = build_server(facility, lambda _context: account)
        try:
            async with stdio_server() as (read_stream, write_stream):
                await server.run(read_stream, write_stream, server.create_initialization_options())
        finally:
            await facility.close()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
