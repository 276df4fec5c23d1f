GPE_WORKING_DIRECTORY='<WORKING_DIRECTORY/'/'\\''>'
# shellcheck disable=SC3067  # As START does: since then, another user may have made this directory anew. A signal: an exit status would be taken for the program's.
command cd -- "$GPE_WORKING_DIRECTORY" && [ -O . ] && [ ! -L "${GPE_WORKING_DIRECTORY%/}" ] ||
  { printf 'the job cannot use its working directory %s on %s: does this node see it, and does it belong to you?\n' "$GPE_WORKING_DIRECTORY" "$(uname -n)" >&2; kill -s KILL "$$"; }
if gpe_me=${gpe_task_id:-$gpe_id} && [ -n "$gpe_id" ]; then # the first job that writes its id is the job of this directory
  printf '%s\n' "$gpe_id" > ".gpe_job_id.$gpe_me" && { ln ".gpe_job_id.$gpe_me" .gpe_job_id 2> /dev/null || [ -s .gpe_job_id ] || mv -f ".gpe_job_id.$gpe_me" .gpe_job_id; } && read -r gpe_first < .gpe_job_id || kill -s KILL "$$"
  # FIND_JOB removes START's mark when it gives a submission up.
  [ -e .gpe_submitting ] || { [ "$gpe_first" != "$gpe_id" ] || rm -f .gpe_job_id; gpe_first=none; }
  [ "${gpe_first%%.*}" = "${gpe_id%%.*}" ] || { echo "job $gpe_id runs nothing: the job of $PWD is $gpe_first" >&2; exit 1; }
fi
<SH_ARRAY>
command exec > .gpe_job.out 2>&1 && trap 'gpe_status=$?; [ -e .gpe_exit_status ] || echo "$gpe_status" > .gpe_exit_status' EXIT || kill -s KILL "$$"
rm -f "${gpe_task:+../../}.gpe_job_id.$gpe_me" & [ ! -e .gpe_exit_status ] && [ ! -e .gpe_limit ] || rm -f .gpe_exit_status .gpe_limit .gpe_failed .gpe_usage
printf '0\n' > .gpe_exit_status.new || kill -s KILL "$$" # room for the end: the job may fill its disk
export GPE_JOB_ID="$gpe_me" GPE_WORKING_DIRECTORY GPE_JOB_NAME='<JOB_NAME/'/'\\''>' GPE_NODES="${gpe_nodes:-}" GPE_QUEUE="${gpe_queue:-}" GPE_PROJECT="${gpe_project:-}"
export GPE_PROCESSES='<PROCESSES/'/'\\''>' GPE_CPUS='<CPUS/'/'\\''>' GPE_MEMORY='<MEMORY/'/'\\''>' GPE_WALLTIME='<WALLTIME/'/'\\''>' GPE_CPUTIME='<CPUTIME/'/'\\''>'
[ -z "$GPE_CPUS" ] || export OMP_NUM_THREADS="$GPE_CPUS"
gpe_survive() { trap : HUP INT QUIT ILL TRAP BUS FPE USR1 SEGV USR2 PIPE ALRM TERM XCPU XFSZ VTALRM PROF SYS ABRT; } # zsh does not know the last one
gpe_survive # this shell outlives a signal for the whole job, to record its end
"${gpe_begin:-:}"
gpe_stdin='<STDIN/'/'\\''>' gpe_stdout='<STDOUT/'/'\\''>' gpe_stderr='<STDERR/'/'\\''>' gpe_directory='<DIRECTORY/'/'\\''>' gpe_modules='<MODULES/'/'\\''>' gpe_node_file='<NODE_FILE/'/'\\''>' gpe_tmp_dir='<TMP_DIR/'/'\\''>' gpe_uptime=; { read -r gpe_uptime < /proc/uptime; } 2> /dev/null
gpe_setup=$GPE_WORKING_DIRECTORY/${gpe_task:+.gpe_tasks/$gpe_task/}.gpe_setup # empty when SITE_SETUP has ended, and the job has not
printf 'SITE_SETUP\n' > .gpe_setup || exit 125
( gpe_survive # the site's own shell: what SITE_SETUP and SITE_CLEANUP do to it does not harm the record
<SITE_SETUP>
set +euC
: > "$gpe_setup" || exit 125
<SH_NODE_FILE>
<SH_TMP_DIR>
( "${gpe_enter:-:}" # the program's own shell
# shellcheck disable=SC3013  # Where SITE_SETUP has gone, the program begins. Its files are in the working directory all the same.
[ . -ef "${gpe_setup%/*}" ] || gpe_directory=${gpe_directory:-$PWD}
command cd -- "$GPE_WORKING_DIRECTORY" || exit 125
<SH_ARRAY_FILES>
command exec 2> "${gpe_stderr:=stderr}" < "${gpe_stdin:-/dev/null}" || exit 125
if [ "${gpe_stdout:=stdout}" = "$gpe_stderr" ]; then command exec >&2; else command exec > "$gpe_stdout"; fi || exit 125
[ -z "$gpe_directory" ] || command cd -- "$gpe_directory" || exit 125
# shellcheck disable=SC3045  # every sh of Linux has -t and -v
[ -z "${gpe_cputime:-}" ] || { ulimit -S -t "$gpe_cputime"; ulimit -H -t "$((gpe_cputime + 5))" 2> /dev/null; }
for gpe_module in $gpe_modules; do module load "$gpe_module" || exit 125; done
eval '<SETUP/'/'\\''>'
