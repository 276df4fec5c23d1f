"""The options that several verbs `incarnate job ...` have: of the target system, and of a job's description."""

# No `from __future__ import annotations`: `read_parameters` needs the evaluated annotations.
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, final

from osprofile.cli import common
from osprofile.cli.options import (
    ContextOption,
    Option,
    OptionGroup,
    Parameter,
    ProfileOption,
    ProfilesOption,
    read_parameters,
)
from osprofile.late import NamedTuple


@final
class TargetSelection(NamedTuple):
    """The options of a command line that select target systems; `profile` is the value of `--profile`."""

    profile: str | None
    context: Mapping[str, str]
    profiles: Sequence[str]
    store: str | None


def _declare_target(profile_option: Any) -> OptionGroup:
    """Return the options that select a target system; each verb says in its own words what its profile is."""

    def select_target(
        *,
        profile: profile_option = None,
        host: Annotated[
            str | None,
            Option(("--host",), "Use another machine, by ssh.", "[USER@]HOST[:PORT]"),
        ] = None,
        cluster: Annotated[
            str | None,
            Option(("--cluster",), "Use this one of several clusters of the batch system.", "NAME"),
        ] = None,
        context: ContextOption = [],
        profiles: ProfilesOption = [],
        store: Annotated[
            str | None,
            Option(
                ("--store",),
                "The record of the jobs [default: osprofile/jobs.db in $XDG_STATE_HOME, ~/.local/state].",
                "FILE",
                "",
                "OSPROFILE_STORE",
            ),
        ] = None,
    ) -> TargetSelection:
        from osprofile.jobs.record.names import CLUSTER_FIELD, parse_host_context

        special = common.parse_assignments(context, "--context")
        if host is not None:
            special |= parse_host_context(host)
            if not special["SSH:HOST"]:
                raise common.UsageError(f"--host {host!r} does not name a host")
        if cluster is not None:
            special[CLUSTER_FIELD] = cluster
        return TargetSelection(profile, special, profiles, store)

    return OptionGroup(lambda: read_parameters(select_target), select_target)


def _declare_recorded_target(profile_help: str) -> OptionGroup:
    option = Option(("--profile", "-p"), profile_help, "NAME|PATH", "profiles")
    return _declare_target(Annotated[str | None, option])


SubmissionTarget = Annotated[TargetSelection, _declare_target(ProfileOption)]
RecordedTarget = Annotated[
    TargetSelection,
    _declare_recorded_target(
        "The profile of the jobs' target system [default: as recorded, then $OSPROFILE_PROFILE]."
    ),
]
ListedTarget = Annotated[
    TargetSelection,
    _declare_recorded_target("List only jobs of this profile; needed for JOB that is not in the record."),
]


def _list_job_options() -> list[Parameter]:
    """Return an option for each attribute of `JobDescription` that has one in the table of fields."""
    from osprofile.jobs.fields import FIELDS, Kind

    types: dict[Kind, tuple[Any, object]] = {
        Kind.JOBS: (list[str], []),
        Kind.WORDS: (list[str], []),
        Kind.RULES: (list[str], []),
        Kind.VARIABLES: (list[str], []),
        Kind.SWITCH: (bool, False),
    }
    parameters = []
    for attribute, field in FIELDS.items():
        if field.option:
            completer = "jobs" if field.kind is Kind.JOBS else ""
            option = Option(field.flags, field.help, field.metavar, completer)
            parameters.append(Parameter(attribute, option, *types.get(field.kind, (str | None, None))))
    return parameters


def _parse_job_options(**texts: Any) -> dict[str, Any]:
    """Return the values of attributes of `JobDescription`, by the texts of their options."""
    from osprofile.cli.job.quantities import parse_amount
    from osprofile.jobs.fields import FIELDS, Kind

    values: dict[str, Any] = {}
    for attribute, text in texts.items():
        field = FIELDS[attribute]
        if field.kind is Kind.VARIABLES:
            values[attribute] = _parse_variables(text)
        elif field.kind is Kind.SWITCH:
            values[attribute] = text or None
        elif isinstance(text, str):
            values[attribute] = parse_amount(field.kind, field.flags[0], text)
        else:
            values[attribute] = text
    return values


def _parse_variables(assignments: list[str]) -> dict[str, str]:
    try:
        return common.parse_assignments(assignments, "--env")
    except common.UsageError as error:
        error.hint = error.hint or "-e is short for --env; for the file of standard error use --stderr"
        raise


JobFieldOptions = Annotated[dict[str, Any], OptionGroup(_list_job_options, _parse_job_options)]
