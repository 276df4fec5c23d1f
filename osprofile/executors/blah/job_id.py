"""Job ids of BLAH: `<batch system>/<YYYYMMDD>/<native id>[@cluster]` (docs/protocols/blah.md, 3).

An id holds all that is needed to find the job, so that a later daemon understands it
(docs/protocols/blah.md, 2.3). The batch system is given by its GridType, which is never a path.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.executors.errors import JobIdError
from osprofile.text import quote_value

if TYPE_CHECKING:
    import datetime as dt

PROFILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
"""What a client may send as the name of a profile or a GridType (docs/security.md, Names)."""

_JOB_ID: Final = re.compile(
    r"(?P<grid_type>[A-Za-z0-9][A-Za-z0-9_.-]*)/(?P<date>[0-9]{8})/"
    r"(?P<native_id>[A-Za-z0-9][A-Za-z0-9\[\]_.:;+=,~#-]*)"
    r"(?:@(?P<cluster>[A-Za-z0-9][A-Za-z0-9_.-]*))?\Z"
)

_MAX_LENGTH: Final = 1024


@final
class JobId(NamedTuple):
    """A job's id. `native_id` is the batch system's id; `date` (YYYYMMDD) that of the submission."""

    grid_type: str
    date: str
    native_id: str
    cluster: str | None = None

    def __str__(self) -> str:
        cluster = f"@{self.cluster}" if self.cluster else ""
        return f"{self.grid_type}/{self.date}/{self.native_id}{cluster}"

    @classmethod
    def parse(cls, text: str) -> JobId:
        """Parse a job id. Raises `JobIdError` for a malformed one."""
        match = _JOB_ID.match(text) if len(text) <= _MAX_LENGTH else None
        if match is None:
            hint = "<lrms>/<YYYYMMDD>/<native id>, as in slurm/20261121/1406"
            message = f"Malformed job id {quote_value(text)}"
            raise JobIdError(message, hint=hint)
        return cls(**match.groupdict())

    @classmethod
    def create(cls, grid_type: str, date: dt.date, native_id: str, cluster: str | None = None) -> JobId:
        """Return the id of a job submitted on `date`. Raises `JobIdError` for one that `parse` refuses."""
        return cls.parse(str(cls(grid_type, f"{date:%Y%m%d}", native_id, cluster)))
