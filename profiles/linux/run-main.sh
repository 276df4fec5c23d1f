main "$@" # at the end: a file that is cut off runs nothing
