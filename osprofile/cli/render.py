"""`incarnate render`: a template turned into text, which can be run at once."""

from typing import TYPE_CHECKING, Annotated

from osprofile.cli import common
from osprofile.cli.options import (
    ApplicationOption,
    Argument,
    ContextOption,
    JsonOption,
    Option,
    ProfileOption,
    ProfilesOption,
)

if TYPE_CHECKING:
    from osprofile.incarnation.incarnate import Incarnation
    from osprofile.target.shell import Finished


def render(
    *,
    template: Annotated[str, Argument("The template, as in START.", "TEMPLATE", "templates")],
    profile: ProfileOption = None,
    set: Annotated[  # noqa: A002  # the option's name
        list[str],
        Option(("--set", "-s"), "Set a field of the request.", "NAME=VALUE", "assignments"),
    ] = [],
    set_file: Annotated[
        list[str],
        Option(
            ("--set-file",), "Set a field to the content of a file.", "NAME=PATH", "assignments"
        ),
    ] = [],
    fields: Annotated[
        str | None,
        Option(("--fields",), "Read fields from a JSON object; - is standard input.", "FILE|-"),
    ] = None,
    context: ContextOption = [],
    variation: Annotated[
        str, Option(("--variation", "-v"), "The invocation variation.", "NAME", "variations")
    ] = "",
    application: ApplicationOption = None,
    profiles: ProfilesOption = [],
    strict: Annotated[
        bool, Option(("--strict", "--no-strict"), "Whether an unused field is an error.")
    ] = True,
    run: Annotated[
        bool,
        Option(("--run",), "Run the script through the profile's SHELL; pass on its exit code."),
    ] = False,
    json: JsonOption = False,
) -> int:
    """Turn a template into text, and print it or run it.

    The word render can be left out.

    Examples:
      incarnate START --profile pbs --set EXECUTABLE=/bin/date --set QUEUE=long
      incarnate START -p linux -s EXECUTABLE=/bin/echo -s ARGUMENTS="'a b'" --run
      incarnate GET_JOB_STATUS --profile slurm --variation ALL --run
    """
    from osprofile.incarnation.incarnate import incarnate

    resolved = common.open_profile(profile, profiles)
    special = common.context_of(resolved, context)
    incarnation = incarnate(
        resolved,
        template,
        fields=_request(fields, set_file, set),
        variation=variation,
        application=application,
        context=special,
        strict=strict,
    )
    for warning in incarnation.warnings:
        common.tell(f"warning: {warning}")
    if run:
        from osprofile.target import shell

        words = shell.shell_words(resolved, special)
        finished = shell.run(words, shell.script_of(incarnation), capture=json)
        if json:
            common.put_json({**_told(resolved.name, incarnation), **_output(finished)})
        return finished.exit_code
    if json:
        common.put_json(_told(resolved.name, incarnation))
    else:
        common.put(incarnation.text)
    return 0


def _request(fields: str | None, set_file: list[str], given: list[str]) -> dict[str, str]:
    request = _json_fields(fields) if fields else {}
    for name, path in common.assignments(set_file, "--set-file").items():
        request[name] = _content(path, f"--set-file {name}={path}")
    return {**request, **common.assignments(given, "--set")}


def _content(path: str, option: str) -> str:
    import sys
    from pathlib import Path

    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return data.decode()
    except OSError as error:
        raise common.UsageError(f"{option}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise common.UsageError(f"{option}: the content is not UTF-8") from None


def _json_fields(path: str) -> dict[str, str]:
    import json

    option = f"--fields {path}"

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(pairs)) < len(pairs):
            raise common.UsageError(f"{option}: a name is given twice")
        return dict(pairs)

    try:
        # Numbers are taken as written: 1.50 stays 1.50.
        found = json.loads(
            _content(path, option), parse_int=str, parse_float=str, object_pairs_hook=unique
        )
    except (ValueError, RecursionError) as error:
        raise common.UsageError(f"{option}: not JSON: {error}") from None
    if not isinstance(found, dict):
        raise common.UsageError(f'{option}: an object is needed, as in {{"QUEUE": "long"}}')
    for name, value in found.items():
        if not isinstance(value, str):
            from osprofile.errors import ValueRefusedError

            message = f"{option}: field {name} is no string and no number"
            raise ValueRefusedError(message, field=name)
    return found


def _told(profile: str, incarnation: "Incarnation") -> dict[str, object]:
    return {
        "profile": profile,
        "template": incarnation.template,
        "variation": incarnation.variation,
        "text": incarnation.text,
        "fields": {
            name: {
                "value": field.value,
                "given": field.given,
                "origin": field.origin,
                "place": str(field.place) if field.place else None,
            }
            for name, field in incarnation.fields.items()
        },
        "static_scripts": [
            {"path": s.path, "body": s.body, "mode": f"{s.mode:o}", "sha256": s.digest}
            for s in incarnation.static_scripts
        ],
        "warnings": list(incarnation.warnings),
    }


def _output(finished: "Finished") -> dict[str, object]:
    return {
        "exit_code": finished.exit_code,
        "stdout": finished.stdout.decode("utf-8", "replace"),
        "stderr": finished.stderr.decode("utf-8", "replace"),
    }
