"""What `incarnate job submit --dry-run` prints: what the job would ask for, and the script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.cli import common
from osprofile.profile.model import PASSED
from osprofile.text import escape_unprintable, quote_path

if TYPE_CHECKING:
    from osprofile.cli.job.session import CommandSession
    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.target_system import TargetSystem


async def print_preview(
    session: CommandSession, target: TargetSystem, description: JobDescription, *, json: bool
) -> None:
    """Print the fields that a job would have, each with the directive that gives it, and START for it."""
    start = await target.preview(description)
    values = {
        name: field.value
        for name, field in sorted(start.fields.items())
        if field.value and (field.origin == "request" or name == PASSED)
    }
    directives = {name: str(option) for name, option in session.directives.items() if name in values}
    if json:
        common.print_json(
            {
                "fields": values,
                "directives": directives,
                "inputs": list(description.inputs),
                "fetch": list(description.fetch),
                "script": start.text,
            }
        )
        return
    width = max(map(len, values), default=0)
    lines = []
    for name, value in values.items():
        where = f"  ({directives[name]})" if name in directives else ""
        lines.append(f"# {name:{width}}  {escape_unprintable(value.rstrip())}{escape_unprintable(where)}")
    lines += [f"# copied here: {quote_path(path)}" for path in description.inputs]
    common.print_result("\n".join([*lines, start.text]))
