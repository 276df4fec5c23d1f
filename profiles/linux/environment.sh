case $#:$gpe_executable in 0:*) ;; *=*) set -- env -- "$@" "$(command -v nice)" -n 0 -- ;; *) set -- env -- "$@" ;; esac
