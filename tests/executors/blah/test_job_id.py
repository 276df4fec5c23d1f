"""Job ids: what is one, and what is refused before anybody looks for a profile of that name."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.executors.blah.messages import JobId
from osprofile.executors.errors import JobIdError

# docs/protocols/blah.md, 2 and 3.
IDS = {
    "pbs/20250101/1560225288": JobId("pbs", "20250101", "1560225288"),
    "pbs/20051012/2957.grid001.mi.infn.it": JobId("pbs", "20051012", "2957.grid001.mi.infn.it"),
    "slurm/20261121/1406@cluster-2": JobId("slurm", "20261121", "1406", "cluster-2"),
    "pbs/20250101/12[3].srv": JobId("pbs", "20250101", "12[3].srv"),
    "linux/20250101/123-456-0a1b2c3d": JobId("linux", "20250101", "123-456-0a1b2c3d"),
    "a.b_c-d/20250101/1_2": JobId("a.b_c-d", "20250101", "1_2"),
    "flux/20250101/f4jG2v": JobId("flux", "20250101", "f4jG2v"),
    "u/20250101/4d2a1c3e-0b1c-4c55-9a11-0123456789ab": JobId(
        "u", "20250101", "4d2a1c3e-0b1c-4c55-9a11-0123456789ab"
    ),
    "k/20250101/kube-job-x7f2p": JobId("k", "20250101", "kube-job-x7f2p"),
    "pbs/20250101/1234[].server": JobId("pbs", "20250101", "1234[].server"),
    "slurm/20250101/cluster;12": JobId("slurm", "20250101", "cluster;12"),
}


@pytest.mark.parametrize("text", IDS)
def test_ids(text: str) -> None:
    found = JobId.parse(text)
    assert found == IDS[text]
    assert str(found) == text


WRONG = [
    "", "1234", "pbs/1234", "pbs/20250101", "pbs/20250101/", "/20250101/1", "pbs/2025010/1",
    "pbs/202501011/1", "pbs/2025010x/1", "../../tmp/evil/20250101/1", "../x/20250101/1",
    "./20250101/1", ".x/20250101/1", "-x/20250101/1", "a b/20250101/1", "pbs/20250101/-1",
    "pbs/20250101/--help", "pbs/20250101/;id", "pbs/20250101/$(id)", "pbs/20250101/`id`",
    "pbs/20250101/1 2", "pbs/20250101/1/2", "pbs/20250101/../x", "pbs/20250101/1\n",
    "pbs/20250101/1\x00", "pbs/20250101/'1'", 'pbs/20250101/"1"', "pbs/20250101/1@",
    "pbs/20250101/1@a b", "pbs/20250101/1@a@b", "pbs/20250101/*", "pbs/20250101/é",
    "pbs/\u0662\u0660250101/1", f"pbs/20250101/{'1' * 2000}",
]  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_id(text: str) -> None:
    with pytest.raises(JobIdError, match="Malformed job id") as caught:
        JobId.parse(text)
    assert "<lrms>/<YYYYMMDD>/<native id>" in caught.value.hint


def test_making_one() -> None:
    made = JobId.create("slurm", dt.date(2026, 1, 2), "7")
    assert str(made) == "slurm/20260102/7"
    assert str(JobId.create("slurm", dt.date(2026, 1, 2), "7", "c")) == "slurm/20260102/7@c"
    with pytest.raises(JobIdError):
        JobId.create("slurm", dt.date(2026, 1, 2), "7 8")
    with pytest.raises(JobIdError):
        JobId.create("../slurm", dt.date(2026, 1, 2), "7")


@given(st.text("pbs/20250101.@[]-_ \n'"))
def test_any_text(text: str) -> None:
    try:
        found = JobId.parse(text)
    except JobIdError:
        return
    assert str(found) == text
    assert JobId.parse(str(found)) == found
