set_up_commands
main "$@" # at the end: a file that is cut off runs nothing
