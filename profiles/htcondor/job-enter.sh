[ -O . ] && [ -r .gpe/job.sh ] || kill -s KILL "$$" # where HTCondor has put the job's files
