"""`incarnate render`: turns a template into a script, and prints or runs it."""

import sys
from typing import TYPE_CHECKING, Annotated

from osprofile.cli import common
from osprofile.cli.options import (
    ApplicationOption,
    Argument,
    ContextOption,
    FieldsOption,
    JsonOption,
    Option,
    ProfileOption,
    ProfilesOption,
    SetFileOption,
    SetOption,
    StrictOption,
    VariationOption,
)

if TYPE_CHECKING:
    from osprofile.incarnation.incarnate import Incarnation
    from osprofile.jobs.process import ProcessResult


def render(
    *,
    template: Annotated[str, Argument("The template, as in START.", "TEMPLATE", "templates")],
    profile: ProfileOption = None,
    set: SetOption = [],  # noqa: A002  # the option's name
    set_file: SetFileOption = [],
    fields: FieldsOption = None,
    context: ContextOption = [],
    variation: VariationOption = "",
    application: ApplicationOption = None,
    profiles: ProfilesOption = [],
    strict: StrictOption = True,
    run: Annotated[
        bool, Option(("--run",), "Run the script with the profile's SHELL, and exit with its exit code.")
    ] = False,
    self_contained: Annotated[
        bool,
        Option(("--self-contained",), "Print the deployment of static scripts, too: the text runs anywhere."),
    ] = False,
    json: JsonOption = False,
) -> int:
    """Turn a template into a script, and print it or run it.

    The word render can be omitted.

    Examples:
      incarnate START --profile pbs --set EXECUTABLE=/bin/date --set QUEUE=long
      incarnate START -p linux -s EXECUTABLE=/bin/echo -s ARGUMENTS="'a b'" --run
      incarnate GET_JOB_STATUS --profile slurm --variation ALL --run
    """
    from osprofile.cli.request import read_request
    from osprofile.incarnation.incarnate import incarnate

    resolved = common.open_profile(profile, profiles)
    special = common.build_context(resolved, context)
    incarnation = incarnate(
        resolved,
        template,
        fields=read_request(fields, set_file, set),
        variation=variation,
        application=application,
        context=special,
        strict=strict,
    )
    for warning in incarnation.warnings:
        common.print_message(f"warning: {warning}")
    if run:
        from osprofile.jobs import shell

        words = shell.get_shell_command(resolved, special)
        finished = shell.run_script(words, shell.build_self_contained_script(incarnation), capture=json)
        if json:
            common.print_json({**_encode_incarnation(resolved.name, incarnation), **_encode_output(finished)})
        return finished.exit_code
    if json:
        common.print_json(_encode_incarnation(resolved.name, incarnation))
    elif self_contained:
        from osprofile.jobs import shell

        common.print_result(shell.build_self_contained_script(incarnation))
    else:
        if incarnation.static_scripts and sys.stderr is not None and sys.stderr.isatty():
            message = (
                "it runs static scripts, which `incarnate deploy --run` writes; --self-contained prints both"
            )
            common.print_message(f"note: {message}")
        common.print_result(incarnation.text)
    return 0


def _encode_incarnation(profile: str, incarnation: "Incarnation") -> dict[str, object]:
    return {
        "profile": profile,
        "template": incarnation.template,
        "variation": incarnation.variation,
        "text": incarnation.text,
        "fields": {
            name: {
                "value": field.value,
                "given": field.raw_value,
                "origin": field.origin,
                "place": common.encode_location(field.location),
            }
            for name, field in incarnation.fields.items()
        },
        "static_scripts": [
            {"path": s.path, "body": s.body, "mode": f"{s.mode:o}", "sha256": s.digest}
            for s in incarnation.static_scripts
        ],
        "warnings": list(incarnation.warnings),
    }


def _encode_output(finished: "ProcessResult") -> dict[str, object]:
    return {
        "exit_code": finished.exit_code,
        "stdout": finished.stdout.decode("utf-8", "replace"),
        "stderr": finished.stderr.decode("utf-8", "replace"),
    }
