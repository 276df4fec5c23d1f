"""Check the scripts of the bundled profiles, rendered with default values, with shellcheck.

Every template that is a script is one file for shellcheck, and so is the job script that START
submits. Run by `make lint`; exits with shellcheck's own code.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from osprofile.incarnation.incarnate import incarnate
from osprofile.incarnation.plan import plan_of
from osprofile.profile.data import bundled_profiles_directory
from osprofile.profile.repository import Repository

SCRIPTS = [
    "START",
    "GET_JOB_STATUS",
    "HOLD",
    "RESUME",
    "ABORT",
    "DELETE",
    "LIST",
    "LIST_NODES",
    "LIST_QUEUES",
]
REQUIRED = {"PATH": "results", "JOB_ID": "4711"}
CONTEXT = {"USER_NAME": "alice", "WORKING_DIRECTORY": "/var/tmp/alice/1"}


def main() -> int:
    """Render, check, and give the exit code."""
    repository = Repository([bundled_profiles_directory()], standard=False)
    with tempfile.TemporaryDirectory() as directory:
        files = []
        for name in repository.names():
            profile = repository.load(name)
            for template in SCRIPTS:
                for variation in profile.template(template).invocations:
                    plan = plan_of(profile, template, variation, None)
                    job_id = "4711-1-00000000" if name == "linux" else "4711"
                    fields = {
                        n: v
                        for n, v in (REQUIRED | {"JOB_ID": job_id}).items()
                        if n in plan.required
                    }
                    text = incarnate(
                        profile, template, fields=fields, variation=variation, context=CONTEXT
                    ).text
                    files.append(Path(directory, f"{name}.{template}.{variation or 'default'}.sh"))
                    files[-1].write_text(text)
            start = incarnate(profile, "START", context=CONTEXT)
            files.append(Path(directory, f"{name}.job_script.sh"))
            files[-1].write_text(start.job_script or "")
        shellcheck = Path(sys.executable).parent / "shellcheck"
        code = subprocess.run(
            [shellcheck, "-S", "warning", "-s", "sh", *map(str, files)], check=False
        ).returncode
    print(f"shellcheck: {len(files)} scripts, exit code {code}")
    return code


if __name__ == "__main__":
    sys.exit(main())
