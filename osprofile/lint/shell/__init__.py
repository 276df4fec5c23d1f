"""A lexer of POSIX `sh` that knows in which quotes, and as what of a command, a value stands."""
