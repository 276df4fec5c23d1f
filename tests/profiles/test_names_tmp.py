"""x"""
from __future__ import annotations
import re
from pathlib import Path
import pytest
from tests.profiles.conftest import PROFILES
from tests.profiles.systems import SYSTEMS, make_system, StandIn
NAMES = sorted({n for f in [*PROFILES.glob("*/*.sh"), *PROFILES.glob("*/*.xml")] for n in re.findall(r"(?:^|[\s;(])([a-z_][a-z0-9_]*)=", f.read_text(), re.M)} - {"in"})

@pytest.mark.parametrize("name", SYSTEMS)
def test_names(name, target_of, tmp_path):
    print(len(NAMES))
    system = make_system(name, target_of, tmp_path / "commands")
    system.target.environment |= {n: "mine" for n in NAMES}
    job = system.target.start(EXECUTABLE="/usr/bin/env", STDOUT="out")
    system.begin(job); system.end(job)
    out = dict(l.partition("=")[::2] for l in (Path(job.directory) / "out").read_text().splitlines())
    changed = {n: out.get(n) for n in NAMES if out.get(n) != "mine"}
    assert changed == {}
