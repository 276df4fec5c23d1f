"""Plugins by which other projects run their jobs through profiles: one module for each project.

Each is written with the public interface of osprofile, and needs its project: `pip install
osprofile-hpc[parsl]`. Modules that a project looks for by a name of its own are in the folder `plugins/` of
the source, and at the top level of an installation.
"""
