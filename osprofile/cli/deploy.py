"""`incarnate deploy`: writes a profile's static scripts to the target system."""

from typing import Annotated

from osprofile.cli import common
from osprofile.cli.options import ContextOption, JsonOption, Option, ProfileOption, ProfilesOption
from osprofile.text import pluralize


def deploy(
    *,
    profile: ProfileOption = None,
    context: ContextOption = [],
    profiles: ProfilesOption = [],
    run: Annotated[
        bool, Option(("--run",), "Run the script with the profile's SHELL, and exit with its exit code.")
    ] = False,
    prune: Annotated[
        bool,
        Option(("--prune",), "First remove static scripts, of any profile, that nobody has read for a week."),
    ] = False,
    json: JsonOption = False,
) -> int:
    """Print or run the script that writes the static scripts.

    It may be run again at any time: files that are up to date are not written.

    Examples:
      incarnate deploy --profile mine
      incarnate deploy --profile mine --run
      incarnate deploy --profile mine --run --prune
      incarnate deploy --profile mine --context SSH:HOST=login.example.org --run
    """
    from osprofile.incarnation.incarnate import static_scripts
    from osprofile.incarnation.static_scripts import deployment_script

    resolved = common.open_profile(profile, profiles)
    special = common.build_context(resolved, context)
    scripts = static_scripts(resolved, special)
    script = deployment_script(scripts, prune=prune)
    code = 0
    if run and scripts:
        from osprofile.jobs import shell

        words = shell.get_shell_command(resolved, special)
        code = shell.run_script(words, script).exit_code
    if json:
        common.print_json([{"path": s.path, "mode": f"{s.mode:o}", "sha256": s.digest} for s in scripts])
    elif not run:
        common.print_result(script)
    elif not code:
        common.print_message(f"{pluralize(len(scripts), 'static script')} in place")
    return code
