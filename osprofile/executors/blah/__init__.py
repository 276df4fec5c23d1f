"""BLAH: HTCondor's protocol for a batch system, on standard input and output (seed 003)."""
