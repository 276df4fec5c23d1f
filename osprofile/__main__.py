"""`python -m osprofile`: the command `incarnate`."""

from osprofile.cli.main import main

main()
