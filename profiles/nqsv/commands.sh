gpe_submit() { # SCRIPT NODES/PROCESSES/CPUS: NQSV counts the processors of each node
  gpe_cpus=$(printf '%s\n' "$2" | awk -F / '{
  n = $1 ? $1 : 1
  print int((($2 ? $2 : n) + n - 1) / n) * ($3 ? $3 : 1)
}')
  ! grep -q '^#PBS .*cpunum_job=' "$1" || gpe_cpus= # as the user asks for it
  qsub ${gpe_cpus:+-l "cpunum_job=$gpe_cpus"} "$1" 2>&1
}
gpe_read_id() { sed -n 's/^Request \([1-9][0-9]*\)\..* submitted to queue.*/\1/p'; }
gpe_list() { # lines as 143993.nqsv RUN
  gpe_text=$(qstat -F rid,stt -n -l) || return
  gpe_check_list '^ *[1-9][0-9]*\.[^ ]* +[A-Z]+ *$' qstat || return
  printf '%s\n' "$gpe_text" | sed -n 's/^ *\([1-9][0-9]*\)\.[^ ]*  *\([A-Z][A-Z]*\) *$/\1 \2/p'
}
# in a job: its id in PBS_JOBID has the number of the job of the request in front, as 0:143993.nqsv
gpe_own_id() { printf '%s\n' "$PBS_JOBID" | sed 's/^.*://; s/\..*//'; }
gpe_cancel() { qdel "$1"; }
gpe_hold() { gpe_require 'QUE|WAT' "$1" && qhold "$1"; }
gpe_resume() { gpe_require '.*' "$1" && qrls "$1"; }
# shellcheck disable=SC2034  # job.sh has it
gpe_submit_directory=PBS_O_WORKDIR
