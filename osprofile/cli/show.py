"""`incarnate show`: a resolved profile, and where each part of it is defined; its fields; the profiles there are."""

from typing import Annotated

from osprofile.cli import common
from osprofile.cli.options import (
    ApplicationOption,
    Argument,
    FullOption,
    JsonOption,
    Option,
    ProfileOption,
    ProfilesOption,
    VariationOption,
)


def show(
    *,
    template: Annotated[
        str | None, Argument("Show only this template, with its bodies.", "[TEMPLATE]", "templates")
    ] = None,
    profile: ProfileOption = None,
    profiles: ProfilesOption = [],
    list: Annotated[  # noqa: A002
        bool, Option(("--list",), "List the profiles of the search path: name, parents, file.")
    ] = False,
    fields: Annotated[
        bool,
        Option(("--fields",), "Show the fields of the template [default: START], and their allowed values."),
    ] = False,
    all: Annotated[  # noqa: A002
        bool, Option(("--all",), "With --fields: also those that a request cannot set.")
    ] = False,
    variation: VariationOption = "",
    application: ApplicationOption = None,
    schemas: Annotated[
        bool, Option(("--schemas",), "Show where the XML schemas are, and how editors use them.")
    ] = False,
    xml: Annotated[
        bool, Option(("--xml",), "Print the profile as one XML document, with everything that it inherits.")
    ] = False,
    full: FullOption = False,
    json: JsonOption = False,
) -> int:
    """Show a profile and where each item is defined; list profiles, or the fields of one.

    The profile is shown resolved: with everything that it inherits. Directives and fields come first. Long
    shell texts are folded to one line; of a long body, only the first lines are shown.

    With --list, if two profiles have the same name, the first on the search path is used; it may extend
    the second. With --fields, the fields of START include those of JOB_DIRECTIVES, JOB_PROLOGUE, the
    application and JOB_EPILOGUE.

    Examples:
      incarnate show --list
      incarnate show --profile torque
      incarnate show START --profile torque
      incarnate show --fields --profile pbs
      incarnate show --profile torque --xml > flat.xml
    """
    check, rest = common.check_option, {"a template": template, "--xml": xml, "--full": full}
    check("--list", list, excludes={"--fields": fields, "--schemas": schemas, **rest})
    check("--schemas", schemas, excludes={"--fields": fields, **rest})
    own = {"--all": all, "--variation": variation, "--application": application}
    check("--fields", fields, excludes={"--xml": xml, "--full": full}, needed_by=own)
    check("--xml", xml, excludes={"a template": template, "--json": json, "--full": full})
    from osprofile.cli import show_profile

    if schemas:
        show_profile.print_schemas(json=json)
        return 0
    if list:
        show_profile.print_profiles(common.open_repository(profiles), json=json)
        return 0
    resolved = common.open_profile(profile, profiles)
    if fields:
        from osprofile.incarnation.plan import get_plan

        plan = get_plan(resolved, template or "START", variation, application)
        show_profile.print_fields(plan, include_fixed=all, json=json)
    elif xml:
        from osprofile.authoring.writer import profile_to_xml

        common.print_result(profile_to_xml(resolved))
    else:
        show_profile.print_profile(resolved, template, full=full, json=json)
    return 0
