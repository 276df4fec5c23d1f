"""BatchExtraSubmitArgs: what a site takes of it, and what it refuses."""

from __future__ import annotations

import pytest

from osprofile.executors.blah.attribute_syntax import parse_submit_options

SITE = {
    "--qos": "QOS",
    "-q": "QUEUE",
    "-C": "FEATURES",
    "--alone": "SHARED=no",
    "-x": "SHARED=",
    "-long": "LONG",
}
READ = {
    "": {},
    "--qos=fast": {"--qos": ("QOS", "fast")},
    "--qos fast": {"--qos": ("QOS", "fast")},
    "--qos=": {"--qos": ("QOS", "")},
    "--qos=a=b": {"--qos": ("QOS", "a=b")},
    "--qos --alone": {"--qos": ("QOS", "--alone")},
    "-qlong  -C 'a b'": {"-q": ("QUEUE", "long"), "-C": ("FEATURES", "a b")},
    "-q=long": {"-q": ("QUEUE", "long")},
    '-C "a&b|$(id)"': {"-C": ("FEATURES", "a&b|$(id)")},
    "-long 1": {"-long": ("LONG", "1")},
    "--alone": {"--alone": ("SHARED", "no")},
    "-x": {"-x": ("SHARED", "")},
    "-q a -q b": {"-q": ("QUEUE", "b")},
}
REFUSED = {
    "--qo=1": "the option --qo is not accepted here",
    "--qosfast": "the option --qosfast is not accepted here",
    "--wrap=id": "the option --wrap is not accepted here",
    "--alone=1": "the option --alone takes no value, but '--alone=1' has one",
    "-xy": "the option -x takes no value, but '-xy' has one",
    "--qos": "the option --qos needs a value",
    "--qos fast slow": "'slow' is not an option",
    "-- id": "the option -- is not accepted here",
    "'": "No closing quotation",
}


@pytest.mark.parametrize("text", READ)
def test_options_of_the_site(text: str) -> None:
    assert parse_submit_options(text, SITE) == READ[text]


@pytest.mark.parametrize("text", REFUSED)
def test_other_options(text: str) -> None:
    with pytest.raises(ValueError, match="^" + REFUSED[text].replace("(", "[(]")):
        parse_submit_options(text, SITE)
