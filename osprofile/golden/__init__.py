"""Golden cases: requests that a profile's folder holds, and the scripts that they gave.

In a profile's folder, `golden/cases.toml` has the cases and `golden/NAME.txt` what the case of that
name gives. `cases` reads the one, `check` compares, `files` reads and writes, `generate` makes cases
for what has none, `toml` writes TOML and knows the places in it.
"""
