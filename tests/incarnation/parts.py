"""The templates that a job script and static scripts are made of."""

from __future__ import annotations

from tests.strategies import application, invocation, template, template_of

EXECUTABLE = application("e", "Executable", "1", "RUN")


def job_parts(
    *more: str, start: str = "<JOB_SCRIPT>", prologue: str = "p", run: str = "r", epilogue: str = "e"
) -> str:
    """Return the four templates of a job with these bodies, more templates, and the application."""
    bodies = {"START": start, "JOB_PROLOGUE": prologue, "RUN": run, "JOB_EPILOGUE": epilogue}
    return "\n".join((*(template(name, body) for name, body in bodies.items()), *more, EXECUTABLE))


def bin_template(
    directory: str = "/b", path: str = "/b/<FILE_NAME>", run: str = "<TARGET> <ARGUMENTS>", *fields: str
) -> str:
    """Return BIN: where static scripts are written to, and how one is run."""
    bodies = invocation(directory), invocation(path, "STATIC_SCRIPT"), invocation(run, "RUN_STATIC_SCRIPT")
    return template_of("BIN", *bodies, *fields)
