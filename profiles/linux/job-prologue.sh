. ./.gpe/job.sh
gpe_begin_job<JOB_NAME:QUOTED/(?s)^(.+)\z/ JOB_NAME=$1><PROCESSES/(?s)^(.+)\z/ PROCESSES=$1><CPUS/(?s)^(.+)\z/ CPUS=$1><MEMORY/(?s)^(.+)\z/ MEMORY=$1><WALLTIME/(?s)^(.+)\z/ WALLTIME=$1><CPUTIME/(?s)^(.+)\z/ CPUTIME=$1><NODE_FILE:QUOTED/(?s)^(.+)\z/ NODE_FILE=$1><TMP_DIR:QUOTED/(?s)^(.+)\z/ TMP_DIR=$1>
<SITE_SETUP/(?s)^.+\z/( gpe_begin_site>
<SITE_SETUP/(?s)^(.+)\z/$1>
<SITE_SETUP/(?s)^.+\z/gpe_end_setup>
( gpe_open_program STDIN='<STDIN/'/'\\''>' STDOUT='<STDOUT/'/'\\''>' STDERR='<STDERR/'/'\\''>'<STDOUT_NAME:QUOTED/(?s)^(.+)\z/ STDOUT_NAME=$1><STDERR_NAME:QUOTED/(?s)^(.+)\z/ STDERR_NAME=$1><APPEND_OUTPUT/(?s)^(.+)\z/ APPEND=$1><DIRECTORY:QUOTED/(?s)^(.+)\z/ DIRECTORY=$1>
<MODULES:QUOTED/(?s)^(.+)\z/gpe_load_modules $1>
<SETUP:QUOTED/(?s)^(.+)\z/eval $1>
