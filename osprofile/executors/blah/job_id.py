"""Job ids of BLAH: `<lrms>/<YYYYMMDD>/<native id>[@cluster]` (docs/protocols/blah.md, 3).

An id holds all that is needed to find the job, so that a later daemon understands it
(docs/protocols/blah.md, 2.3). The lrms is the name of a profile, never a path.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import JobIdError, quote_value

if TYPE_CHECKING:
    import datetime as dt

PROFILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
"""A profile's name in a request (docs/security.md, Names)."""

_JOB_ID: Final = re.compile(
    r"(?P<lrms>[A-Za-z0-9][A-Za-z0-9_.-]*)/(?P<date>[0-9]{8})/"
    r"(?P<native>[A-Za-z0-9][A-Za-z0-9\[\]_.:+=,~#-]*)"
    r"(?:@(?P<cluster>[A-Za-z0-9][A-Za-z0-9_.-]*))?\Z"
)

_MAX_LENGTH: Final = 1024


@final
class JobId(NamedTuple):
    """A job's id. `native` is the batch system's id; `date` (YYYYMMDD) that of the submission."""

    lrms: str
    date: str
    native: str
    cluster: str | None = None

    def __str__(self) -> str:
        cluster = f"@{self.cluster}" if self.cluster else ""
        return f"{self.lrms}/{self.date}/{self.native}{cluster}"

    @classmethod
    def parse(cls, text: str) -> JobId:
        """Parse a job id. Raises `JobIdError` for a malformed one."""
        found = _JOB_ID.match(text) if len(text) <= _MAX_LENGTH else None
        if found is None:
            hint = "<lrms>/<YYYYMMDD>/<native id>, as in slurm/20261121/1406"
            message = f"Malformed job id {quote_value(text)}"
            raise JobIdError(message, hint=hint)
        return cls(found["lrms"], found["date"], found["native"], found["cluster"])

    @classmethod
    def create(cls, lrms: str, date: dt.date, native: str, cluster: str | None = None) -> JobId:
        """Return the id of a job. Raises `JobIdError` for one that `parse` would refuse."""
        return cls.parse(str(cls(lrms, f"{date:%Y%m%d}", native, cluster)))
