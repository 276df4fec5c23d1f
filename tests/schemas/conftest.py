"""The schemas, compiled by both engines: libxml2 decides, xmlschema explains."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import xmlschema
from lxml import etree

SCHEMAS = Path(__file__).parents[2] / "schemas"

# Takes a document, gives what is wrong with it: nothing if it is valid.
Engine = Callable[[str], list[str]]


def libxml2(schema: Path) -> Engine:
    compiled = etree.XMLSchema(file=schema)

    def errors(document: str) -> list[str]:
        valid = compiled.validate(etree.fromstring(document.encode()))
        found = [str(entry.message) for entry in compiled.error_log]
        assert valid is not bool(found)
        return found

    return errors


def python(schema: Path) -> Engine:
    # A URI: xmlschema decodes a path's %20.
    compiled = xmlschema.XMLSchema10(schema.as_uri())
    return lambda document: [f"{e.path}: {e.reason}" for e in compiled.iter_errors(document)]


@pytest.fixture(scope="session")
def engines() -> dict[str, Engine]:
    main = SCHEMAS / "osprofile.xsd"
    return {"libxml2": libxml2(main), "xmlschema": python(main)}


@pytest.fixture(params=["libxml2", "xmlschema"])
def engine(request: pytest.FixtureRequest, engines: dict[str, Engine]) -> Engine:
    """Return each engine in turn."""
    return engines[request.param]


@pytest.fixture(scope="session")
def schemas() -> Path:
    return SCHEMAS
