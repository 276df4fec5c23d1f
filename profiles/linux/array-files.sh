case ${gpe_stdout#/dev/shm} in /dev/*) ;; *) gpe_stdout=${gpe_stdout:-stdout}.$gpe_task ;; esac
case ${gpe_stderr#/dev/shm} in /dev/*) ;; *) gpe_stderr=${gpe_stderr:-stderr}.$gpe_task ;; esac
