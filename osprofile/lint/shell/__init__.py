"""A lexer of POSIX `sh`: how each value in a script is quoted, and what part of a command it is."""
