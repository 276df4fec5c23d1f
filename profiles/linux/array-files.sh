command cd -- "$GPE_WORKING_DIRECTORY" || exit 125
case $gpe_stdout in /dev/*) ;; *) gpe_stdout=${gpe_stdout:-stdout}.$gpe_task ;; esac
case $gpe_stderr in /dev/*) ;; *) gpe_stderr=${gpe_stderr:-stderr}.$gpe_task ;; esac
