"""Errors of a target system as problems."""

from __future__ import annotations

import pytest

from osprofile import errors
from osprofile.executors.facility.problems import (
    STATUS_BY_KIND,
    ProblemError,
    build_problem,
    refuse,
)

TABLE = [
    (errors.JobNotFoundError("m"), 404, None),
    (errors.TemplateNotFoundError("m"), 501, None),
    (errors.ApplicationNotFoundError("m"), 400, None),
    (errors.SubmissionBusyError("m"), 409, 2),
    (errors.ScriptTimeoutError("m"), 504, None),
    (errors.ScriptError("m"), 503, 30),
    (errors.OutputError("m"), 503, 30),
    (errors.StoreError("m"), 503, 30),
    (errors.TargetError("m"), 503, 30),
    (errors.ScriptFailedError("m", template="START", exit_status=1), 422, None),
    (errors.ValueRefusedError("m", field="NODES", hint="h"), 400, None),
    (errors.UnknownFieldError("m", field="ODD"), 400, None),
    (errors.CasesError([errors.RequestError("m")]), 500, None),
    (ProblemError("conflict", "m"), 409, None),
]


@pytest.mark.parametrize(("error", "status", "retry_after"), TABLE, ids=[type(e).__name__ for e, *_ in TABLE])
def test_kinds(error: errors.OSProfileError, status: int, retry_after: int | None) -> None:
    problem = build_problem(error, {"NODES": "resources.node_count"})
    assert (problem.status, problem.retry_after) == (status, retry_after)


def test_a_refusal_has_the_member_the_reason_and_the_hint() -> None:
    problem = build_problem(
        errors.ValueRefusedError("field NODES: 5", field="NODES", hint="at most 4"),
        {"NODES": "resources.node_count"},
    )
    assert problem.format_body("http://h", "http://h/x") == {
        "type": "http://h/problems/invalid-parameter",
        "title": "Invalid parameter",
        "status": 400,
        "detail": "resources.node_count: field NODES: 5 (at most 4)",
        "instance": "http://h/x",
        "invalid_params": [{"name": "resources.node_count", "reason": "field NODES: 5 (at most 4)"}],
    }


def test_an_internal_error_has_no_details() -> None:
    problem = build_problem(errors.InvalidProfileError([errors.Problem("OSP101", "secret")]))
    assert problem.status == 500
    assert "secret" not in str(problem.format_body("r", "i"))


def test_each_kind_has_a_status_of_its_own() -> None:
    assert len({*STATUS_BY_KIND.values()}) == len(STATUS_BY_KIND)
    assert refuse("a", "b").kind == "invalid-parameter"
