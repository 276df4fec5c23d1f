"""Attributes: definitions, values, what is never sent (docs/protocols/ptp.md, 1.4, 4.2 and 4.3)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.executors.ptp.attributes import (
    PREDEFINED,
    AttributeDefinition,
    AttributeType,
    AttributeValue,
    decode_attribute,
    encode_attribute,
)
from osprofile.executors.ptp.wire import LocalError

T = AttributeType


class Word(StrEnum):
    UP = "UP"


# (section, id, value, what goes over the wire)
VALUES: list[tuple[str, str, AttributeValue, str]] = [
    ("1.4", "machineState", "ALERT", "machineState=ALERT"),
    ("1.4", "execName", "-a 2 -b 4", "execName=-a 2 -b 4"),
    ("4.3", "name", "vm", "name=vm"),
    ("4.3", "id", 16777217, "id=16777217"),
    ("4.3", "nodeState", Word.UP, "nodeState=UP"),
    ("4.3", "nodeNumber", 0, "nodeNumber=0"),
    ("4.3", "debug", True, "debug=true"),
    ("4.3", "debug", "false", "debug=false"),
    ("4.3", "processExitCode", -1, "processExitCode=-1"),
    ("4.3", "processNodeId", 16777218, "processNodeId=16777218"),
    ("4.3", "errorCode", 2**31 - 1, "errorCode=2147483647"),
    ("4.3", "messageLevel", "INFO", "messageLevel=INFO"),
    ("4.2: undefined ids become STRING", "WALLTIME", 60, "WALLTIME=60"),
    ("4.2: undefined ids become STRING", "X", False, "X=false"),
    ("4.2: undefined ids become STRING", "X", 1.5, "X=1.5"),
    ("1.2: values may hold spaces, '=', newlines", "name", "a=b\nc d", "name=a=b\nc d"),
    ("1.2: US-ASCII only", "name", "caf\u00e9", r"name=caf\xe9"),
    ("1.2: US-ASCII only", "X", "\u2019", r"X=\u2019"),
]


@pytest.mark.parametrize(("section", "id_", "value", "text"), VALUES)
def test_values(section: str, id_: str, value: AttributeValue, text: str) -> None:
    assert encode_attribute(id_, value) == text, section
    assert decode_attribute(text) == (id_, text[len(id_) + 1 :])


ENUMERATIONS = [
    ("jobState", "STARTING RUNNING SUSPENDED COMPLETED", "QUEUED"),
    ("processState", "STARTING RUNNING SUSPENDED COMPLETED", "EXITED"),
    ("machineState", "UP DOWN ALERT ERROR UNKNOWN", "up"),
    ("nodeState", "UP DOWN ERROR UNKNOWN", "ALERT"),
    ("queueState", "NORMAL STOPPED", "UP"),
    ("rmState", "STARTING STARTED STOPPING STOPPED SUSPENDED ERROR", "UP"),
    ("messageLevel", "FATAL ERROR WARNING INFO DEBUG UNDEFINED", "info"),
]


@pytest.mark.parametrize(("id_", "words", "wrong"), ENUMERATIONS)
def test_enumerations_are_enforced(id_: str, words: str, wrong: str) -> None:
    """docs/protocols/ptp.md, 4.3; an illegal enum value would be dropped."""
    for word in words.split():
        assert encode_attribute(id_, word) == f"{id_}={word}"
    for word in (wrong, "", "UP DOWN"):
        with pytest.raises(LocalError, match=f"attribute {id_}: .* is not one of {words}"):
            encode_attribute(id_, word)


@pytest.mark.parametrize(
    ("id_", "value", "text"),
    [
        ("errorCode", -1, "attribute errorCode: '-1' is outside 0 to 2147483647"),
        ("errorCode", 2**31, "attribute errorCode: '2147483648' does not fit into 32 bits"),
        ("nodeNumber", 2**31, "attribute nodeNumber: '2147483648' does not fit into 32 bits"),
        ("nodeNumber", "one", "attribute nodeNumber: 'one' is not an integer"),
        ("nodeNumber", "", "attribute nodeNumber: '' is not an integer"),
        ("nodeNumber", "1\n", r"attribute nodeNumber: '1\\n' is not an integer"),
        ("nodeNumber", "\u0661", r"attribute nodeNumber: .* is not an integer"),
        ("debug", "yes", "attribute debug: 'yes' is neither true nor false"),
        ("debug", 1, "attribute debug: '1' is neither true nor false"),
        ("progArgs", "-a", "attribute progArgs: '-a' would be split into characters"),
        ("env", "A=b", "attribute env: 'A=b' would be split into characters"),
        ("a=b", "c", "'a=b' is not an id of an attribute"),
        ("a b", "c", "'a b' is not an id of an attribute"),
        ("", "c", "'' is not an id of an attribute"),
    ],
)
def test_what_is_never_sent(id_: str, value: AttributeValue, text: str) -> None:
    with pytest.raises(LocalError, match=text):
        encode_attribute(id_, value)


def test_all_that_the_page_names_is_known() -> None:
    names = """id name messageLevel messageCode messageText errorCode errorMsg filterChildren
        jobState processState machineState nodeState queueState rmState
        jobId jobSubId queueId userId execName execPath workingDir jobStatus jobStatusMessage
        jobNumProcs ioForwarding debug debugStopInMain launchedByPTP env progArgs debugArgs
        nodeNumber nodeStatus numNodes queueStatus rmDescription rmID rmType
        processExitCode processStatus processSignalName processStdout processStderr processNodeId
        processPID processIndex"""
    assert set(names.split()) == set(PREDEFINED)


# (what, the definition of A, what ATTR_DEF says)
DEFINITIONS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("STRING has 6", {"name": "The A", "description": "What A is.", "default": "x"},
     ["6", "A", "STRING", "The A", "What A is.", "true", "x"]),
    ("BOOLEAN has 6; DISPLAY is true or false", {"type": T.BOOLEAN, "display": False, "default": "true"},
     ["6", "A", "BOOLEAN", "A", "", "false", "true"]),
    ("INTEGER has 6", {"type": T.INTEGER, "default": "5"},
     ["6", "A", "INTEGER", "A", "", "true", "5"]),
    ("INTEGER has 8 with MIN MAX", {"type": T.INTEGER, "default": "5", "minimum": 1.0, "maximum": 64.0},
     ["8", "A", "INTEGER", "A", "", "true", "5", "1", "64"]),
    ("BIGINTEGER has 8 with MIN MAX", {"type": T.BIGINTEGER, "default": "0", "minimum": 0, "maximum": 2**40},
     ["8", "A", "BIGINTEGER", "A", "", "true", "0", "0", "1099511627776"]),
    ("DOUBLE has 8 with MIN MAX", {"type": T.DOUBLE, "default": "1.5", "minimum": 1, "maximum": 2.25},
     ["8", "A", "DOUBLE", "A", "", "true", "1.5", "1.0", "2.25"]),
    ("ENUMERATED has 6+n", {"type": T.ENUMERATED, "default": "y", "values": ("x", "y", "z")},
     ["9", "A", "ENUMERATED", "A", "", "true", "y", "x", "y", "z"]),
    ("1.2: US-ASCII only", {"description": "caf\u00e9"},
     ["6", "A", "STRING", "A", r"caf\xe9", "true", ""]),
]  # fmt: skip


@pytest.mark.parametrize(("what", "definition", "texts"), DEFINITIONS)
def test_definitions(what: str, definition: dict[str, Any], texts: list[str]) -> None:
    """docs/protocols/ptp.md, 4.2."""
    assert AttributeDefinition(id="A", **definition).format_arguments() == texts, what


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        (AttributeDefinition(id="A", type=T.DATE), "the client cannot read the type DATE here"),
        (AttributeDefinition(id="A", type=T.ARRAY), "the client cannot read the type ARRAY here"),
        (AttributeDefinition(id="A", type=T.INTEGER), "'' is not an integer"),
        (AttributeDefinition(id="A", type=T.DOUBLE, default="nan"), "is not finite"),
        (AttributeDefinition(id="A", type=T.DOUBLE, default="x"), "is not a number"),
        (AttributeDefinition(id="A", type=T.ENUMERATED, values=("x",)), "is not one of x"),
        (AttributeDefinition(id="A", type=T.BOOLEAN), "is neither true nor false"),
        (AttributeDefinition(id="A", type=T.INTEGER, default="9", minimum=1, maximum=8), "is outside 1 to 8"),
        (AttributeDefinition(id="a=b"), "is not an id"),
        (AttributeDefinition(id="caf\u00e9"), "is not an id"),
    ],
)
def test_definitions_that_the_client_would_not_take(definition: AttributeDefinition, text: str) -> None:
    with pytest.raises(LocalError, match=text):
        definition.format_arguments()


def test_a_date_has_any_text() -> None:
    assert AttributeDefinition(id="A", type=T.DATE).validate_value("1 May 2010") == "1 May 2010"


@pytest.mark.parametrize("argument", ["", "3", "=x", "=", "no attribute"])
def test_what_is_no_attribute(argument: str) -> None:
    """docs/protocols/ptp.md, 4.1: arguments without '=' are skipped."""
    assert decode_attribute(argument) is None


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9_.:-]{0,20}", fullmatch=True), st.text())
def test_any_text_can_be_said(id_: str, value: str) -> None:
    if id_ in PREDEFINED:
        return
    found = decode_attribute(encode_attribute(id_, value))
    assert found is not None
    assert found[0] == id_
    assert found[1].isascii()
    if value.isascii():
        assert found[1] == value


@given(st.sampled_from(sorted(PREDEFINED)), st.text() | st.integers() | st.booleans())
def test_any_value_is_said_or_refused(id_: str, value: AttributeValue) -> None:
    try:
        text = encode_attribute(id_, value)
    except LocalError as error:
        assert id_ in str(error)  # noqa: PT017
    else:
        assert text.startswith(f"{id_}=")
        assert text.isascii()
