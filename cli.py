"""Run from a checkout what the installed commands run: `python cli.py START ...`.

That is `incarnate`; any other command by its name: `python cli.py ng_invoke_server.osprofile -l LOG`.
"""

import sys
import tomllib
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    settings = tomllib.loads(Path(__file__).with_name("pyproject.toml").read_text())
    commands = settings["project"]["scripts"]
    name = sys.argv.pop(1) if sys.argv[1:] and sys.argv[1] in commands else "incarnate"
    module, _, function = commands[name].partition(":")
    getattr(import_module(module), function)()
