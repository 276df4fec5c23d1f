"""`incarnate render`: turns a template into a script, and prints, runs or traces it; deploys static scripts."""

from typing import TYPE_CHECKING, Annotated

from osprofile.cli import common
from osprofile.cli.options import (
    ApplicationOption,
    Argument,
    ContextOption,
    FieldsOption,
    FullOption,
    JsonOption,
    Option,
    ProfileOption,
    ProfilesOption,
    SetFileOption,
    SetOption,
    StrictOption,
    VariationOption,
)
from osprofile.text import pluralize

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.incarnation.incarnate import Incarnation
    from osprofile.jobs.shell.process import ProcessResult
    from osprofile.profile.model import Profile


def render(
    *,
    template: Annotated[
        str | None, Argument("The template, as in START; not with --deploy.", "[TEMPLATE]", "templates")
    ] = None,
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
        Option(("--self-contained",), "Include the static scripts in the script, so that it runs anywhere."),
    ] = False,
    trace: Annotated[
        bool,
        Option(
            ("--trace",), "Instead of the script, show where each value in it comes from, and by which rules."
        ),
    ] = False,
    field: Annotated[
        list[str],
        Option(("--field", "-f"), "With --trace: only this field; may be repeated.", "NAME", "used-fields"),
    ] = [],
    full: FullOption = False,
    deploy: Annotated[
        bool,
        Option(
            ("--deploy",), "Print the script that writes the profile's static scripts; with --run, run it."
        ),
    ] = False,
    prune: Annotated[
        bool,
        Option(
            ("--prune",),
            "With --deploy: first remove static scripts, of any profile, that were not read for a week and that no live job names.",
        ),
    ] = False,
    json: JsonOption = False,
) -> int:
    """Turn a template into a script; print, run or trace it.

    The word render can be omitted.

    --trace shows for each field the source of its value (fixed, request, context, default), the sources that
    it overrides, the tag that replaced it, the type, limits and pattern that it was checked against, and
    its positions in the script. The values of the request come first, then those in directives.

    --deploy can be repeated at any time: static scripts that are up to date are not written again.

    Examples:
      incarnate START --profile pbs --set EXECUTABLE=/bin/date --set QUEUE=long
      incarnate START -p linux -s EXECUTABLE=/bin/echo -s ARGUMENTS="'a b'" --run
      incarnate START -p slurm --set WALLTIME=600 --trace --field WALLTIME
      incarnate render --deploy --profile mine --run
    """
    from osprofile.cli.request import read_request
    from osprofile.incarnation.incarnate import incarnate

    check, request = common.check_option, {"--set": set, "--set-file": set_file, "--fields": fields}
    selection = {"a template": template, "--variation": variation, "--application": application}
    check("--deploy", deploy, excludes=selection, needed_by={"--prune": prune})
    check("--deploy", deploy, excludes={**request, "--self-contained": self_contained, "--trace": trace})
    scripts = {"--self-contained": self_contained, "--run": run}
    check("--trace", trace, excludes=scripts, needed_by={"--field": field, "--full": full})
    check("--self-contained", self_contained, excludes={"--run": run, "--json": json})
    if template is None and not deploy:
        raise common.UsageError("give a template, as in START")
    repository = common.open_repository(profiles)
    resolved = common.load_profile(repository, profile)
    special = common.build_context(resolved, context)
    if template is None:
        return _deploy_static_scripts(resolved, special, run=run, prune=prune, json=json)
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
    if trace:
        from osprofile.cli.trace import print_trace

        print_trace(resolved.name, incarnation, field, full=full, json=json)
        return 0
    if run:
        return _run_script(resolved, special, incarnation, json=json)
    if json:
        common.print_json(_encode_incarnation(resolved.name, incarnation))
    elif self_contained:
        from osprofile.jobs.shell import scripts as shell

        common.print_result(shell.build_self_contained_script(incarnation))
    else:
        from osprofile.incarnation.evaluate import add_check
        from osprofile.incarnation.kept_plans import keep_plan

        path = next((script.path for script in incarnation.used_scripts), "")
        common.print_result(add_check(incarnation.text, path, resolved.name))
        if application is None:
            keep_plan(repository, resolved, incarnation.trace_inputs[0], profile or "", profiles)
    return 0


def _run_script(
    profile: "Profile", special: "Mapping[str, str]", incarnation: "Incarnation", *, json: bool
) -> int:
    from osprofile.jobs.shell import scripts as shell

    words = shell.get_shell_command(profile, special)
    finished = shell.run_script(words, shell.build_self_contained_script(incarnation), capture=json)
    if json:
        common.print_json({**_encode_incarnation(profile.name, incarnation), **_encode_output(finished)})
    return finished.exit_code


def _deploy_static_scripts(
    profile: "Profile", special: "Mapping[str, str]", *, run: bool, prune: bool, json: bool
) -> int:
    from osprofile.incarnation.incarnate import static_scripts
    from osprofile.incarnation.static_scripts import deployment_script

    scripts = static_scripts(profile, special)
    script = deployment_script(scripts, prune=prune)
    code = 0
    if run and scripts:
        from osprofile.jobs.shell import scripts as shell

        code = shell.run_script(shell.get_shell_command(profile, special), script).exit_code
    if json:
        common.print_json([{"path": s.path, "mode": f"{s.mode:o}", "sha256": s.digest} for s in scripts])
    elif not run:
        common.print_result(script)
    elif not code:
        common.print_message(f"{pluralize(len(scripts), 'static script')} in place")
    return code


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
