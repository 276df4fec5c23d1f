cd -- '<WORKING_DIRECTORY/'/'\\''>' && [ -O . ] && [ -r .gpe/job.sh ] || kill -s KILL "$$"
