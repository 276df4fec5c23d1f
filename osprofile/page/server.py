"""The page's server, on the loopback interface only; it renders scripts for the form."""

from __future__ import annotations

import hashlib
import logging
import os
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import InvalidProfileError, OSProfileError, SettingError
from osprofile.files import make_stamp
from osprofile.http_server import (
    HttpRefusal,
    LoopbackServer,
    check_host,
    check_method,
    encode_json_response,
    encode_response,
)
from osprofile.page.collector import collect_page
from osprofile.page.document import render_page, render_problem
from osprofile.page.labels import build_labels, strip_directories
from osprofile.page.rendering import (
    build_page_context,
    decode_script_request,
    encode_script_response,
    render_script,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from osprofile.http_server import Request
    from osprofile.profile.model import Profile

log: Final = logging.getLogger("osprofile.page")
LOOPBACK: Final = "127.0.0.1"

FileStamps = list[tuple[str, tuple[int, ...] | None]]


@final
class LivePage:
    """A profile and its page; both are loaded again when the profile's files have changed.

    `load` returns the resolved profile; `directories` are removed from messages. It is not
    thread-safe.
    """

    def __init__(
        self,
        load: Callable[[], Profile],
        context: Mapping[str, str],
        directories: Callable[[], Iterable[str]],
    ) -> None:
        self._load = load
        self._context = context
        self._directories = tuple(directories())
        self._profile = load()
        self._file_stamps = self._read_stamps()
        self._html = self._render_page()
        self._load_error: OSProfileError | None = None

    @property
    def version(self) -> str:
        """A hash of the profile's files."""
        digest = hashlib.sha256()
        for document in self._profile.documents:
            for source in document.sources:
                digest.update(source.data)
        return digest.hexdigest()[:16]

    def get_page(self) -> tuple[int, str]:
        """Return status and page; for a profile that does not load, a page with its problems."""
        self._reload_if_changed()
        if self._load_error is not None:
            return 500, render_problem("This profile does not load", self._format_error(self._load_error))
        return 200, self._html

    def answer_request(self, body: bytes) -> object:
        """Return the response to a request, for JSON; raise `RequestError` for a malformed request."""
        request = decode_script_request(body)
        self._reload_if_changed()
        if self._load_error is not None:
            first = self._format_error(self._load_error).partition("\n")[0]
            return {"error": f"the profile does not load: {first}"}
        context = build_page_context(self._profile, self._context)
        response = render_script(self._profile, build_labels(self._profile), context, request)
        return encode_script_response(response, self.version)

    def _reload_if_changed(self) -> None:
        # A profile that does not load may need a file that is not known here: each request tries again.
        if self._load_error is None and self._read_stamps() == self._file_stamps:
            return
        try:
            self._profile = self._load()
            self._file_stamps = self._read_stamps()
            self._html = self._render_page()
            self._load_error = None
        except OSProfileError as error:
            if str(error) != str(self._load_error):
                log.warning("the profile does not load:\n%s", error)
            self._load_error = error

    def _render_page(self) -> str:
        return render_page(collect_page(self._profile, self._context), version=self.version)

    def _read_stamps(self) -> FileStamps:
        return [(s.name, make_stamp(s.name)) for d in self._profile.documents for s in d.sources]

    def _format_error(self, error: OSProfileError) -> str:
        problems = error.problems if isinstance(error, InvalidProfileError) else ()
        message = "\n".join(map(str, problems)) if problems else str(error)
        files = [os.path.dirname(os.path.dirname(d.element.source.name)) for d in self._profile.documents]
        return strip_directories(
            build_labels(self._profile).replace_paths(message), [*files, *self._directories]
        )


def make_server(live_page: LivePage, port: int = 0) -> LoopbackServer:
    """Return a server of a page at a port of the loopback interface, 0 for any free one."""

    def check(request: Request) -> None:
        authorize_request(request, server.port)

    def answer(request: Request, body: bytes) -> bytes:
        if request.method == "POST":
            return encode_json_response(live_page.answer_request(body))
        status, page = live_page.get_page()
        return encode_response(status, "text/html", page.encode())

    try:
        server = LoopbackServer(LOOPBACK, port, check, answer)
    except OSError as error:
        hint = "choose another --port, or leave it out for a free one"
        raise SettingError(f"port {port} of {LOOPBACK}: {error.strerror}", hint=hint) from None
    return server


def authorize_request(request: Request, port: int) -> None:
    """Check that a request comes from the page itself; raise `HttpRefusal` if not.

    A page of another origin sends its Origin, and can send JSON only after a preflight request, which is
    refused, too.
    """
    # Host comes first: with DNS rebinding, a browser takes the other site's page for the same origin.
    check_host(request, f"{LOOPBACK}:{port}", f"localhost:{port}")
    check_method(request, {"/": "GET", "/render": "POST"})
    if request.method == "GET":
        if request.length:
            raise HttpRefusal(400, "a GET request cannot have a body")
        return
    host = request.headers["host"]
    origin = request.headers.get("origin", f"http://{host}")
    site = request.headers.get("sec-fetch-site", "same-origin")
    if origin != f"http://{host}" or site != "same-origin":
        raise HttpRefusal(403, "only the page itself may send requests")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HttpRefusal(415, "the request must be JSON: Content-Type: application/json")
    if "content-length" not in request.headers:
        raise HttpRefusal(411, "Content-Length is missing")
