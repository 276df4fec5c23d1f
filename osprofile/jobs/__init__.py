"""Jobs on a target system; so far, how a script reaches its shell."""
