"""What the plugins say about ends and errors of jobs."""

import osprofile

__all__ = ["describe_end", "format_error"]


def describe_end(status: osprofile.JobStatus) -> str:
    """Return how a job ended, with the batch system's own words."""
    return f"{status.describe_end()} ({status.reason})" if status.reason else status.describe_end()


def format_error(error: osprofile.OSProfileError) -> str:
    """Return the message of an error and its hint, without its location, on one line."""
    return f"{error.message} ({error.hint})" if error.hint else error.message
