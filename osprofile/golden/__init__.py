"""Golden cases: requests stored with a profile, and the scripts that the profile gave for them.

In a profile's folder, `golden/cases.toml` holds the cases, and `golden/NAME.txt` the script of the case
NAME. `cases` reads the cases, `checker` compares the scripts, `generator` creates cases, `writer` writes
cases and scripts, `files` accesses the files, and `toml` writes TOML and locates its keys.
"""
