"""Times and sizes, by the examples of the manual pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.job_scripts import quantities
from osprofile.job_scripts.command_line import OptionValue, UsageError
from osprofile.text import format_clock

SLURM_TIMES = {
    "INFINITE": 999999999, "unlimited": 999999999, "0": 999999999, "-1": 999999999, "0:0": 999999999,
    "00:00:00": 999999999, "1": 60, "90": 5400, "10:30": 630, "01:30:00": 5400, "00:00:01": 1, "1-0": 86400, "1-12": 129600,
    "1-12:30": 131400, "2-01:02:03": 176523, "0:1": 1, "100:00:00": 360000,
}  # fmt: skip
PBS_TIMES = {"1": 1, "3600": 3600, "10:30": 630, "01:30:00": 5400, "120:00:00": 432000, "5.25": 5}
SLURM_SIZES = {
    "0": 0, "0G": 0, "1": 1, "100": 100, "100M": 100, "100m": 100, "1K": 1, "1024K": 1, "1025K": 2, "4G": 4096, "1T": 1048576,
    "2GB": 2048, "10MB": 10,
}  # fmt: skip
PBS_SIZES = {
    "1": 1, "1048576": 1, "1048577b": 2, "100kb": 1, "1024kb": 1, "1025kb": 2, "100mb": 100, "4gb": 4096,
    "4GB": 4096, "4g": 4096, "1tb": 1048576, "1mw": 8, "131072w": 1,
}  # fmt: skip
PARSERS = [
    (quantities.parse_slurm_time, SLURM_TIMES),
    (quantities.parse_pbs_time, PBS_TIMES),
    (quantities.parse_slurm_size, SLURM_SIZES),
    (quantities.parse_pbs_size, PBS_SIZES),
    (quantities.parse_count, {"1": 1, "012": 12, "999999999": 999999999}),
]
REFUSED = [
    "",
    "0",
    "-1",
    "x",
    "1x",
    "1:",
    ":1",
    "1 ",
    " 1",
    "1\n",
    "1.x",
    "٣",
    "0x10",
    "1e3",
    "9" * 5000,
    "--",
    "1-",
    "1:2:3:4",
    "1-1:1:1:1",
]


@pytest.mark.parametrize(("parse", "table"), PARSERS)
def test_tables(parse, table) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    assert {text: parse(OptionValue("-x", text)) for text in table} == table


@pytest.mark.parametrize("text", REFUSED)
@pytest.mark.parametrize("parse", [parse for parse, _ in PARSERS])
def test_anything_else_is_refused(parse, text: str) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    if text in dict(PARSERS)[parse]:
        return
    with pytest.raises(UsageError, match=r"\A-x: ") as refusal:
        parse(OptionValue("-x", text))
    assert refusal.value.hint


@given(st.text(max_size=12))
def test_every_text_is_a_number_or_refused(text: str) -> None:
    for parse, _ in PARSERS:
        try:
            assert parse(OptionValue("-x", text)) >= (parse is not quantities.parse_slurm_size)
        except UsageError as error:
            assert error.hint  # noqa: PT017


@pytest.mark.parametrize(
    ("seconds", "elapsed", "clock", "pbs"),
    [
        (0, "0:00", "00:00:00", "00:00:00"),
        (65, "1:05", "00:01:05", "00:01:05"),
        (3723, "1:02:03", "01:02:03", "01:02:03"),
        (40000, "11:06:40", "11:06:40", "11:06:40"),
        (90061, "1-01:01:01", "1-01:01:01", "25:01:01"),
    ],
)
def test_formats(seconds: int, elapsed: str, clock: str, pbs: str) -> None:
    assert quantities.format_elapsed(seconds) == elapsed
    assert quantities.format_days(seconds) == clock
    assert format_clock(seconds) == pbs


def test_dates() -> None:
    assert quantities.parse_iso_time(OptionValue("-b", "2030-12-31")) == "2030-12-31T00:00"
    assert quantities.parse_iso_time(OptionValue("-b", "2030-12-31T23:59:30")) == "2030-12-31T23:59:30"
    for text in ("now", "16:00", "2030-12-31T23", "2030-12-31T23:59x", "tomorrow"):
        with pytest.raises(UsageError):
            quantities.parse_iso_time(OptionValue("-b", text))
