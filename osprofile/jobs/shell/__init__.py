"""Run scripts in the shells of a target system, and read what they print."""
