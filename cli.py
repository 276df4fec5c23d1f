"""Run from a checkout what the installed commands run: `python cli.py START ...`.

That is `incarnate`; any other command by its name: `python cli.py ng_invoke_server.osprofile -l LOG`.
"""

import sys
from importlib import import_module

COMMANDS = {
    "incarnate": "osprofile.cli.main",
    "osprofile-blahpd": "osprofile.executors.blah.main",
    "osprofile-seg": "osprofile.events.seg_command",
    "osprofile-fork-starter": "osprofile.events.fork_starter",
    "osprofile-ptp-proxy": "osprofile.executors.ptp.main",
    "osprofile-facility": "osprofile.executors.facility.main",
    "ng_invoke_server.osprofile": "osprofile.executors.ninfg.main",
}

if __name__ == "__main__":
    name = sys.argv[1] if sys.argv[1:] and sys.argv[1] in COMMANDS else ""
    if name:
        del sys.argv[1]
    import_module(COMMANDS[name or "incarnate"]).main()
