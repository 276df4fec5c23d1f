"""Stand-ins for the commands of Slurm and PBS, which run jobs by any profile. See docs/commands/shim.md.

Programs call a stand-in hundreds of times, so each module imports what is slow to import only where it is needed.
"""
