"""The templates that a job script and static scripts are made of."""

from __future__ import annotations

from tests.strategies import application, invocation, template, template_of

EXECUTABLE = application("e", "Executable", "1", "RUN")


def job_parts(
    start: str = "<JOB_SCRIPT>", prologue: str = "p", run: str = "r", epilogue: str = "e", *fields: str
) -> str:
    """Return the four templates of a job with these bodies, and the application; the prologue has the fields."""
    parts = template("START", start), template("JOB_PROLOGUE", prologue, *fields)
    return "".join((*parts, template("RUN", run), template("JOB_EPILOGUE", epilogue), EXECUTABLE))


def bin_template(
    directory: str = "/b",
    path: str = "/b/<FILE_NAME>",
    run: str = "<TARGET> <ARGUMENTS>",
    *fields: str,
) -> str:
    """Return BIN: where static scripts are written to, and how one is run."""
    bodies = invocation(directory), invocation(path, "STATIC_SCRIPT"), invocation(run, "RUN_STATIC_SCRIPT")
    return template_of("BIN", *bodies, *fields)
