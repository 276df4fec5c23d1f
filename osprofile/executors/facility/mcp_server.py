"""The Model Context Protocol over the tools of a facility, by the SDK `mcp`."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from osprofile import __version__
from osprofile.executors.facility.problems import ProblemError, find_problem
from osprofile.executors.facility.tools import ToolBox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.server import ServerRequestContext

    from osprofile.executors.facility.facility import Account, Facility

_CONFIRMATION: Final = "confirm"
_MAX_SHOWN: Final = 4000
"""Characters of a call that a person is shown: nobody confirms what is cut."""
_SHOWN_FIRST: Final = ("executable", "arguments")
INSTRUCTIONS: Final = (
    "Jobs on a batch system. Each result has the next call that follows from it. "
    "A refusal says which member was refused, its limit or its place: correct it, and call the tool again. "
    "A job continues when this conversation ends: ask for its status later."
)


def build_server(
    facility: Facility,
    find_account: Callable[[ServerRequestContext[Any]], Account],
    note: Callable[[ServerRequestContext[Any], Mapping[str, object]], None] = lambda _context, _facts: None,
) -> Server[Any]:
    """Return the server. `find_account` returns the account of the client of a request; `note` takes what is to be known of it."""
    tools = ToolBox(facility)

    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=tool.schema,
                    annotations=types.ToolAnnotations(
                        read_only_hint=tool.is_read_only, destructive_hint=tool.name == "cancel"
                    ),
                )
                for tool in tools.tools.values()
            ]
        )

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        arguments = params.arguments or {}
        try:
            account = find_account(context)
            named = {
                name.removesuffix("_id"): value
                for name in ("resource", "job_id", "path")
                if isinstance(value := arguments.get(name), str)
            }
            note(context, {"operation": f"tool {params.name}", **named})
            if resource_id := tools.find_change(params.name, arguments):
                await tools.check(account, params.name, arguments)
                question = await _confirm(context, params, resource_id)
                if question is not None:
                    return question
            result = await tools.call(account, params.name, arguments)
            note(context, {"job": result.get("id", named.get("job"))})
            return _format_result(result)
        except Exception as error:  # noqa: BLE001  # which must not end the server
            problem = find_problem(error, f"tool {params.name!r}")
            note(context, {"status": problem.status})
            return _format_result(problem.format_body("", ""), is_error=True)

    return Server(
        "osprofile",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _format_result(value: Mapping[str, Any], *, is_error: bool = False) -> types.CallToolResult:
    shown = {name: item for name, item in value.items() if not (is_error and name in {"type", "instance"})}
    text = json.dumps(shown, indent=1, ensure_ascii=True)
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=shown, is_error=is_error)


async def _confirm(
    context: ServerRequestContext[Any], params: types.CallToolRequestParams, resource_id: str
) -> types.InputRequiredResult | None:
    """Ask a person, by the client; return None if a call is confirmed, or the question, if its client repeats the call.

    Raises `ProblemError` if it is not confirmed.
    """
    arguments = params.arguments or {}
    names = sorted(arguments, key=lambda name: (name not in _SHOWN_FIRST, name != "executable", name))
    shown = json.dumps({name: arguments[name] for name in names}, indent=1)
    if len(shown) > _MAX_SHOWN:
        message = f"a person must confirm this, and it is too long to be shown: {len(shown)} characters of at most {_MAX_SHOWN}"
        hint = "put long arguments, variables or scripts into a file, and name the file"
        raise ProblemError("too-large", message, hint=hint)
    state = hashlib.sha256(f"{params.name}\n{shown}".encode()).hexdigest()
    question = types.ElicitRequestFormParams(
        message=f"{params.name}, on {resource_id}:\n{shown}",
        requested_schema={
            "type": "object",
            "properties": {_CONFIRMATION: {"type": "boolean", "title": "Do this?"}},
            "required": [_CONFIRMATION],
        },
    )
    answer: Any
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        if params.request_state != state:
            return types.InputRequiredResult(
                input_requests={_CONFIRMATION: types.ElicitRequest(params=question)}, request_state=state
            )
        answer = (params.input_responses or {}).get(_CONFIRMATION)
    else:
        try:
            answer = await context.session.elicit_form(
                question.message, question.requested_schema, context.request_id
            )
        except MCPError:
            message = "a person must confirm this, and this client cannot ask one"
            raise ProblemError("forbidden", message, hint="use a client that supports elicitation") from None
    is_confirmed = isinstance(answer, types.ElicitResult) and answer.action == "accept"
    if not (is_confirmed and (answer.content or {}).get(_CONFIRMATION) is True):
        raise ProblemError(
            "forbidden", "the person who was asked has not confirmed this", hint="do not repeat it"
        )
    return None
