"""Job ids as BLAH gives them: `<lrms>/<YYYYMMDD>/<native id>[@cluster]` (page, "Commands").

All that is needed to find a job stands in its id, so that it means the same to a later daemon
(seed, BLAH_JOB_SUBMIT). The lrms names a profile, and nothing but a name passes for one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import JobIdError, quote_value

if TYPE_CHECKING:
    import datetime as dt

PROFILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
"""What a profile's name from a request may be (design, "Profile documents")."""

_JOB_ID: Final = re.compile(
    r"(?P<lrms>[A-Za-z0-9][A-Za-z0-9_.-]*)/(?P<date>[0-9]{8})/"
    r"(?P<native>[A-Za-z0-9][A-Za-z0-9\[\]_.:+=,~#-]*)"
    r"(?:@(?P<cluster>[A-Za-z0-9][A-Za-z0-9_.-]*))?\Z"
)


@final
class JobId(NamedTuple):
    """A job's id. `native` is the batch system's; `date` (YYYYMMDD) is when it was submitted."""

    lrms: str
    date: str
    native: str
    cluster: str | None = None

    def __str__(self) -> str:
        cluster = f"@{self.cluster}" if self.cluster else ""
        return f"{self.lrms}/{self.date}/{self.native}{cluster}"

    @classmethod
    def parse(cls, text: str) -> JobId:
        """Read an id. `JobIdError` for anything else: its result has the code `MALFORMED_ID`."""
        found = _JOB_ID.match(text) if len(text) <= 1024 else None
        if found is None:
            hint = "<lrms>/<YYYYMMDD>/<native id>, as in slurm/20261121/1406"
            message = f"Malformed job id {quote_value(text)}"
            raise JobIdError(message, hint=hint)
        return cls(found["lrms"], found["date"], found["native"], found["cluster"])

    @classmethod
    def create(cls, lrms: str, date: dt.date, native: str, cluster: str | None = None) -> JobId:
        """Make an id for a job. `JobIdError` where it could not be read again."""
        return cls.parse(str(cls(lrms, f"{date:%Y%m%d}", native, cluster)))
