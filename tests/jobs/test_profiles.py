"""What a site's profile says, in START or globally (docs/language-jobs.md, Output that the engine parses)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.profiles import format_energy, needs_confirmation, tells_energy

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
