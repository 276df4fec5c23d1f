# job.sh: the functions of a job script, in the order in which it calls them. It reads this file
# from its working directory: a job needs nothing else. It shares its shell with lines of the site
# and of the user, so each name begins with gpe_.
#   gpe_begin_job NAME=VALUE...       takes the directory for this job; exports values as GPE_NAME
#   gpe_open_program NAME=VALUE...    in the program's own shell: opens its files, enters DIRECTORY
#   gpe_run NAME=VALUE... -- PROGRAM  replaces this shell by the program, with these variables
#   gpe_end_job                       writes its exit status to .gpe_exit_status, and exits with it
# START (submit.sh) makes this file of linux/job.sh, of what the profile adds (gpe_set_id, how a job
# learns its id), and, only for a job that has them, of job-container.sh, job-parallel.sh,
# job-names.sh, job-signal.sh, job-staging.sh and, without a batch system, job-array.sh,
# job-waiting.sh.
# A profile names functions of its own in gpe_tell (the id is known), gpe_run_tasks (of an array:
# instead of the program), gpe_begin and gpe_end (before and after the program), gpe_enter (in the
# program's own shell); gpe_exit is the exit status for the batch system, if it is another one;
# gpe_submit_directory names the variables for the directory of the submission.
# kill -s KILL "$$": a job that cannot begin, or cannot record its end, dies by a signal: an exit
# status would be taken for the program's, by the batch system, too. One that cannot use what the
# user has named says so in .gpe/failure (gpe_fail).
# The batch system's own output goes to /dev/null (slurm: --output=/dev/null), as it would read a %
# or $ in the name of a file as its own; what this shell prints is in .gpe/output.
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
  [ -z "${GPE_TZ+set}" ] || export TZ="$GPE_TZ"
  unset GPE_TZ
  gpe_survive
  "${gpe_begin:-:}"
  [ -z "$GPE_TMP_DIR" ] || gpe_make_tmp_dir
  { read -r gpe_uptime < /proc/uptime; } 2> /dev/null
}
# The first job that writes its id is the job of this directory; another one runs nothing.
gpe_claim_directory() {
  [ -s .gpe/id ] || gpe_write_id || kill -s KILL "$$"
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
# By a link, as START, or a task of the same array on another node, may write it now: it appears
# whole. mv is for a file system without links.
gpe_write_id() {
  printf '%s\n' "$gpe_id" > ".gpe/id.$gpe_me" || return
  ln ".gpe/id.$gpe_me" .gpe/id 2> /dev/null || [ -s .gpe/id ] || mv -f ".gpe/id.$gpe_me" .gpe/id ||
    return
  rm -f ".gpe/id.$gpe_me"
}
gpe_enter_task() {      # of an array: a directory of its own for the files of its end
  "${gpe_run_tasks:-:}" # linux: the leader of the array's session ends here
  mkdir -p -- ".gpe/tasks/${gpe_task:?}/.gpe" && cd -- "./.gpe/tasks/$gpe_task" || kill -s KILL "$$"
  export GPE_ARRAY_ID="$gpe_id" GPE_ARRAY_INDEX="$gpe_task"
}
# A job that cannot write here is killed: an exit status would be taken for the program's.
gpe_open_record() {
  command exec > .gpe/output 2>&1 || kill -s KILL "$$"
  trap gpe_end_early EXIT
  [ ! -e .gpe_exit_status ] && [ ! -e .gpe/limit ] && [ ! -e .gpe/failure ] ||
    rm -f .gpe_exit_status .gpe/limit .gpe/failure .gpe/usage
  # room for the end, which is written over it: the job may fill its disk
  printf '0\n' > .gpe/exit_status.new || kill -s KILL "$$"
  # the name of a file that is not empty while SITE_SETUP runs
  gpe_setup_mark=$PWD/.gpe/setup
}
# This shell ends before its script does, as one that cannot start a process. Without the program's
# own exit status, it is killed.
gpe_end_early() {
  [ ! -e .gpe_exit_status ] || return 0
  # bash runs this also in a child that is ended as it begins, such as the watch over the wall time
  read -r gpe_self _ < /proc/self/stat
  [ "$gpe_self" = "$$" ] || return 0
  [ -n "$gpe_status" ] || kill -s KILL "$$"
  printf '%s\n' "$gpe_status" > .gpe_exit_status
}
gpe_export_values() { # NAME=VALUE...
  GPE_JOB_NAME='' GPE_PROCESSES='' GPE_CPUS='' GPE_MEMORY='' GPE_WALLTIME='' GPE_CPUTIME=''
  GPE_NODE_FILE='' GPE_TMP_DIR=''
  for gpe_value in "$@"; do
    case $gpe_value in
    JOB_NAME=*) GPE_JOB_NAME=${gpe_value#*=} ;;
    PROCESSES=*) GPE_PROCESSES=${gpe_value#*=} ;;
    CPUS=*) GPE_CPUS=${gpe_value#*=} ;;
    MEMORY=*) GPE_MEMORY=${gpe_value#*=} ;;
    WALLTIME=*) GPE_WALLTIME=${gpe_value#*=} ;;
    CPUTIME=*) GPE_CPUTIME=${gpe_value#*=} ;;
    NODE_FILE=*) GPE_NODE_FILE=${gpe_value#*=} ;;
    TMP_DIR=*) GPE_TMP_DIR=${gpe_value#*=} ;;
    esac
  done
  GPE_JOB_ID=$gpe_me GPE_NODES=${gpe_nodes:-} GPE_QUEUE=${gpe_queue:-} GPE_PROJECT=${gpe_project:-}
  export GPE_WORKING_DIRECTORY GPE_JOB_ID GPE_JOB_NAME GPE_NODES GPE_QUEUE GPE_PROJECT
  export GPE_PROCESSES GPE_CPUS GPE_MEMORY GPE_WALLTIME GPE_CPUTIME
  [ -z "$GPE_CPUS" ] || export OMP_NUM_THREADS="$GPE_CPUS"
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
  (gpe_print_nodes > "$GPE_NODE_FILE") || gpe_fail "NODE_FILE $GPE_NODE_FILE cannot be written"
}
gpe_make_tmp_dir() {
  gpe_tmp=$(mktemp -d "$GPE_TMP_DIR/gpe.XXXXXX") ||
    (gpe_fail "no directory can be made in TMP_DIR $GPE_TMP_DIR") || gpe_end_job
  export TMPDIR="$gpe_tmp"
}
# REASON: ends the program's own shell, as a file, directory, module or container that the user has
# named cannot be used. The exit status alone might be the program's.
gpe_fail() {
  printf 'the job cannot go on: %s\n' "$1" >&2
  gpe_failure=${gpe_setup_mark:-$GPE_WORKING_DIRECTORY/.gpe/setup}
  gpe_failure=${gpe_failure%setup}failure
  printf '%s\n' "$(printf %s "$1" | LC_ALL=C tr '[:cntrl:]' ' ')" > "$gpe_failure" ||
    [ -e "$gpe_failure" ] || exit 137
  exit 125
}
# In the site's own shell: what SITE_SETUP and SITE_CLEANUP do to it does not harm the record.
gpe_begin_site() {
  gpe_survive
  printf 'SITE_SETUP\n' > "$gpe_setup_mark" || gpe_fail "file $gpe_setup_mark cannot be written"
}
gpe_end_setup() {
  set +euC
  command : > "$gpe_setup_mark" || exit 125
}
gpe_open_program() { # NAME=VALUE...
  "${gpe_enter:-:}"
  gpe_stdin='' gpe_stdout='' gpe_stderr='' gpe_directory=''
  gpe_stdout_name='' gpe_stderr_name='' gpe_append=''
  for gpe_value in "$@"; do
    case $gpe_value in
    STDIN=*) gpe_stdin=${gpe_value#*=} ;;
    STDOUT=*) gpe_stdout=${gpe_value#*=} ;;
    STDERR=*) gpe_stderr=${gpe_value#*=} ;;
    STDOUT_NAME=*) gpe_stdout_name=${gpe_value#*=} ;;
    STDERR_NAME=*) gpe_stderr_name=${gpe_value#*=} ;;
    APPEND=*) gpe_append=${gpe_value#*=} ;;
    DIRECTORY=*) gpe_directory=${gpe_value#*=} ;;
    esac
  done
  # If SITE_SETUP has changed the directory, the program begins there; its files are opened in the
  # working directory all the same.
  # shellcheck disable=SC3013
  [ . -ef "${gpe_setup_mark%/.gpe/setup}" ] || gpe_directory=${gpe_directory:-$PWD}
  # shellcheck disable=SC3067  # every sh of Linux has -O
  command cd -- "$GPE_WORKING_DIRECTORY" && [ -O . ] ||
    gpe_fail "working directory $GPE_WORKING_DIRECTORY cannot be used"
  [ -z "$GPE_NODE_FILE" ] || gpe_write_node_file
  gpe_open_files "${gpe_stdin:-/dev/null}" "${gpe_stdout:-stdout}" "${gpe_stderr:-stderr}"
  [ -z "$gpe_directory" ] || gpe_enter_directory
  gpe_limit_cputime
}
# Most scripts begin with cd $PBS_O_WORKDIR or its like, where the user submitted. Its value is
# changed here alone: FIND_JOB finds a job by what the submission has.
gpe_enter_directory() {
  command cd -- "$gpe_directory" || gpe_fail "directory $gpe_directory cannot be entered"
  for gpe_name in ${gpe_submit_directory:-}; do export "$gpe_name=$PWD"; done
}
# The program gets XCPU, which it may handle, and KILL five seconds later. A lower limit of the site
# stays.
gpe_limit_cputime() {
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
  [ -z "$gpe_stdout_name" ] || gpe_link_output "$gpe_stdout" "$gpe_stdout_name"
  [ -z "$gpe_stderr_name" ] || gpe_link_output "$gpe_stderr" "$gpe_stderr_name"
  if [ -z "$gpe_append" ]; then
    command exec 2> "$gpe_stderr"
  else
    command exec 2>> "$gpe_stderr"
  fi || gpe_fail "STDERR $gpe_stderr cannot be written"
  command exec < "$1" || gpe_fail "STDIN $1 cannot be read"
  if [ "$gpe_stdout" = "$gpe_stderr" ]; then
    command exec >&2
  elif [ -z "$gpe_append" ]; then
    command exec > "$gpe_stdout"
  else
    command exec >> "$gpe_stdout"
  fi || gpe_fail "STDOUT $gpe_stdout cannot be written"
}
# FILE: sets gpe_file to it; in a task, to that of the task, unless it is a device.
gpe_add_task_suffix() {
  gpe_file=$1
  case ${1#/dev/shm} in /dev/*) ;; *) gpe_file=$1${gpe_task:+.$gpe_task} ;; esac
}
gpe_load_modules() { # MODULES, with blanks between them
  for gpe_module in $1; do
    module load "$gpe_module" || gpe_fail "module $gpe_module cannot be loaded"
  done
}
gpe_run() { # NAME=VALUE... -- PROGRAM ARGUMENT...
  gpe_read_environment "$@"
  shift "$gpe_n"
  eval "exec $gpe_words"' "$@"'
}
# NAME=VALUE... -- PROGRAM...: gpe_words get the words before the program; gpe_n of these are behind
# them.
gpe_read_environment() {
  gpe_words='' gpe_n=1
  while [ "$1" != -- ]; do
    gpe_quote "$1"
    gpe_words="$gpe_words $gpe_quoted"
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
  fi
  # for the batch system, too, this is no exit status of the program
  [ ! -e .gpe/failure ] || gpe_status=137
  [ -z "${gpe_tmp:-}" ] || gpe_remove_tmp_dir
  gpe_measure 2> /dev/null
  # 1<>: over the byte that is there, so that a full disk does not lose it
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
