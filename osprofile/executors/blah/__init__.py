"""BLAH: HTCondor's protocol for batch systems (docs/protocols/blah.md)."""
