"""Run from a checkout what the installed command `incarnate` runs: `python cli.py START ...`."""

from osprofile.cli.main import main

if __name__ == "__main__":
    main()
