"""What a site's profile says, in START or globally (docs/language-jobs.md, Output that the engine parses)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile.errors import OSProfileError
from osprofile.jobs.profiles import (
    format_energy,
    needs_confirmation,
    parse_confirmation,
    read_confirmation_limits,
    tells_energy,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.profile.model import Profile


@pytest.mark.parametrize("place", ['name="START"', ""])
def test_the_fields_of_a_site_count_in_start_and_globally(load: Callable[[str], Profile], place: str) -> None:
    values = {"SITE_CONFIRM": "yes", "ENERGY_PRICE": "0.30 EUR"}
    fields = "".join(
        f'<idb:Field name="{name}" isSettable="false"><idb:Value>{value}</idb:Value></idb:Field>'
        for name, value in values.items()
    )
    profile = load(f"<idb:Template {place}>{fields}</idb:Template>")
    assert needs_confirmation(profile)
    assert tells_energy(profile)
    assert format_energy(profile, 4.5e6) == "1.25 kWh (0.38 EUR)"
    assert not needs_confirmation(load(""))


def test_the_limits_above_which_a_site_asks(load: Callable[[str], Profile]) -> None:
    """One form for lint and for the submission: a name is that of any field."""
    for text, limits in (
        ("yes", {}),
        ("no NODES>1", {"NODES": 1}),
        ("GPU_2>0\nmy.field>5", {"GPU_2": 0, "my.field": 5}),
        ("NODES>100, WALLTIME>5", None),
        ("WALLTIME>48h", None),
        ("", None),
        ("1A>5", None),
    ):
        assert parse_confirmation(text) == limits
    field = '<idb:Template><idb:Field name="SITE_CONFIRM" isSettable="false"><idb:Value>maybe</idb:Value></idb:Field></idb:Template>'
    with pytest.raises(OSProfileError, match=r"SITE_CONFIRM of profile .* is 'maybe'"):
        read_confirmation_limits(load(field))
    assert read_confirmation_limits(load("")) == {}
