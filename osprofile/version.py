"""The version of osprofile. It changes with each release, and with each change of the record, the programs or a directory."""

__version__ = "0.2.0"
