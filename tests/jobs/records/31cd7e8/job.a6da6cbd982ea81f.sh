# job.sh: the functions of a job script. It reads this file from its working directory, and shares
# its shell with lines of the site and of the user, so each name begins with gpe_. 125 is the exit
# status of a file, directory, module or container that cannot be used.
#   gpe_begin_job NAME=VALUE...       takes the directory for this job; exports values as GPE_NAME
#   gpe_open_program NAME=VALUE...    in the program's own shell: opens its files, enters DIRECTORY
#   gpe_run NAME=VALUE... -- PROGRAM  replaces this shell by the program, with these variables
#   gpe_end_job                       writes its exit status to .gpe_exit_status, and exits with it
# Values are quoted words of the job script. eval gets names, and words that gpe_quote has quoted.
# A profile may define functions and name them in gpe_tell, gpe_begin, gpe_enter, gpe_end,
# gpe_run_tasks and gpe_exit: gpe_begin_job and the others call them.
gpe_begin_job() { # NAME=VALUE...
  # a link in place of the directory that START has checked
  [ ! -L "$PWD" ] || kill -s KILL "$$"
  GPE_WORKING_DIRECTORY=$PWD gpe_status='' gpe_uptime=''
  [ -n "${gpe_id+set}" ] || gpe_set_id
  gpe_me=${gpe_task_id:-$gpe_id}
  [ -z "$gpe_id" ] || gpe_claim_directory
  "${gpe_tell:-:}"
  [ -z "${gpe_array:-}" ] || gpe_enter_task
  gpe_open_record
  gpe_export_values "$@"
  gpe_survive
  "${gpe_begin:-:}"
  [ -z "$GPE_TMP_DIR" ] || gpe_make_tmp_dir
  { read -r gpe_uptime < /proc/uptime; } 2> /dev/null
}
# The first job that writes its id is the job of this directory; another one runs nothing.
gpe_claim_directory() {
  printf '%s\n' "$gpe_id" > ".gpe/id.$gpe_me" || kill -s KILL "$$"
  ln ".gpe/id.$gpe_me" .gpe/id 2> /dev/null || [ -s .gpe/id ] ||
    mv -f ".gpe/id.$gpe_me" .gpe/id || kill -s KILL "$$"
  read -r gpe_first < .gpe/id || kill -s KILL "$$"
  if [ ! -e .gpe/submitting ]; then # FIND_JOB has given this submission up
    [ "$gpe_first" != "$gpe_id" ] || rm -f .gpe/id
    gpe_first=none
  fi
  [ "${gpe_first%%.*}" != "${gpe_id%%.*}" ] || return 0 # PBS: 12.server and 12
  # 1, not KILL: there is no link to this directory by this id, so nobody takes it for a program's
  echo "job $gpe_id runs nothing: the job of $PWD is $gpe_first" >&2
  exit 1
}
gpe_enter_task() {      # of an array: a directory of its own for the files of its end
  "${gpe_run_tasks:-:}" # linux: the leader of the array's session ends here
  mkdir -p -- ".gpe/tasks/${gpe_task:?}/.gpe" && cd -- ".gpe/tasks/$gpe_task" || kill -s KILL "$$"
  export GPE_ARRAY_ID="$gpe_id" GPE_ARRAY_INDEX="$gpe_task"
}
# A job that cannot write here is killed: an exit status would be taken for the program's.
gpe_open_record() {
  command exec > .gpe/output 2>&1 || kill -s KILL "$$"
  trap 'gpe_rc=$?; [ -e .gpe_exit_status ] || echo "$gpe_rc" > .gpe_exit_status' EXIT
  rm -f "$GPE_WORKING_DIRECTORY/.gpe/id.$gpe_me" & # the job need not wait for it
  [ ! -e .gpe_exit_status ] && [ ! -e .gpe/limit ] ||
    rm -f .gpe_exit_status .gpe/limit .gpe/failure .gpe/usage
  # room for the end, which is written over it: the job may fill its disk
  printf '0\n' > .gpe/exit_status.new || kill -s KILL "$$"
  # the name of a file that is not empty while SITE_SETUP runs
  gpe_setup_mark=$PWD/.gpe/setup
}
gpe_export_values() { # NAME=VALUE...
  GPE_JOB_NAME='' GPE_PROCESSES='' GPE_CPUS='' GPE_MEMORY='' GPE_WALLTIME='' GPE_CPUTIME=''
  GPE_NODE_FILE='' GPE_TMP_DIR=''
  gpe_set_values GPE_ "$@"
  GPE_JOB_ID=$gpe_me GPE_NODES=${gpe_nodes:-} GPE_QUEUE=${gpe_queue:-} GPE_PROJECT=${gpe_project:-}
  export GPE_WORKING_DIRECTORY GPE_JOB_ID GPE_JOB_NAME GPE_NODES GPE_QUEUE GPE_PROJECT
  export GPE_PROCESSES GPE_CPUS GPE_MEMORY GPE_WALLTIME GPE_CPUTIME
  [ -z "$GPE_CPUS" ] || export OMP_NUM_THREADS="$GPE_CPUS"
}
# PREFIX NAME=VALUE...: sets the variables PREFIX and NAME, whose names are the profile's.
gpe_set_values() {
  gpe_prefix=$1
  shift
  for gpe_value in "$@"; do
    eval "$gpe_prefix${gpe_value%%=*}=\${gpe_value#*=}"
  done
}
# This shell outlives a signal for the whole job, to record its end; a subshell, as the program's,
# does not inherit this. ABRT is last: zsh does not know it, and sets no trap behind it.
gpe_survive() {
  trap : HUP INT QUIT ILL TRAP BUS FPE USR1 SEGV USR2 PIPE ALRM TERM XCPU XFSZ VTALRM PROF SYS ABRT
}
# A line for each process: by gpe_print_nodes, which a batch system has, else this machine's name.
gpe_write_node_file() {
  case $GPE_NODE_FILE in /*) ;; *) GPE_NODE_FILE=$GPE_WORKING_DIRECTORY/$GPE_NODE_FILE ;; esac
  gpe_add_task_suffix "$GPE_NODE_FILE"
  GPE_NODE_FILE=$gpe_file
  export GPE_NODE_FILE
  (gpe_print_nodes > "$GPE_NODE_FILE") || exit 125
}
gpe_make_tmp_dir() {
  gpe_tmp=$(mktemp -d "$GPE_TMP_DIR/gpe.XXXXXX") || gpe_end_job 125
  export TMPDIR="$gpe_tmp"
}
# In the site's own shell: what SITE_SETUP and SITE_CLEANUP do to it does not harm the record.
gpe_begin_site() {
  gpe_survive
  printf 'SITE_SETUP\n' > "$gpe_setup_mark" || exit 125
}
gpe_end_setup() {
  set +euC
  command : > "$gpe_setup_mark" || exit 125
}
gpe_open_program() { # NAME=VALUE...
  "${gpe_enter:-:}"
  gpe_STDIN='' gpe_STDOUT='' gpe_STDERR='' gpe_DIRECTORY=''
  gpe_STDOUT_NAME='' gpe_STDERR_NAME='' gpe_APPEND=''
  gpe_set_values gpe_ "$@"
  [ -z "$GPE_NODE_FILE" ] || gpe_write_node_file
  # If SITE_SETUP has changed the directory, the program begins there; its files are opened in the
  # working directory all the same.
  # shellcheck disable=SC3013
  [ . -ef "${gpe_setup_mark%/.gpe/setup}" ] || gpe_DIRECTORY=${gpe_DIRECTORY:-$PWD}
  command cd -- "$GPE_WORKING_DIRECTORY" || exit 125
  gpe_open_files "${gpe_STDIN:-/dev/null}" "${gpe_STDOUT:-stdout}" "${gpe_STDERR:-stderr}"
  [ -z "$gpe_DIRECTORY" ] || command cd -- "$gpe_DIRECTORY" || exit 125
  [ -n "${gpe_cputime:-}" ] || return 0
  # shellcheck disable=SC3045  # every sh of Linux has -t
  ulimit -S -t "$gpe_cputime"
  # shellcheck disable=SC3045
  ulimit -H -t "$((gpe_cputime + 5))" 2> /dev/null || :
}
gpe_open_files() { # STDIN STDOUT STDERR
  gpe_add_task_suffix "$2"
  gpe_stdout=$gpe_file
  gpe_add_task_suffix "$3"
  gpe_stderr=$gpe_file
  [ -z "$gpe_STDOUT_NAME" ] || gpe_link_output "$gpe_stdout" "$gpe_STDOUT_NAME"
  [ -z "$gpe_STDERR_NAME" ] || gpe_link_output "$gpe_stderr" "$gpe_STDERR_NAME"
  if [ -z "$gpe_APPEND" ]; then
    command exec 2> "$gpe_stderr" < "$1" || exit 125
  else
    command exec 2>> "$gpe_stderr" < "$1" || exit 125
  fi
  if [ "$gpe_stdout" = "$gpe_stderr" ]; then
    command exec >&2
  elif [ -z "$gpe_APPEND" ]; then
    command exec > "$gpe_stdout" || exit 125
  else
    command exec >> "$gpe_stdout" || exit 125
  fi
}
# FILE NAME: the file becomes a link to that of the name, in which %j is the job's id, %a the index
# of the task, %3a with three digits, and %N this node.
gpe_link_output() {
  gpe_name='' gpe_rest=$2
  while :; do
    case $gpe_rest in *%*) ;; *) break ;; esac
    gpe_name=$gpe_name${gpe_rest%%\%*} gpe_rest=${gpe_rest#*%}
    gpe_width=${gpe_rest%%[!0-9]*}
    gpe_rest=${gpe_rest#"$gpe_width"}
    case $gpe_rest in
    j*) gpe_name=$gpe_name$gpe_id ;;
    a*) gpe_name=$gpe_name$(printf "%0${gpe_width:-1}d" "${gpe_task:-0}") ;;
    N*)
      gpe_node=$(uname -n)
      gpe_name=$gpe_name${gpe_node%%.*}
      ;;
    *) gpe_name=$gpe_name% ;;
    esac
    gpe_rest=${gpe_rest#?}
  done
  ln -sfn -- "$gpe_name$gpe_rest" "$1" || exit 125
}
# FILE: sets gpe_file to it; in a task, to that of the task, unless it is a device.
gpe_add_task_suffix() {
  gpe_file=$1
  case ${1#/dev/shm} in /dev/*) ;; *) gpe_file=$1${gpe_task:+.$gpe_task} ;; esac
}
gpe_load_modules() { # MODULES, with blanks between them
  for gpe_module in $1; do module load "$gpe_module" || exit 125; done
}
gpe_run() { # NAME=VALUE... -- PROGRAM ARGUMENT...
  gpe_read_environment "$@"
  shift "$gpe_n"
  eval "exec $gpe_words"' "$@"'
}
# NAME=VALUE... -- PROGRAM...: gpe_words get the words before the program; gpe_n of these are behind
# them.
gpe_read_environment() {
  gpe_words='' gpe_mpi='' gpe_n=1
  while [ "$1" != -- ]; do
    gpe_quote "$1"
    gpe_words="$gpe_words $gpe_quoted"
    case $1 in # what controls mpirun itself
    PATH=* | LD_LIBRARY_PATH=* | OMPI_* | PRTE_* | PMIX_* | I_MPI_* | MPI[CR]* | HYDRA_* | UCX_* | \
      FI_*)
      gpe_mpi="$gpe_mpi $gpe_quoted"
      ;;
    esac
    gpe_n=$((gpe_n + 1))
    shift
  done
  if [ -n "$gpe_words" ]; then # by env: a shell would obey some variables, as SHELLOPTS
    gpe_words="env --$gpe_words"
    # env would take this program for a variable; nice, found before PATH changes, does not
    case $2 in *=*) gpe_words="$gpe_words $(command -v nice) -n 0 --" ;; esac
  fi
  [ -z "${gpe_container:-}" ] || gpe_enter_container
}
gpe_enter_container() { # the same directory and environment, in the image gpe_container
  case $gpe_container in
  /* | [a-z]*://*) ;;
  *) gpe_container=$GPE_WORKING_DIRECTORY/$gpe_container ;;
  esac
  for gpe_place in "$GPE_WORKING_DIRECTORY" "$PWD" "${gpe_tmp:-}"; do
    case $gpe_place in
    *[,:\"\\]* | *'
'*)
      printf '%s cannot be bound in a container: its name has , : " \\ or a line end\n' \
        "$gpe_place" >&2
      exit 125
      ;;
    esac
  done
  gpe_bind='--bind "$GPE_WORKING_DIRECTORY,$PWD${gpe_tmp:+,$gpe_tmp}" --pwd "$PWD" "$gpe_container"'
  gpe_words="${gpe_container_command:-} $gpe_bind $gpe_words"
}
gpe_quote() { # WORD: sets gpe_quoted to the word, quoted for a shell
  gpe_quoted='' gpe_rest=$1
  while :; do
    case $gpe_rest in
    *\'*) gpe_quoted="$gpe_quoted${gpe_rest%%\'*}'\\''" gpe_rest=${gpe_rest#*\'} ;;
    *) break ;;
    esac
  done
  gpe_quoted="'$gpe_quoted$gpe_rest'"
}
# NAME=VALUE... -- PROGRAM ARGUMENT...: replaces this shell by mpirun. It runs a file, as some
# versions split their arguments again.
gpe_run_mpi() {
  gpe_program=$GPE_WORKING_DIRECTORY/${gpe_task:+.gpe/tasks/$gpe_task/}.gpe/program
  gpe_read_environment "$@"
  shift "$gpe_n"
  # the variables are set by these words, after the shell that reads them has started: it would obey
  # SHELLOPTS and PS4
  eval "set -- $gpe_words"' "$@"'
  (
    umask 077
    printf 'exec' > "$gpe_program"
    for gpe_word in "$@"; do
      gpe_quote "$gpe_word"
      printf ' %s' "$gpe_quoted"
    done >> "$gpe_program"
  ) || exit 125
  eval "exec env --$gpe_mpi"' mpirun -n "${gpe_processes:-1}" sh "$gpe_program"'
}
# NAME=VALUE... -- PROGRAM ARGUMENT...: gpe_processes times; the first one, in the order of their
# start, that failed gives the exit status.
gpe_run_processes() {
  [ "${gpe_nodes:-1}" -le 1 ] || gpe_run_mpi "$@"
  gpe_pids='' gpe_count=0
  exec 3<&0
  while [ "$gpe_count" -lt "${gpe_processes:-1}" ]; do
    (gpe_run "$@") <&3 3<&- &
    gpe_pids="$gpe_pids $!" gpe_count=$((gpe_count + 1))
  done
  gpe_status=0
  for gpe_pid in $gpe_pids; do
    wait "$gpe_pid"
    gpe_rc=$?
    [ "$gpe_rc" -le 255 ] || gpe_rc=$((gpe_rc % 128 + 128)) # of ksh and yash
    [ "$gpe_status" -ne 0 ] || gpe_status=$gpe_rc
  done
  exit "$gpe_status"
}
gpe_keep_status() { # [STATUS]: after the program's own shell: keeps its exit status
  # shellcheck disable=SC2319  # that of the program's shell
  gpe_status=${1:-$?}
  # ksh and yash tell signal n as 256+n and 384+n
  [ "$gpe_status" -le 255 ] || gpe_status=$((gpe_status % 128 + 128))
}
gpe_leave_site() { # at the end of the site's own shell
  gpe_rc=$?
  [ -n "$gpe_status" ] || gpe_keep_status "$gpe_rc"
  exit "$gpe_status"
}
gpe_end_job() { # [STATUS]
  gpe_rc=${1:-$?}
  [ -n "$gpe_status" ] || gpe_keep_status "$gpe_rc"
  "${gpe_end:-:}"
  if [ -s "$gpe_setup_mark" ]; then
    printf 'SITE_SETUP of the profile ended with exit status %s, %s\n' "$gpe_status" \
      'before the program began: see .gpe/output' > .gpe/failure
    gpe_status=137 # for the batch system, too, this is no exit status of the program
  fi
  [ -z "${gpe_tmp:-}" ] || gpe_remove_tmp_dir
  gpe_measure 2> /dev/null
  printf '%s\n' "$gpe_status" 1<> .gpe/exit_status.new &&
    mv -f .gpe/exit_status.new .gpe_exit_status
  exit "${gpe_exit:-$gpe_status}"
}
gpe_remove_tmp_dir() {
  rm -rf -- "$gpe_tmp" 2> /dev/null || {
    chmod -R u+rwx -- "$gpe_tmp"
    rm -rf -- "$gpe_tmp"
  }
}
# Writes what the program took to .gpe/usage, as words of GET_JOB_STATUS; of what mpirun starts,
# only the run time.
gpe_measure() {
  gpe_used='' gpe_now=''
  read -r gpe_now < /proc/uptime
  gpe_now=${gpe_now%% *} gpe_uptime=${gpe_uptime%% *} # without the idle time
  case $gpe_uptime:$gpe_now in
  *.??:*.??)
    gpe_format_seconds "$((${gpe_now%.*}${gpe_now#*.} - ${gpe_uptime%.*}${gpe_uptime#*.}))"
    gpe_used="elapsed=$gpe_seconds"
    ;;
  esac
  if [ ! -e .gpe/program ] && gpe_read_cpu_time; then
    gpe_format_seconds "$gpe_cpu"
    gpe_used="$gpe_used cpu=$gpe_seconds"
  fi
  gpe_ended=$(date +%s.%N)
  case $gpe_ended in
  *[!0-9.]*) ;;
  *.?????????) gpe_used="$gpe_used ended=${gpe_ended%??????}" ;;
  esac
  printf '%s\n' "${gpe_used# }" > .gpe/usage
}
gpe_format_seconds() { # HUNDREDTHS: sets gpe_seconds, as 12.05
  gpe_seconds=$(($1 / 100)).$(($1 % 100 / 10))$(($1 % 10))
}
# Sets gpe_cpu to the hundredths of a second that the programs took; false where times tells it in
# another way.
gpe_read_cpu_time() {
  # the last line is of the children: 0m0.010000s 0m0.020000s; none of this is a word of a usage
  {
    echo '#'
    times
  } > .gpe/usage
  {
    read -r gpe_user
    read -r gpe_user
    read -r gpe_user gpe_system
  } < .gpe/usage
  gpe_parse_time "$gpe_user" || return
  gpe_cpu=$gpe_hundredths
  gpe_parse_time "$gpe_system" || return
  gpe_cpu=$((gpe_cpu + gpe_hundredths))
}
gpe_parse_time() { # 1m2.345s: sets gpe_hundredths to the hundredths of a second
  case $1 in [0-9]*m[0-9]*[.,][0-9]*s) ;; *) return 1 ;; esac
  gpe_minutes=${1%%m*} gpe_fraction=${1#*m}
  gpe_seconds=0${gpe_fraction%%[.,]*} gpe_fraction=${gpe_fraction#*[.,]}
  gpe_seconds=${gpe_seconds#"${gpe_seconds%??}"} gpe_fraction=${gpe_fraction%s}0
  gpe_fraction=${gpe_fraction%"${gpe_fraction#??}"}
  case $gpe_minutes$gpe_seconds$gpe_fraction in *[!0-9]*) return 1 ;; esac
  # 1 in front: 08 is no octal number
  gpe_hundredths=$((gpe_minutes * 6000 + 1$gpe_seconds * 100 + 1$gpe_fraction - 10100))
}
command -v gpe_print_nodes > /dev/null || gpe_print_nodes() { # this machine, once for each process
  read -r gpe_host < /proc/sys/kernel/hostname
  gpe_n=0
  while [ "$gpe_n" -lt "${GPE_PROCESSES:-1}" ]; do
    printf '%s\n' "$gpe_host"
    gpe_n=$((gpe_n + 1))
  done
}
# PID: sets gpe_state, gpe_parent, gpe_session, gpe_since. A program's name may hold anything, a
# line end too.
gpe_stat() {
  gpe_s='' gpe_state=''
  { while read -r gpe_l; do gpe_s="$gpe_s $gpe_l"; done < "/proc/$1/stat"; } 2> /dev/null ||
    return 1
  # shellcheck disable=SC2086
  set -- ${gpe_s##*\) }
  # shellcheck disable=SC2034  # SIGNAL's
  gpe_parent=${2:-}
  gpe_state=${1:-} gpe_session=${4:-} gpe_since=${20:-}
  [ -n "$gpe_since" ]
}
gpe_here() { # ID: is it a job of this machine since it was booted?
  gpe_boot=00000000
  { read -r gpe_boot < /proc/sys/kernel/random/boot_id; } 2> /dev/null
  gpe_s=${1##*-}
  [ "${gpe_s%_*}" = "${gpe_boot%%-*}" ]
}
# ID: is the session leader there, and the same process as then? gpe_state tells its state.
gpe_leader() {
  gpe_since=
  gpe_here "$1" && gpe_stat "${1%%-*}" || return
  gpe_s=${1#*-}
  [ "$gpe_since" = "${gpe_s%%-*}" ] || return
  case $gpe_state in Z | X) return 1 ;; esac
}
# ID [PID...]: prints the pids of all its processes; PID: the leader of a session of it that was
# there a moment ago.
gpe_processes() {
  gpe_here "$1" || return 0
  gpe_i=$1
  shift
  {
    [ "$#" -eq 0 ] || gpe_find_members "$@"
    # what left the session, or lost its leader, is known by its environment
    grep -lzxF -e "GPE_JOB_ID=$gpe_i" -e "GPE_ARRAY_ID=$gpe_i" /proc/[0-9]*/environ 2> /dev/null |
      while read -r gpe_p; do
        # shellcheck disable=SC3067  # root sees everybody's
        [ -O "$gpe_p" ] || continue
        gpe_p=${gpe_p#/proc/}
        printf '%s\n' "${gpe_p%/environ}"
      done
  } | sort -u
}
gpe_find_members() { # PID...: prints the pids of the processes in the sessions of these leaders
  gpe_own=" $* "
  for gpe_p in /proc/[0-9]*; do
    gpe_stat "${gpe_p#/proc/}" || continue
    case $gpe_state$gpe_own in
    Z* | X*) ;;
    *" $gpe_session "*) printf '%s\n' "${gpe_p#/proc/}" ;;
    esac
  done
}
gpe_signal() { # SIGNAL PID...: a process that is gone meanwhile is no error
  gpe_s=$1
  shift
  for gpe_p in "$@"; do kill -s "$gpe_s" "$gpe_p" 2> /dev/null || :; done
}
# Of an array: this script, run once more by the leader of the array's session, is a task.
gpe_task_index=${1:-}
gpe_set_id() { # a job of this machine leads a session
  gpe_stat "$$"
  gpe_boot=00000000
  { read -r gpe_boot < /proc/sys/kernel/random/boot_id; } 2> /dev/null
  gpe_id=$$-$gpe_since-${gpe_boot%%-*}
  gpe_jobs=${HOME:-}/.gpe/jobs/${gpe_profile:-linux}
  gpe_begin=gpe_begin_session gpe_end=gpe_end_session gpe_tell=gpe_tell_id
  [ -z "${gpe_array:-}" ] || gpe_begin_array
  [ -n "${gpe_task:-}" ] || gpe_check_waiting
}
gpe_tell_id() { # to START, which may have been killed
  trap '' PIPE
  printf '%s\n' "$gpe_id" 2> /dev/null
  trap - PIPE
}
gpe_begin_session() {
  [ -n "${gpe_task:-}" ] || gpe_enlist
  [ -n "$GPE_WALLTIME" ] || return 0
  gpe_watch_walltime < /dev/null > /dev/null 2>&1 &
  gpe_watch=$!
  printf '%s\n' "$gpe_watch" > .gpe/watch
}
# Among the jobs that live, at which GET_JOB_STATUS looks; then waits until the job may begin.
gpe_enlist() {
  read -r gpe_host < /proc/sys/kernel/hostname && printf '%s\n' "$gpe_host" > .gpe/host
  (
    umask 077
    [ -d "$gpe_jobs/live" ] || mkdir -p -- "$gpe_jobs/live"
    ln -s -- "$PWD" "$gpe_jobs/live/$gpe_id"
  ) &
  gpe_enlisting=$!
  [ -z "${gpe_dependency:-}" ] || gpe_wait_for_jobs
  [ -z "${gpe_start_time:-}" ] || gpe_wait_for_time
  # shellcheck disable=SC3013
  [ . -ef "$GPE_WORKING_DIRECTORY" ] || kill -s KILL "$$" # replaced while the job has waited
}
gpe_watch_walltime() { # ends the program when its time is over
  trap '' HUP INT QUIT USR1 USR2
  gpe_sleep='' gpe_left=$GPE_WALLTIME gpe_step=1
  trap '[ -z "$gpe_sleep" ] || kill "$gpe_sleep"; exit' TERM
  # in steps: a signal that arrives as a shell begins may be lost, and must not leave a process
  # behind for hours
  while [ "$gpe_left" -gt 0 ] && [ ! -e .gpe_exit_status ]; do
    sleep "$gpe_step" &
    gpe_sleep=$!
    wait "$gpe_sleep"
    gpe_left=$((gpe_left - gpe_step)) gpe_step=$((gpe_step < 30 ? 2 * gpe_step : 60))
    [ "$gpe_step" -le "$gpe_left" ] || gpe_step=$gpe_left
  done
  trap '' TERM
  [ ! -e .gpe_exit_status ] || exit 0
  printf 'over its wall time of %s s\n' "$GPE_WALLTIME" > .gpe/limit.new &&
    mv -f .gpe/limit.new .gpe/limit
  gpe_end_processes
}
gpe_end_processes() { # TERM, and after five seconds KILL
  read -r gpe_self < /proc/self/stat
  gpe_self=${gpe_self%% *} gpe_n=0 gpe_site_parent=
  [ ! -e "$gpe_setup_mark" ] || gpe_site_parent=$$ # of the site's own shell, which has to clean up
  while [ ! -e .gpe_exit_status ] && [ "$gpe_n" -lt 100 ]; do
    case $gpe_n in 0 | [5-9]?) gpe_pids=$(gpe_processes "$GPE_JOB_ID" "$$") ;; *) gpe_pids= ;; esac
    for gpe_p in $gpe_pids; do
      gpe_stat "$gpe_p" && case $gpe_n:$gpe_p:$gpe_parent in
      *":$$:"* | *":$gpe_self:"* | *":$gpe_site_parent") ;;
      0:*) gpe_signal TERM "$gpe_p" ;;
      [5-9]?:*) gpe_signal KILL "$gpe_p" ;;
      esac
    done
    gpe_n=$((gpe_n + 1))
    sleep 0.1
  done
}
gpe_end_session() {
  # else the link might come after DELETE
  [ -z "${gpe_enlisting:-}" ] || wait "$gpe_enlisting" 2> /dev/null
  # the process of this number may be another one by now
  [ -n "${gpe_watch:-}" ] && gpe_stat "$gpe_watch" || return 0
  [ "$gpe_parent" != "$$" ] || kill "$gpe_watch" 2> /dev/null
}
# ID: sets gpe_dir to the link to the job's working directory, or to a task's directory in that of
# its array; false if there is none.
gpe_job_dir() {
  gpe_dir=$gpe_jobs/$1
  [ ! -d "$gpe_dir" ] || return 0
  case $1 in
  *\[[0-9]*\]*) # 12[3].server of 12[].server
    gpe_t=${1#*\[}
    gpe_t=${gpe_t%%\]*}
    gpe_a="${1%%\[*}[]${1#*\]}"
    ;;
  *[_.][0-9]*)
    gpe_t=${1##*[_.]}
    gpe_a=${1%[_.]*}
    ;;
  *) return 1 ;;
  esac
  case $gpe_t in *[!0-9]*) return 1 ;; esac
  [ -d "$gpe_jobs/$gpe_a" ] || gpe_a=${gpe_a%'[]'} # 12[3] of 12
  # it need not be there before the task begins
  gpe_dir=$gpe_jobs/$gpe_a/.gpe/tasks/$gpe_t
  [ -d "$gpe_jobs/$gpe_a" ]
}
gpe_met=''
# CONDITIONS: true if all hold; 1: one can never hold; 2: some of the jobs have not ended, as
# gpe_lives ID DIRECTORY tells.
gpe_check_dependency() {
  gpe_all=0 gpe_asked=
  for gpe_one in $(printf '%s\n' "$1" | tr ',:' '\n\n'); do
    case $gpe_one:$gpe_met in
    afterok:* | afternotok:* | afterany:*) gpe_asked=$gpe_one ;;
    "$gpe_one:"*" $gpe_asked:$gpe_one "*) ;; # it held before; its record may be gone by now
    *)
      gpe_find_end "$gpe_one"
      case $gpe_asked:$gpe_found in
      *:) gpe_all=2 ;;
      afterok:ok | afternotok:other | afterany:*) gpe_met="$gpe_met $gpe_asked:$gpe_one " ;;
      *) return 1 ;;
      esac
      ;;
    esac
  done
  return "$gpe_all"
}
# ID: sets gpe_found to ok (ended with exit status 0), other (ended otherwise) or nothing; all the
# tasks of an array must have ended.
gpe_find_end() {
  gpe_ends=ok
  gpe_job_dir "$1" || :
  [ ! -e "$gpe_dir/.gpe/removed" ] || gpe_ends=other
  if [ ! -d "$gpe_dir/.gpe/tasks" ]; then
    gpe_read_end "$1" "$gpe_dir"
    return
  fi
  for gpe_of in "$gpe_dir"/.gpe/tasks/*; do
    gpe_read_end "$1" "$gpe_of"
    case $gpe_found in '') return ;; other) gpe_ends=other ;; esac
  done
  gpe_found=$gpe_ends
}
gpe_read_end() { # ID DIRECTORY: the same of a job or of a task
  gpe_found=
  [ -e "$2/.gpe_exit_status" ] || ! "${gpe_lives:-false}" "$1" "$2" || return 0
  gpe_found=other gpe_code=
  [ ! -e "$2/.gpe/removed" ] && [ ! -e "$2/.gpe/limit" ] || return 0
  { read -r gpe_code < "$2/.gpe_exit_status"; } 2> /dev/null
  [ "$gpe_code" != 0 ] || gpe_found=ok
}
gpe_refuse() { # MESSAGE: before the id is told, START prints it
  printf 'START: %s\n' "$1" >&2
  exit 1
}
# Before the id is told: refuses what can never begin, and notes what the job waits for.
gpe_check_waiting() {
  if [ -n "${gpe_dependency:-}" ]; then
    for gpe_i in $(printf '%s\n' "$gpe_dependency" | tr ',:' '\n\n'); do
      case $gpe_i in afterok | afternotok | afterany) continue ;; esac
      gpe_job_dir "$gpe_i" && [ -d "$gpe_dir" ] ||
        gpe_refuse "DEPENDENCY names $gpe_i, which is no job of this profile"
    done
    printf '%s waits for %s\n' "$gpe_id" "$gpe_dependency" > .gpe/waiting || exit 1
  fi
  [ -n "${gpe_start_time:-}" ] || return 0
  gpe_start=$(date -d "${gpe_start_time%T*} ${gpe_start_time#*T}" +%s 2> /dev/null) ||
    gpe_refuse "START_TIME $gpe_start_time is no time that exists here"
  [ -n "${gpe_dependency:-}" ] || gpe_note_start_time || exit 1
}
gpe_note_start_time() {
  printf '%s not before %s\n' "$gpe_id" "$gpe_start_time" > .gpe/waiting
}
gpe_wait_for_jobs() { # until the conditions of DEPENDENCY hold
  gpe_lives=gpe_lives
  while :; do
    gpe_check_dependency "$gpe_dependency"
    gpe_rc=$?
    [ "$gpe_rc" -eq 2 ] || break
    [ ! -e .gpe/removed ] || gpe_never_begin
    sleep 1
  done
  if [ "$gpe_rc" -ne 0 ]; then
    printf 'DEPENDENCY\n' > .gpe/removed
    gpe_never_begin
  fi
  gpe_note_begin
}
gpe_never_begin() { # without an exit status: it never ran
  trap - EXIT
  exit 0
}
gpe_note_begin() { # the job's time begins now
  { read -r gpe_i < /proc/uptime && printf '%s\n' "${gpe_i%% *}" > .gpe/begun; } 2> /dev/null || :
  rm -f .gpe/waiting && touch .gpe/host
}
gpe_wait_for_time() { # until START_TIME
  while gpe_left=$((gpe_start - $(date +%s))) && [ "$gpe_left" -gt 0 ]; do
    [ -e .gpe/waiting ] || gpe_note_start_time
    [ ! -e .gpe/removed ] || gpe_never_begin
    sleep "$((gpe_left < 60 ? gpe_left : 60))"
  done
  gpe_note_begin
}
# ID DIRECTORY: can the job, or the task with this directory, leave a record later?
gpe_lives() {
  gpe_i=$1 gpe_array_dir=${2%/.gpe/tasks/*}
  if [ "$gpe_array_dir" != "$2" ]; then
    gpe_i=${1%_*}
    if [ -s "$2/.gpe/session" ]; then
      read -r gpe_i < "$2/.gpe/session"
    else
      [ ! -e "$2/.gpe/removed" ] && [ ! -e "$gpe_array_dir/.gpe/removed" ] || return
    fi
  fi
  gpe_leader "$gpe_i" && return
  # does its program go on without a leader, or does it run on another machine that shares this home
  # directory?
  [ "$gpe_array_dir" = "$2" ] || gpe_i=${1%_*}_${2##*/}
  gpe_other=$gpe_host
  { read -r gpe_other < "$gpe_array_dir/.gpe/host"; } 2> /dev/null
  [ "$gpe_other" != "$gpe_host" ] || [ -n "$(gpe_processes "$gpe_i")" ]
}
# The leader makes the directories of the tasks; a task, which the leader runs, notes its session.
gpe_begin_array() {
  gpe_run_tasks=gpe_run_tasks
  if [ -n "$gpe_task_index" ]; then
    gpe_begin_task "$gpe_task_index"
    return
  fi
  gpe_list=$(gpe_print_indices 100000) || gpe_list=
  [ -n "$gpe_list" ] ||
    gpe_refuse "ARRAY $gpe_array has an empty range, or more than 100000 tasks"
  (
    umask 077
    mkdir -p .gpe/tasks && cd .gpe/tasks || exit
    # shellcheck disable=SC2086
    printf '%s/.gpe\n' $gpe_list | xargs mkdir -p --
  ) || exit 1
}
# [MOST]: prints the indices of gpe_array, as 1-9:2,12%3, each once; false if a range is empty, or
# if there are more.
gpe_print_indices() {
  printf '%s\n' "${gpe_array%%%*}" | tr , '\n' | awk -F '[-:]' -v most="${1:-10000000}" '{
    last = NF > 1 ? $2 : $1; step = NF > 2 ? $3 : 1
    if ($1 + 0 > last + 0) exit 1
    for (i = $1 + 0; i <= last + 0; i += step) if (!seen[i]++) { if (++n > most) exit 1; print i }
  }'
}
gpe_begin_task() { # INDEX
  gpe_i=.gpe/tasks/$1/.gpe
  # it has begun already, below an xargs that was killed
  (set -C && : > "$gpe_i/session") 2> /dev/null || exit 1
  if ! printf '%s\n' "$gpe_id" > "$gpe_i/session"; then
    rm -f "$gpe_i/session"
    exit 1
  fi
  if [ -e "$gpe_i/held" ]; then
    rm -f "$gpe_i/session"
    exit 0
  fi
  [ ! -e "$gpe_i/removed" ] && [ ! -e .gpe/removed ] || exit 0
  gpe_leader "$GPE_ARRAY_ID" || exit 0
  gpe_id=$GPE_ARRAY_ID gpe_task=$1 gpe_task_id=$GPE_JOB_ID
  command exec > /dev/null
}
# In the leader: at most so many at a time; a task that is held when its turn comes is tried again.
gpe_run_tasks() {
  [ -z "${gpe_task:-}" ] || return 0
  command exec > .gpe/output 2>&1 || exit 1
  rm -f ".gpe/id.$gpe_id"
  gpe_enlist
  export GPE_ARRAY_ID="$gpe_id"
  case $gpe_array in
  *%*) gpe_most=${gpe_array#*%} ;;
  *) gpe_most=$(getconf _NPROCESSORS_ONLN) || gpe_most=1 ;;
  esac
  gpe_before='' gpe_n=0
  while [ ! -e .gpe/removed ]; do
    gpe_find_ready
    [ -z "$gpe_ready" ] || gpe_run_ready
    [ -n "$gpe_ready$gpe_held" ] || exit 0
    # tasks that cannot even begin, because the disk is full, say
    [ -n "$gpe_held" ] || [ "$gpe_ready" != "$gpe_before" ] || gpe_n=$((gpe_n + 1))
    [ "$gpe_n" -lt 9 ] || exit 1
    gpe_before=$gpe_ready
    [ "$gpe_n" = 0 ] && [ -z "$gpe_held" ] || sleep 1
  done
  exit 0
}
gpe_run_ready() {
  # xargs ends when a command exits with 255 or dies of a signal; sh outlives what it runs, because
  # a task has a session of its own
  # shellcheck disable=SC2016,SC2086
  printf '%s\n' $gpe_ready | xargs -n 1 -P "$gpe_most" sh -c '
    GPE_JOB_ID=${GPE_ARRAY_ID}_$1 setsid -w sh .gpe/script "$1"
    exit 0' sh
}
gpe_find_ready() { # sets gpe_ready to the tasks that may begin, gpe_held to y if some are held
  gpe_ready='' gpe_held=''
  for gpe_index in $gpe_list; do
    gpe_i=.gpe/tasks/$gpe_index/.gpe
    if [ -e "$gpe_i/session" ] || [ -e "$gpe_i/removed" ]; then
      :
    elif [ -e "$gpe_i/held" ]; then
      gpe_held=y
    else
      gpe_ready="$gpe_ready $gpe_index"
    fi
  done
}
