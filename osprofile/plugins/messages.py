"""What the plugins say about ends and errors of jobs."""

import osprofile

__all__ = ["describe_end", "format_error"]


def describe_end(status: osprofile.JobStatus) -> str:
    """Return how a job ended, as the rest of a sentence about it."""
    if status.state is osprofile.JobState.DONE:
        return f"ended with exit code {status.exit_code}"
    details = [
        f"signal {status.signal}" if status.signal is not None else "",
        "over a limit" if status.limit_exceeded else "",
        status.reason,
    ]
    text = ", ".join(filter(None, details))
    return f"is {status.state}" + (f" ({text})" if text else "")


def format_error(error: osprofile.OSProfileError) -> str:
    """Return the message of an error and its hint, without its location, on one line."""
    return f"{error.message} ({error.hint})" if error.hint else error.message
