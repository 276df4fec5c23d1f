BEGIN TRANSACTION;
CREATE TABLE job (
  number INTEGER PRIMARY KEY,
  target TEXT NOT NULL,
  directory TEXT NOT NULL,
  job_id TEXT,      -- NULL: being submitted, or the submission was interrupted
  key TEXT,         -- the caller's name for the submission
  name TEXT NOT NULL,
  script TEXT,      -- the script that submits it, while job_id is NULL
  owner TEXT,       -- the process that is submitting it, or runs ABORT for it
  state TEXT NOT NULL, word TEXT NOT NULL, exit_code INTEGER, signal INTEGER,
  by_limit INTEGER NOT NULL, hosts TEXT NOT NULL, reason TEXT NOT NULL,
  submitted REAL, started REAL, ended REAL,
  walltime REAL,
  aborted REAL,     -- when the batch system accepted its removal
  missing REAL      -- unused: older versions stored wall-clock times here
, cause TEXT, missing_boot TEXT, accepted REAL, stdout TEXT, array_spec TEXT, elapsed REAL, array_index INTEGER, max_memory INTEGER, end_reported INTEGER, stderr TEXT, missing_last REAL, missing_since REAL, cpu_time REAL, array_id TEXT, history TEXT);
INSERT INTO "job" VALUES(1,'linux','@JOBS@/root/20261128-104546-6e0744a78004b192','28537-175928-@BOOT8@','done','greeting',NULL,NULL,'DONE','exited',3,NULL,0,'@HOST@','',1.79586274655734014511e+09,1795862746.614,1795862746.654,600.0,NULL,NULL,NULL,NULL,1.79586274664047455783e+09,'stdout','',0.04,NULL,2306048,1,'stderr',NULL,NULL,0.0,NULL,'DONE 1795862746.654
');
INSERT INTO "job" VALUES(2,'linux','@JOBS@/root/20261128-104547-b9949722ca5243d7','28831-175977-@BOOT8@','killed','',NULL,NULL,'FAILED','exited',NULL,9,0,'@HOST@','',1.79586274702779030796e+09,1795862747.103,1795862747.123,NULL,NULL,NULL,'SIGNAL',NULL,1.79586274712502503396e+09,'stdout','',0.02,NULL,2338816,1,'stderr',NULL,NULL,0.0,NULL,'FAILED 1795862747.123
');
INSERT INTO "job" VALUES(3,'linux','@JOBS@/root/20261128-104547-ee863a5eee271eee','29051-176028-@BOOT8@','cancelled','',NULL,NULL,'REMOVED','removed',NULL,NULL,0,'@HOST@','',1.79586274756004047386e+09,1795862747.612,1795862748.742,NULL,1.79586274893549180031e+09,NULL,'USER',NULL,1795862747.62411,'stdout','',1.13,NULL,2314240,1,'stderr',NULL,NULL,0.0,NULL,'REMOVED 1795862748.742
');
INSERT INTO "job" VALUES(4,'linux','@JOBS@/root/20261128-104548-7410fb779084e202','29368-176086-@BOOT8@','array','',NULL,NULL,'FAILED','',NULL,NULL,0,'','0 of 3 tasks ended with 0; exit 1: 1; exit 2: 1; exit 3: 1',1.7958627481252322197e+09,1795862748.264,1795862748.364,NULL,NULL,NULL,NULL,NULL,1.79586274822835326192e+09,'stdout','1-3',NULL,NULL,2424832,1,'stderr',NULL,NULL,0.0,NULL,'FAILED 1795862748.364
');
INSERT INTO "job" VALUES(5,'linux','task:4:1','29368-176086-@BOOT8@_1',NULL,'',NULL,NULL,'DONE','exited',1,NULL,0,'@HOST@','',1.7958627481252322197e+09,1.79586274828100013727e+09,1795862748.301,NULL,NULL,NULL,NULL,NULL,1.79586274822835326192e+09,NULL,NULL,0.02,1,2424832,1,NULL,NULL,NULL,0.0,'29368-176086-@BOOT8@','DONE 1795862748.301
');
INSERT INTO "job" VALUES(6,'linux','task:4:2','29368-176086-@BOOT8@_2',NULL,'',NULL,NULL,'DONE','exited',2,NULL,0,'@HOST@','',1.7958627481252322197e+09,1795862748.264,1795862748.264,NULL,NULL,NULL,NULL,NULL,1.79586274822835326192e+09,NULL,NULL,0.0,2,2297856,1,NULL,NULL,NULL,0.0,'29368-176086-@BOOT8@','DONE 1795862748.264
');
INSERT INTO "job" VALUES(7,'linux','task:4:3','29368-176086-@BOOT8@_3',NULL,'',NULL,NULL,'DONE','exited',3,NULL,0,'@HOST@','',1.7958627481252322197e+09,1.79586274832400012019e+09,1795862748.364,NULL,NULL,NULL,NULL,NULL,1.79586274822835326192e+09,NULL,NULL,0.04,3,2424832,1,NULL,NULL,NULL,0.0,'29368-176086-@BOOT8@','DONE 1795862748.364
');
INSERT INTO "job" VALUES(8,'linux','@JOBS@/root/20261128-104550-9c766e8c68c7b7c4','30886-176350-@BOOT8@','running','',NULL,NULL,'RUNNING','running',NULL,NULL,0,'@HOST@','',1.79586275078663039211e+09,1.7958627513252975941e+09,NULL,NULL,NULL,NULL,NULL,NULL,1.7958627508495185375e+09,'stdout','',5.0,NULL,NULL,0,'stderr',NULL,NULL,NULL,NULL,'RUNNING 1795862751.325
');
INSERT INTO "job" VALUES(9,'linux','@JOBS@/root/20261128-104551-c10b05e60779bceb',NULL,'cut','','# The job leads a session of its own, and prints its id before it runs its program. It is nobody''s background
# command, which would ignore SIGINT: the first setsid makes a leader, so that the second one forks, and its parent ends.
set -- eval ''setsid setsid sh .gpe_job < /dev/null 3>&- | { read -r gpe_id && printf "%s\n" "$gpe_id"; }; exit;''
gpe_d=''@JOBS@/root/20261128-104551-c10b05e60779bceb'' gpe_profile=''linux'' gpe_id_pattern=''[1-9][0-9]*-[0-9]+-[0-9a-f]{8}(_[0-9]+)?''
gpe_job=''#!/bin/sh
gpe_stat() { # PID: sets gpe_state, gpe_parent, gpe_session, gpe_since. A program''\''''s name may hold anything, a line end too.
  gpe_s=''\''''''\'''' gpe_state=''\''''''\''''
  { while read -r gpe_l; do gpe_s="$gpe_s $gpe_l"; done < "/proc/$1/stat"; } 2> /dev/null || return 1
  # shellcheck disable=SC2086
  set -- ${gpe_s##*\) }
  # shellcheck disable=SC2034  # SIGNAL''\''''s
  gpe_parent=${2:-}
  gpe_state=${1:-} gpe_session=${4:-} gpe_since=${20:-}
  [ -n "$gpe_since" ]
}
gpe_here() { # ID: is it a job of this machine since it was booted?
  gpe_boot=00000000
  { read -r gpe_boot < /proc/sys/kernel/random/boot_id; } 2> /dev/null
  gpe_s=${1##*-} && [ "${gpe_s%_*}" = "${gpe_boot%%-*}" ]
}
gpe_leader() { # ID: is the session leader there, and the same process as then? gpe_state tells its state
  gpe_since=
  gpe_here "$1" && gpe_stat "${1%%-*}" && gpe_s=${1#*-} && [ "$gpe_since" = "${gpe_s%%-*}" ] &&
    case $gpe_state in Z | X) false ;; esac
}
gpe_processes() { # ID [PID...]: the pids of all its processes; PID: the leader of a session of it that was there a moment ago
  gpe_here "$1" || return 0
  gpe_i=$1 && shift && gpe_own=" $* "
  {
    for gpe_p in /proc/[0-9]*; do
      [ "$gpe_own" != ''\''''  ''\'''' ] && gpe_stat "${gpe_p#/proc/}" || continue
      case $gpe_state$gpe_own in Z* | X*) ;; *" $gpe_session "*) printf ''\''''%s\n''\'''' "${gpe_p#/proc/}" ;; esac
    done
    # what left the session, or lost its leader, is known by its environment
    grep -lzxF -e "GPE_JOB_ID=$gpe_i" -e "GPE_ARRAY_ID=$gpe_i" /proc/[0-9]*/environ 2> /dev/null | while read -r gpe_p; do
      # shellcheck disable=SC3067  # root sees everybody''\''''s
      [ ! -O "$gpe_p" ] || { gpe_p=${gpe_p#/proc/} && printf ''\''''%s\n''\'''' "${gpe_p%/environ}"; }
    done
  } | sort -u
}
gpe_signal() { # SIGNAL PID...: a process that is gone meanwhile is no error
  gpe_s=$1
  shift
  for gpe_p in "$@"; do kill -s "$gpe_s" "$gpe_p" 2> /dev/null || :; done
}
gpe_stat "$$"
gpe_boot=00000000
{ read -r gpe_boot < /proc/sys/kernel/random/boot_id; } 2> /dev/null
gpe_id=$$-$gpe_since-${gpe_boot%%-*} gpe_cputime=''\''''''\'''' gpe_nodes=''\''''''\'''' gpe_array=''\''''''\'''' gpe_dependency=''\''''''\'''' gpe_start_time=''\''''''\''''
gpe_jobs="${HOME:-}/.gpe/jobs"/''\''''linux''\''''
# to START, which may have been killed
trap ''\''''''\'''' PIPE
printf ''\''''%s\n''\'''' "$gpe_id" 2> /dev/null
trap - PIPE
gpe_begin=gpe_begin gpe_end=gpe_end
gpe_enlist() {
  read -r gpe_host < /proc/sys/kernel/hostname && printf ''\''''%s\n''\'''' "$gpe_host" > .gpe_host
  # GET_JOB_STATUS looks at the jobs that live, not at all that ever were
  { [ -d "$gpe_jobs/live" ] || (umask 077; mkdir -p -- "$gpe_jobs/live"); ln -s -- "$PWD" "$gpe_jobs/live/$gpe_id"; } &
  [ -z "$gpe_dependency" ] || gpe_after; [ -z "$gpe_start_time" ] || gpe_until
}
gpe_begin() {
  "${gpe_enlist:-gpe_enlist}"
  [ -n "$GPE_WALLTIME" ] || return 0
  gpe_watch_walltime < /dev/null > /dev/null 2>&1 &
  gpe_watch=$! && printf ''\''''%s\n''\'''' "$gpe_watch" > .gpe_watch
}
gpe_watch_walltime() {
  trap ''\''''''\'''' HUP INT QUIT USR1 USR2
  gpe_sleep=''\''''''\'''' gpe_left=$GPE_WALLTIME gpe_step=1
  trap ''\''''[ -z "$gpe_sleep" ] || kill "$gpe_sleep"; exit''\'''' TERM
  # in steps: a signal that arrives as a shell begins may be lost, and must not leave a process behind for hours
  while [ "$gpe_left" -gt 0 ] && [ ! -e .gpe_exit_status ]; do
    sleep "$gpe_step" &
    gpe_sleep=$!
    wait "$gpe_sleep"
    gpe_left=$((gpe_left - gpe_step)) gpe_step=$((gpe_step < 30 ? 2 * gpe_step : 60))
    [ "$gpe_step" -le "$gpe_left" ] || gpe_step=$gpe_left
  done
  trap ''\''''''\'''' TERM
  read -r gpe_self < /proc/self/stat
  gpe_self=${gpe_self%% *} gpe_n=0
  [ ! -e .gpe_exit_status ] || exit 0
  printf ''\''''over its wall time of %s s\n''\'''' "$GPE_WALLTIME" > .gpe_limit.new && mv -f .gpe_limit.new .gpe_limit
  while [ ! -e .gpe_exit_status ] && [ "$gpe_n" -lt 100 ]; do
    case $gpe_n in 0 | [5-9]?) gpe_pids=$(gpe_processes "$GPE_JOB_ID" "$$") ;; *) gpe_pids= ;; esac
    for gpe_p in $gpe_pids; do
      case $gpe_n:$gpe_p in
      *":$$" | *":$gpe_self") ;;
      0:*) gpe_signal TERM "$gpe_p" ;;
      [5-9]?:*) gpe_signal KILL "$gpe_p" ;;
      esac
    done
    gpe_n=$((gpe_n + 1))
    sleep 0.1
  done
}
gpe_end() { [ -z "${gpe_watch:-}" ] || kill "$gpe_watch" 2> /dev/null; }
cd -- ''\''''@JOBS@/root/20261128-104551-c10b05e60779bceb''\'''' || kill -s KILL "$$" # a signal: an exit status would be taken for the program''\''''s
if gpe_me=${gpe_task_id:-$gpe_id} && [ -n "$gpe_id" ]; then # the first job that writes its id is the job of this directory
  printf ''\''''%s\n''\'''' "$gpe_id" > ".gpe_job_id.$gpe_me" && { ln ".gpe_job_id.$gpe_me" .gpe_job_id 2> /dev/null || [ -s .gpe_job_id ] || mv -f ".gpe_job_id.$gpe_me" .gpe_job_id; } && read -r gpe_first < .gpe_job_id || kill -s KILL "$$"
  # FIND_JOB removes START''\''''s mark when it gives a submission up.
  [ -e .gpe_submitting ] || { [ "$gpe_first" != "$gpe_id" ] || rm -f .gpe_job_id; gpe_first=none; }
  [ "${gpe_first%%.*}" = "${gpe_id%%.*}" ] || { echo "job $gpe_id runs nothing: the job of $PWD is $gpe_first" >&2; exit 1; }
fi
command exec > .gpe_job.out 2>&1 && trap ''\''''gpe_status=$?; [ -e .gpe_exit_status ] || echo "$gpe_status" > .gpe_exit_status''\'''' EXIT || kill -s KILL "$$"
rm -f "${gpe_task:+../../}.gpe_job_id.$gpe_me" & [ ! -e .gpe_exit_status ] && [ ! -e .gpe_limit ] || rm -f .gpe_exit_status .gpe_limit .gpe_usage
export GPE_JOB_ID="$gpe_me" GPE_WORKING_DIRECTORY=''\''''@JOBS@/root/20261128-104551-c10b05e60779bceb''\'''' GPE_JOB_NAME=''\''''''\'''' GPE_NODES="${gpe_nodes:-}" GPE_QUEUE="${gpe_queue:-}" GPE_PROJECT="${gpe_project:-}"
export GPE_PROCESSES=''\''''''\'''' GPE_CPUS=''\''''''\'''' GPE_MEMORY=''\''''''\'''' GPE_WALLTIME=''\''''''\'''' GPE_CPUTIME=''\''''''\''''
[ -z "$GPE_CPUS" ] || export OMP_NUM_THREADS="$GPE_CPUS"
trap : HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM XCPU XFSZ VTALRM PROF SYS # this shell outlives a signal for the whole job, to record its end
"${gpe_begin:-:}"
gpe_stdin=''\''''/dev/null''\'''' gpe_stdout=''\''''stdout''\'''' gpe_stderr=''\''''stderr''\'''' gpe_directory=''\''''@HOME@''\'''' gpe_modules=''\''''''\'''' gpe_node_file=''\''''''\'''' gpe_tmp_dir=''\''''''\'''' gpe_uptime=; { read -r gpe_uptime < /proc/uptime; } 2> /dev/null
( "${gpe_enter:-:}" # the program''\''''s own shell
command exec 2> "${gpe_stderr:=stderr}" < "${gpe_stdin:-/dev/null}" || exit 125
if [ "${gpe_stdout:=stdout}" = "$gpe_stderr" ]; then command exec >&2; else command exec > "$gpe_stdout"; fi || exit 125
[ -z "$gpe_directory" ] || command cd -- "$gpe_directory" || exit 125
# shellcheck disable=SC3045  # every sh of Linux has -t and -v
[ -z "${gpe_cputime:-}" ] || { ulimit -S -t "$gpe_cputime"; ulimit -H -t "$((gpe_cputime + 5))" 2> /dev/null; }
for gpe_module in $gpe_modules; do module load "$gpe_module" || exit 125; done
eval ''\''''''\''''
gpe_executable=''\''''sh''\'''' gpe_container=''\''''''\'''' gpe_container_command=''\''''''\''''
set -- 
case $#:$gpe_executable in 0:*) ;; *=*) set -- env -- "$@" "$(command -v nice)" -n 0 -- ;; *) set -- env -- "$@" ;; esac;
exec "$@" ''\''''sh''\'''' ''\''''-c''\'''' ''\''''echo begun; while [ ! -e go ]; do sleep 0.05; done; exit 4''\''''
)
gpe_status=$?
[ "$gpe_status" -le 255 ] || gpe_status=$((gpe_status % 128 + 128)) # ksh and yash tell signal n as 256+n and 384+n
"${gpe_end:-:}"
[ ! -x /usr/bin/perl ] || { : > .gpe_usage && gpe_measure=gpe_measure; } # what replaces a shell can tell what its programs took
gpe_measure() { trap ''\''''''\'''' HUP INT QUIT USR1 USR2 PIPE ALRM TERM XCPU; unset PERL5OPT PERL5LIB PERL5DB LD_PRELOAD LD_LIBRARY_PATH; exec /usr/bin/perl -e ''\''''$e = eval { require Time::HiRes; sprintf "%.3f", Time::HiRes::time() } || time; open F, "/proc/uptime" and $t = (split " ", <F>)[0] - $ARGV[0]; $u = sprintf "elapsed=%.2f", $t if $ARGV[0]; $u .= sprintf " cpu=%.2f", (times)[2] + (times)[3] if $mine = ! -e ".gpe_program";
open E, "/proc/self/exe" and read E, $h, 20; $n = {62, 98, 183, 165, 243, 165, 258, 165, 20, 77, 21, 77, 22, 77}->{unpack ord(substr $h, 5) > 1 ? "n" : "v", substr $h, 18}; $u .= sprintf " memory=%d", 1024 * (unpack "l!5", $r)[4] if $n && $mine && !syscall $n, -1, $r = "\0" x 144; $u .= " ended=$e"; open U, ">", ".gpe_usage" and print U "$u\n"; close U; exit $ARGV[1]''\'''' "${gpe_uptime%% *}" "${gpe_exit:-$gpe_status}"; }
printf ''\''''%s\n''\'''' "$gpe_status" > .gpe_exit_status.new && mv -f .gpe_exit_status.new .gpe_exit_status; "${gpe_measure:-:}"
exit "${gpe_exit:-$gpe_status}"''
[ -n "${gpe_job:-}" ] || [ -d "$gpe_d" ] || exit 0 # FIND_JOB: there never was a START
gpe_umask=$(umask) && umask 077 && unset GPE_JOB_ID GPE_ARRAY_ID GPE_ARRAY_INDEX GPE_NODE_FILE # of a job that starts this one: it is none of its processes
gpe_jobs="${HOME:?}/.gpe/jobs/$gpe_profile" && mkdir -p -- "$gpe_jobs" ${gpe_job:+"$gpe_d"} && cd -- "$gpe_d" || exit 73
# shellcheck disable=SC3067  # As sshd''s StrictModes: nobody else may be able to replace the directory, or anything that its path leads through.
gpe_unsafe=$(LC_ALL=C namei -mo -- "$gpe_d" | {
  read -r gpe_last; if [ -O / ]; then gpe_user=root; else gpe_user=; fi
  while read -r gpe_mode gpe_owner gpe_line; do
    case $gpe_owner in root | "${gpe_user:=$gpe_owner}") gpe_bad= ;; *) gpe_bad=y ;; esac
    case $gpe_bad$gpe_mode in l* | ?????-??-? | ?????????[tT]) ;; *) echo "$gpe_mode $gpe_owner $gpe_line" ;; esac
    gpe_last="$gpe_mode $gpe_owner $gpe_line"
  done; case $gpe_last in d????-??-?'' ''*) [ -O . ] || echo "$gpe_last" ;; *) echo "${gpe_last:-namei failed}" ;; esac
})
[ -z "$gpe_unsafe" ] || { printf ''%s is not a safe directory for a job, because others can change this: %s\n'' "$gpe_d" "$gpe_unsafe" >&2; exit 73; }
if [ ! -s .gpe_job_id ]; then
  exec 3> .gpe_lock && gpe_rc=75 && flock 3 3>&3 || exit 73 # one submission at a time; ksh passes only what a command names
  if [ ! -s .gpe_job_id ] && set -C && { printf '''' > .gpe_submitting; } 2> /dev/null; then set +C # -C: two cannot make the mark
    [ ! -e .gpe_tasks ] && [ ! -e .gpe_waiting ] || rm -rf .gpe_tasks .gpe_waiting; printf ''%s\n'' "$gpe_job" > .gpe_job || { rm -f .gpe_submitting; exit 73; } # submit in a session of its own: what ends this shell does not cut it off
    setsid sh -c ''
gpe_umask=$1 gpe_pattern=$2 gpe_last=; shift 2
(umask "$gpe_umask"; "$@" .gpe_job) > .gpe_answer 2> .gpe_error; gpe_rc=$?
[ "$gpe_rc" -eq 0 ] || { cat .gpe_answer >> .gpe_error; [ -s .gpe_error ] || echo "the submission failed ($gpe_rc)" > .gpe_error; exit "$((gpe_rc == 75 ? 1 : gpe_rc))"; }
while read -r gpe_line || [ -n "$gpe_line" ]; do gpe_last=$gpe_line; done < .gpe_answer
printf "%s\n" "$gpe_last" | LC_ALL=C grep -Ex -e "$gpe_pattern" > .gpe_started ||
  { { echo "the batch system answered without a job id:"; cat .gpe_answer; } | tee .gpe_submitting >> .gpe_error; exit 75; }
# the first to write the id decides: this, or the job itself
ln .gpe_started .gpe_job_id 2> /dev/null || [ -s .gpe_job_id ] || mv .gpe_started .gpe_job_id || exit 75
'' sh "$gpe_umask" "$gpe_id_pattern" "$@" < /dev/null 3>&3
    gpe_rc=$?
  fi
  [ ! -s .gpe_error ] || cat .gpe_error >&2
  [ -s .gpe_job_id ] || [ "$gpe_rc" -eq 75 ] || { [ ! -s .gpe_error ] && [ -n "${gpe_rc#12[67]}" ]; } || exit "$gpe_rc"
  exec 3>&- && [ -s .gpe_job_id ] || { printf ''START: whether a job was submitted in %s is not known: FIND_JOB finds out, then START can be repeated\n'' "$gpe_d" >&2; exit 75; }
elif ! LC_ALL=C grep -qEx -e "$gpe_id_pattern" .gpe_job_id; then echo "START: $gpe_d/.gpe_job_id does not contain a job id" >&2; exit 1
fi
read -r gpe_id < .gpe_job_id && case $gpe_id in */* | .*) false ;; esac && ln -sfn -- "$gpe_d" "$gpe_jobs/$gpe_id" || { printf ''START: %s has the job %s, but the link to it cannot be created: START can be repeated\n'' "$gpe_d" "$gpe_id" >&2; exit 1; }
printf ''%s\n'' "$gpe_id"
','@HOST@ @BOOT@ 30939 176359','QUEUED','',NULL,NULL,0,'','',1.79586275119873714448e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'stdout','',NULL,NULL,NULL,NULL,'stderr',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "job" VALUES(10,'linux','@JOBS@/root/20261128-104551-ae5842d45508c503',NULL,'cut-array','','# The job leads a session of its own, and prints its id before it runs its program. It is nobody''s background
# command, which would ignore SIGINT: the first setsid makes a leader, so that the second one forks, and its parent ends.
set -- eval ''setsid setsid sh .gpe_job < /dev/null 3>&- | { read -r gpe_id && printf "%s\n" "$gpe_id"; }; exit;''
gpe_d=''@JOBS@/root/20261128-104551-ae5842d45508c503'' gpe_profile=''linux'' gpe_id_pattern=''[1-9][0-9]*-[0-9]+-[0-9a-f]{8}(_[0-9]+)?''
gpe_job=''#!/bin/sh
gpe_stat() { # PID: sets gpe_state, gpe_parent, gpe_session, gpe_since. A program''\''''s name may hold anything, a line end too.
  gpe_s=''\''''''\'''' gpe_state=''\''''''\''''
  { while read -r gpe_l; do gpe_s="$gpe_s $gpe_l"; done < "/proc/$1/stat"; } 2> /dev/null || return 1
  # shellcheck disable=SC2086
  set -- ${gpe_s##*\) }
  # shellcheck disable=SC2034  # SIGNAL''\''''s
  gpe_parent=${2:-}
  gpe_state=${1:-} gpe_session=${4:-} gpe_since=${20:-}
  [ -n "$gpe_since" ]
}
gpe_here() { # ID: is it a job of this machine since it was booted?
  gpe_boot=00000000
  { read -r gpe_boot < /proc/sys/kernel/random/boot_id; } 2> /dev/null
  gpe_s=${1##*-} && [ "${gpe_s%_*}" = "${gpe_boot%%-*}" ]
}
gpe_leader() { # ID: is the session leader there, and the same process as then? gpe_state tells its state
  gpe_since=
  gpe_here "$1" && gpe_stat "${1%%-*}" && gpe_s=${1#*-} && [ "$gpe_since" = "${gpe_s%%-*}" ] &&
    case $gpe_state in Z | X) false ;; esac
}
gpe_processes() { # ID [PID...]: the pids of all its processes; PID: the leader of a session of it that was there a moment ago
  gpe_here "$1" || return 0
  gpe_i=$1 && shift && gpe_own=" $* "
  {
    for gpe_p in /proc/[0-9]*; do
      [ "$gpe_own" != ''\''''  ''\'''' ] && gpe_stat "${gpe_p#/proc/}" || continue
      case $gpe_state$gpe_own in Z* | X*) ;; *" $gpe_session "*) printf ''\''''%s\n''\'''' "${gpe_p#/proc/}" ;; esac
    done
    # what left the session, or lost its leader, is known by its environment
    grep -lzxF -e "GPE_JOB_ID=$gpe_i" -e "GPE_ARRAY_ID=$gpe_i" /proc/[0-9]*/environ 2> /dev/null | while read -r gpe_p; do
      # shellcheck disable=SC3067  # root sees everybody''\''''s
      [ ! -O "$gpe_p" ] || { gpe_p=${gpe_p#/proc/} && printf ''\''''%s\n''\'''' "${gpe_p%/environ}"; }
    done
  } | sort -u
}
gpe_signal() { # SIGNAL PID...: a process that is gone meanwhile is no error
  gpe_s=$1
  shift
  for gpe_p in "$@"; do kill -s "$gpe_s" "$gpe_p" 2> /dev/null || :; done
}
gpe_stat "$$"
gpe_boot=00000000
{ read -r gpe_boot < /proc/sys/kernel/random/boot_id; } 2> /dev/null
gpe_id=$$-$gpe_since-${gpe_boot%%-*} gpe_cputime=''\''''''\'''' gpe_nodes=''\''''''\'''' gpe_array=''\''''1-2''\'''' gpe_dependency=''\''''''\'''' gpe_start_time=''\''''''\''''
gpe_jobs="${HOME:-}/.gpe/jobs"/''\''''linux''\''''
if [ "$#" -gt 0 ]; then # INDEX: a task, for which the leader of the array''\''''s session runs this script again
  (set -C; : > ".gpe_tasks/$1/.gpe_session") 2> /dev/null || exit 1 # it has begun already, below an xargs that was killed
  printf ''\''''%s\n''\'''' "$gpe_id" > ".gpe_tasks/$1/.gpe_session" || { rm -f ".gpe_tasks/$1/.gpe_session"; exit 1; }
  [ ! -e ".gpe_tasks/$1/.gpe_held" ] || { rm -f ".gpe_tasks/$1/.gpe_session"; exit 0; }
  [ ! -e ".gpe_tasks/$1/.gpe_removed" ] && [ ! -e .gpe_removed ] && gpe_leader "$GPE_ARRAY_ID" || exit 0
  gpe_id=$GPE_ARRAY_ID gpe_task=$1 gpe_task_id=$GPE_JOB_ID gpe_enlist=:
  command exec > /dev/null
else
  gpe_list=$(printf ''\''''%s\n''\'''' "${gpe_array%%%*}" | tr , ''\''''\n''\'''' | awk -F ''\''''[-:]''\'''' ''\''''{
    last = NF > 1 ? $2 : $1; step = NF > 2 ? $3 : 1
    for (i = $1 + 0; i <= last + 0; i += step) if (!seen[i]++) { if (++n > 100000) exit 1; print i }
  }''\'''') && [ -n "$gpe_list" ] || { printf ''\''''START: ARRAY %s has no task, or more than 100000\n''\'''' "$gpe_array" >&2; exit 1; }
  mkdir -p .gpe_tasks && (umask 077; cd .gpe_tasks && printf ''\''''%s\n''\'''' "$gpe_list" | xargs mkdir -p --) || exit 1
fi
gpe_run_tasks() { # at most so many at a time; a task that is held when its turn comes is tried again
  [ -z "${gpe_task:-}" ] || return 0
  command exec > .gpe_job.out 2>&1 || exit 1
  rm -f ".gpe_job_id.$gpe_id"
  gpe_enlist
  export GPE_ARRAY_ID="$gpe_id"
  case $gpe_array in *%*) gpe_most=${gpe_array#*%} ;; *) gpe_most=$(getconf _NPROCESSORS_ONLN) || gpe_most=1 ;; esac
  gpe_before=''\''''''\'''' gpe_n=0
  while [ ! -e .gpe_removed ]; do
    gpe_ready=''\''''''\'''' gpe_held=''\''''''\''''
    for gpe_index in $gpe_list; do
      if [ -e ".gpe_tasks/$gpe_index/.gpe_session" ] || [ -e ".gpe_tasks/$gpe_index/.gpe_removed" ]; then :
      elif [ -e ".gpe_tasks/$gpe_index/.gpe_held" ]; then gpe_held=y
      else gpe_ready="$gpe_ready $gpe_index"
      fi
    done
    # xargs ends when a command exits with 255 or dies of a signal; sh outlives what it runs, because a task has a session of its own
    # shellcheck disable=SC2016,SC2086
    [ -z "$gpe_ready" ] || printf ''\''''%s\n''\'''' $gpe_ready |
      xargs -n 1 -P "$gpe_most" sh -c ''\''''GPE_JOB_ID=${GPE_ARRAY_ID}_$1 setsid -w sh .gpe_job "$1"; exit 0''\'''' sh
    [ -n "$gpe_ready$gpe_held" ] || exit 0
    # tasks that cannot even begin, because the disk is full, say
    [ -n "$gpe_held" ] || [ "$gpe_ready" != "$gpe_before" ] || gpe_n=$((gpe_n + 1))
    [ "$gpe_n" -lt 9 ] || exit 1
    gpe_before=$gpe_ready
    [ "$gpe_n" = 0 ] && [ -z "$gpe_held" ] || sleep 1
  done
  exit 0
}
gpe_run_tasks=gpe_run_tasks
# to START, which may have been killed
trap ''\''''''\'''' PIPE
printf ''\''''%s\n''\'''' "$gpe_id" 2> /dev/null
trap - PIPE
gpe_begin=gpe_begin gpe_end=gpe_end
gpe_enlist() {
  read -r gpe_host < /proc/sys/kernel/hostname && printf ''\''''%s\n''\'''' "$gpe_host" > .gpe_host
  # GET_JOB_STATUS looks at the jobs that live, not at all that ever were
  { [ -d "$gpe_jobs/live" ] || (umask 077; mkdir -p -- "$gpe_jobs/live"); ln -s -- "$PWD" "$gpe_jobs/live/$gpe_id"; } &
  [ -z "$gpe_dependency" ] || gpe_after; [ -z "$gpe_start_time" ] || gpe_until
}
gpe_begin() {
  "${gpe_enlist:-gpe_enlist}"
  [ -n "$GPE_WALLTIME" ] || return 0
  gpe_watch_walltime < /dev/null > /dev/null 2>&1 &
  gpe_watch=$! && printf ''\''''%s\n''\'''' "$gpe_watch" > .gpe_watch
}
gpe_watch_walltime() {
  trap ''\''''''\'''' HUP INT QUIT USR1 USR2
  gpe_sleep=''\''''''\'''' gpe_left=$GPE_WALLTIME gpe_step=1
  trap ''\''''[ -z "$gpe_sleep" ] || kill "$gpe_sleep"; exit''\'''' TERM
  # in steps: a signal that arrives as a shell begins may be lost, and must not leave a process behind for hours
  while [ "$gpe_left" -gt 0 ] && [ ! -e .gpe_exit_status ]; do
    sleep "$gpe_step" &
    gpe_sleep=$!
    wait "$gpe_sleep"
    gpe_left=$((gpe_left - gpe_step)) gpe_step=$((gpe_step < 30 ? 2 * gpe_step : 60))
    [ "$gpe_step" -le "$gpe_left" ] || gpe_step=$gpe_left
  done
  trap ''\''''''\'''' TERM
  read -r gpe_self < /proc/self/stat
  gpe_self=${gpe_self%% *} gpe_n=0
  [ ! -e .gpe_exit_status ] || exit 0
  printf ''\''''over its wall time of %s s\n''\'''' "$GPE_WALLTIME" > .gpe_limit.new && mv -f .gpe_limit.new .gpe_limit
  while [ ! -e .gpe_exit_status ] && [ "$gpe_n" -lt 100 ]; do
    case $gpe_n in 0 | [5-9]?) gpe_pids=$(gpe_processes "$GPE_JOB_ID" "$$") ;; *) gpe_pids= ;; esac
    for gpe_p in $gpe_pids; do
      case $gpe_n:$gpe_p in
      *":$$" | *":$gpe_self") ;;
      0:*) gpe_signal TERM "$gpe_p" ;;
      [5-9]?:*) gpe_signal KILL "$gpe_p" ;;
      esac
    done
    gpe_n=$((gpe_n + 1))
    sleep 0.1
  done
}
gpe_end() { [ -z "${gpe_watch:-}" ] || kill "$gpe_watch" 2> /dev/null; }
cd -- ''\''''@JOBS@/root/20261128-104551-ae5842d45508c503''\'''' || kill -s KILL "$$" # a signal: an exit status would be taken for the program''\''''s
if gpe_me=${gpe_task_id:-$gpe_id} && [ -n "$gpe_id" ]; then # the first job that writes its id is the job of this directory
  printf ''\''''%s\n''\'''' "$gpe_id" > ".gpe_job_id.$gpe_me" && { ln ".gpe_job_id.$gpe_me" .gpe_job_id 2> /dev/null || [ -s .gpe_job_id ] || mv -f ".gpe_job_id.$gpe_me" .gpe_job_id; } && read -r gpe_first < .gpe_job_id || kill -s KILL "$$"
  # FIND_JOB removes START''\''''s mark when it gives a submission up.
  [ -e .gpe_submitting ] || { [ "$gpe_first" != "$gpe_id" ] || rm -f .gpe_job_id; gpe_first=none; }
  [ "${gpe_first%%.*}" = "${gpe_id%%.*}" ] || { echo "job $gpe_id runs nothing: the job of $PWD is $gpe_first" >&2; exit 1; }
fi
"${gpe_run_tasks:-:}" # linux: the leader of the array''\''''s session ends here
mkdir -p -- ".gpe_tasks/${gpe_task:?}" && cd -- ".gpe_tasks/$gpe_task" || kill -s KILL "$$"
export GPE_ARRAY_ID="$gpe_id" GPE_ARRAY_INDEX="$gpe_task"
command exec > .gpe_job.out 2>&1 && trap ''\''''gpe_status=$?; [ -e .gpe_exit_status ] || echo "$gpe_status" > .gpe_exit_status''\'''' EXIT || kill -s KILL "$$"
rm -f "${gpe_task:+../../}.gpe_job_id.$gpe_me" & [ ! -e .gpe_exit_status ] && [ ! -e .gpe_limit ] || rm -f .gpe_exit_status .gpe_limit .gpe_usage
export GPE_JOB_ID="$gpe_me" GPE_WORKING_DIRECTORY=''\''''@JOBS@/root/20261128-104551-ae5842d45508c503''\'''' GPE_JOB_NAME=''\''''''\'''' GPE_NODES="${gpe_nodes:-}" GPE_QUEUE="${gpe_queue:-}" GPE_PROJECT="${gpe_project:-}"
export GPE_PROCESSES=''\''''''\'''' GPE_CPUS=''\''''''\'''' GPE_MEMORY=''\''''''\'''' GPE_WALLTIME=''\''''''\'''' GPE_CPUTIME=''\''''''\''''
[ -z "$GPE_CPUS" ] || export OMP_NUM_THREADS="$GPE_CPUS"
trap : HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM XCPU XFSZ VTALRM PROF SYS # this shell outlives a signal for the whole job, to record its end
"${gpe_begin:-:}"
gpe_stdin=''\''''/dev/null''\'''' gpe_stdout=''\''''stdout''\'''' gpe_stderr=''\''''stderr''\'''' gpe_directory=''\''''@HOME@''\'''' gpe_modules=''\''''''\'''' gpe_node_file=''\''''''\'''' gpe_tmp_dir=''\''''''\'''' gpe_uptime=; { read -r gpe_uptime < /proc/uptime; } 2> /dev/null
( "${gpe_enter:-:}" # the program''\''''s own shell
command cd -- "$GPE_WORKING_DIRECTORY" || exit 125
case ${gpe_stdout#/dev/shm} in /dev/*) ;; *) gpe_stdout=${gpe_stdout:-stdout}.$gpe_task ;; esac
case ${gpe_stderr#/dev/shm} in /dev/*) ;; *) gpe_stderr=${gpe_stderr:-stderr}.$gpe_task ;; esac
command exec 2> "${gpe_stderr:=stderr}" < "${gpe_stdin:-/dev/null}" || exit 125
if [ "${gpe_stdout:=stdout}" = "$gpe_stderr" ]; then command exec >&2; else command exec > "$gpe_stdout"; fi || exit 125
[ -z "$gpe_directory" ] || command cd -- "$gpe_directory" || exit 125
# shellcheck disable=SC3045  # every sh of Linux has -t and -v
[ -z "${gpe_cputime:-}" ] || { ulimit -S -t "$gpe_cputime"; ulimit -H -t "$((gpe_cputime + 5))" 2> /dev/null; }
for gpe_module in $gpe_modules; do module load "$gpe_module" || exit 125; done
eval ''\''''''\''''
gpe_executable=''\''''sh''\'''' gpe_container=''\''''''\'''' gpe_container_command=''\''''''\''''
set -- 
case $#:$gpe_executable in 0:*) ;; *=*) set -- env -- "$@" "$(command -v nice)" -n 0 -- ;; *) set -- env -- "$@" ;; esac;
exec "$@" ''\''''sh''\'''' ''\''''-c''\'''' ''\''''echo "task $GPE_ARRAY_INDEX"; while [ ! -e go ]; do sleep 0.05; done''\''''
)
gpe_status=$?
[ "$gpe_status" -le 255 ] || gpe_status=$((gpe_status % 128 + 128)) # ksh and yash tell signal n as 256+n and 384+n
"${gpe_end:-:}"
[ ! -x /usr/bin/perl ] || { : > .gpe_usage && gpe_measure=gpe_measure; } # what replaces a shell can tell what its programs took
gpe_measure() { trap ''\''''''\'''' HUP INT QUIT USR1 USR2 PIPE ALRM TERM XCPU; unset PERL5OPT PERL5LIB PERL5DB LD_PRELOAD LD_LIBRARY_PATH; exec /usr/bin/perl -e ''\''''$e = eval { require Time::HiRes; sprintf "%.3f", Time::HiRes::time() } || time; open F, "/proc/uptime" and $t = (split " ", <F>)[0] - $ARGV[0]; $u = sprintf "elapsed=%.2f", $t if $ARGV[0]; $u .= sprintf " cpu=%.2f", (times)[2] + (times)[3] if $mine = ! -e ".gpe_program";
open E, "/proc/self/exe" and read E, $h, 20; $n = {62, 98, 183, 165, 243, 165, 258, 165, 20, 77, 21, 77, 22, 77}->{unpack ord(substr $h, 5) > 1 ? "n" : "v", substr $h, 18}; $u .= sprintf " memory=%d", 1024 * (unpack "l!5", $r)[4] if $n && $mine && !syscall $n, -1, $r = "\0" x 144; $u .= " ended=$e"; open U, ">", ".gpe_usage" and print U "$u\n"; close U; exit $ARGV[1]''\'''' "${gpe_uptime%% *}" "${gpe_exit:-$gpe_status}"; }
printf ''\''''%s\n''\'''' "$gpe_status" > .gpe_exit_status.new && mv -f .gpe_exit_status.new .gpe_exit_status; "${gpe_measure:-:}"
exit "${gpe_exit:-$gpe_status}"''
[ -n "${gpe_job:-}" ] || [ -d "$gpe_d" ] || exit 0 # FIND_JOB: there never was a START
gpe_umask=$(umask) && umask 077 && unset GPE_JOB_ID GPE_ARRAY_ID GPE_ARRAY_INDEX GPE_NODE_FILE # of a job that starts this one: it is none of its processes
gpe_jobs="${HOME:?}/.gpe/jobs/$gpe_profile" && mkdir -p -- "$gpe_jobs" ${gpe_job:+"$gpe_d"} && cd -- "$gpe_d" || exit 73
# shellcheck disable=SC3067  # As sshd''s StrictModes: nobody else may be able to replace the directory, or anything that its path leads through.
gpe_unsafe=$(LC_ALL=C namei -mo -- "$gpe_d" | {
  read -r gpe_last; if [ -O / ]; then gpe_user=root; else gpe_user=; fi
  while read -r gpe_mode gpe_owner gpe_line; do
    case $gpe_owner in root | "${gpe_user:=$gpe_owner}") gpe_bad= ;; *) gpe_bad=y ;; esac
    case $gpe_bad$gpe_mode in l* | ?????-??-? | ?????????[tT]) ;; *) echo "$gpe_mode $gpe_owner $gpe_line" ;; esac
    gpe_last="$gpe_mode $gpe_owner $gpe_line"
  done; case $gpe_last in d????-??-?'' ''*) [ -O . ] || echo "$gpe_last" ;; *) echo "${gpe_last:-namei failed}" ;; esac
})
[ -z "$gpe_unsafe" ] || { printf ''%s is not a safe directory for a job, because others can change this: %s\n'' "$gpe_d" "$gpe_unsafe" >&2; exit 73; }
if [ ! -s .gpe_job_id ]; then
  exec 3> .gpe_lock && gpe_rc=75 && flock 3 3>&3 || exit 73 # one submission at a time; ksh passes only what a command names
  if [ ! -s .gpe_job_id ] && set -C && { printf '''' > .gpe_submitting; } 2> /dev/null; then set +C # -C: two cannot make the mark
    [ ! -e .gpe_tasks ] && [ ! -e .gpe_waiting ] || rm -rf .gpe_tasks .gpe_waiting; printf ''%s\n'' "$gpe_job" > .gpe_job || { rm -f .gpe_submitting; exit 73; } # submit in a session of its own: what ends this shell does not cut it off
    setsid sh -c ''
gpe_umask=$1 gpe_pattern=$2 gpe_last=; shift 2
(umask "$gpe_umask"; "$@" .gpe_job) > .gpe_answer 2> .gpe_error; gpe_rc=$?
[ "$gpe_rc" -eq 0 ] || { cat .gpe_answer >> .gpe_error; [ -s .gpe_error ] || echo "the submission failed ($gpe_rc)" > .gpe_error; exit "$((gpe_rc == 75 ? 1 : gpe_rc))"; }
while read -r gpe_line || [ -n "$gpe_line" ]; do gpe_last=$gpe_line; done < .gpe_answer
printf "%s\n" "$gpe_last" | LC_ALL=C grep -Ex -e "$gpe_pattern" > .gpe_started ||
  { { echo "the batch system answered without a job id:"; cat .gpe_answer; } | tee .gpe_submitting >> .gpe_error; exit 75; }
# the first to write the id decides: this, or the job itself
ln .gpe_started .gpe_job_id 2> /dev/null || [ -s .gpe_job_id ] || mv .gpe_started .gpe_job_id || exit 75
'' sh "$gpe_umask" "$gpe_id_pattern" "$@" < /dev/null 3>&3
    gpe_rc=$?
  fi
  [ ! -s .gpe_error ] || cat .gpe_error >&2
  [ -s .gpe_job_id ] || [ "$gpe_rc" -eq 75 ] || { [ ! -s .gpe_error ] && [ -n "${gpe_rc#12[67]}" ]; } || exit "$gpe_rc"
  exec 3>&- && [ -s .gpe_job_id ] || { printf ''START: whether a job was submitted in %s is not known: FIND_JOB finds out, then START can be repeated\n'' "$gpe_d" >&2; exit 75; }
elif ! LC_ALL=C grep -qEx -e "$gpe_id_pattern" .gpe_job_id; then echo "START: $gpe_d/.gpe_job_id does not contain a job id" >&2; exit 1
fi
read -r gpe_id < .gpe_job_id && case $gpe_id in */* | .*) false ;; esac && ln -sfn -- "$gpe_d" "$gpe_jobs/$gpe_id" || { printf ''START: %s has the job %s, but the link to it cannot be created: START can be repeated\n'' "$gpe_d" "$gpe_id" >&2; exit 1; }
printf ''%s\n'' "$gpe_id"
','@HOST@ @BOOT@ 31119 176390','QUEUED','',NULL,NULL,0,'','',1.7958627517249674797e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'stdout','1-2',NULL,NULL,NULL,NULL,'stderr',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "job" VALUES(11,'linux','@JOBS@/root/20261128-104552-9c6ba0cd267d40f0',NULL,'cut-waiting','','# The job leads a session of its own, and prints its id before it runs its program. It is nobody''s background
# command, which would ignore SIGINT: the first setsid makes a leader, so that the second one forks, and its parent ends.
set -- eval ''setsid setsid sh .gpe_job < /dev/null 3>&- | { read -r gpe_id && printf "%s\n" "$gpe_id"; }; exit;''
gpe_d=''@JOBS@/root/20261128-104552-9c6ba0cd267d40f0'' gpe_profile=''linux'' gpe_id_pattern=''[1-9][0-9]*-[0-9]+-[0-9a-f]{8}(_[0-9]+)?''
gpe_job=''#!/bin/sh
gpe_stat() { # PID: sets gpe_state, gpe_parent, gpe_session, gpe_since. A program''\''''s name may hold anything, a line end too.
  gpe_s=''\''''''\'''' gpe_state=''\''''''\''''
  { while read -r gpe_l; do gpe_s="$gpe_s $gpe_l"; done < "/proc/$1/stat"; } 2> /dev/null || return 1
  # shellcheck disable=SC2086
  set -- ${gpe_s##*\) }
  # shellcheck disable=SC2034  # SIGNAL''\''''s
  gpe_parent=${2:-}
  gpe_state=${1:-} gpe_session=${4:-} gpe_since=${20:-}
  [ -n "$gpe_since" ]
}
gpe_here() { # ID: is it a job of this machine since it was booted?
  gpe_boot=00000000
  { read -r gpe_boot < /proc/sys/kernel/random/boot_id; } 2> /dev/null
  gpe_s=${1##*-} && [ "${gpe_s%_*}" = "${gpe_boot%%-*}" ]
}
gpe_leader() { # ID: is the session leader there, and the same process as then? gpe_state tells its state
  gpe_since=
  gpe_here "$1" && gpe_stat "${1%%-*}" && gpe_s=${1#*-} && [ "$gpe_since" = "${gpe_s%%-*}" ] &&
    case $gpe_state in Z | X) false ;; esac
}
gpe_processes() { # ID [PID...]: the pids of all its processes; PID: the leader of a session of it that was there a moment ago
  gpe_here "$1" || return 0
  gpe_i=$1 && shift && gpe_own=" $* "
  {
    for gpe_p in /proc/[0-9]*; do
      [ "$gpe_own" != ''\''''  ''\'''' ] && gpe_stat "${gpe_p#/proc/}" || continue
      case $gpe_state$gpe_own in Z* | X*) ;; *" $gpe_session "*) printf ''\''''%s\n''\'''' "${gpe_p#/proc/}" ;; esac
    done
    # what left the session, or lost its leader, is known by its environment
    grep -lzxF -e "GPE_JOB_ID=$gpe_i" -e "GPE_ARRAY_ID=$gpe_i" /proc/[0-9]*/environ 2> /dev/null | while read -r gpe_p; do
      # shellcheck disable=SC3067  # root sees everybody''\''''s
      [ ! -O "$gpe_p" ] || { gpe_p=${gpe_p#/proc/} && printf ''\''''%s\n''\'''' "${gpe_p%/environ}"; }
    done
  } | sort -u
}
gpe_signal() { # SIGNAL PID...: a process that is gone meanwhile is no error
  gpe_s=$1
  shift
  for gpe_p in "$@"; do kill -s "$gpe_s" "$gpe_p" 2> /dev/null || :; done
}
gpe_stat "$$"
gpe_boot=00000000
{ read -r gpe_boot < /proc/sys/kernel/random/boot_id; } 2> /dev/null
gpe_id=$$-$gpe_since-${gpe_boot%%-*} gpe_cputime=''\''''''\'''' gpe_nodes=''\''''''\'''' gpe_array=''\''''''\'''' gpe_dependency=''\''''''\'''' gpe_start_time=''\''''2037-01-31T08:00''\''''
gpe_jobs="${HOME:-}/.gpe/jobs"/''\''''linux''\''''
gpe_start=$(date -d "${gpe_start_time%T*} ${gpe_start_time#*T}" +%s) || { printf ''\''''START: START_TIME %s is no time that exists here\n''\'''' "$gpe_start_time" >&2; exit 1; }
[ -n "${gpe_task:-}${gpe_dependency:-}" ] || printf ''\''''%s not before %s\n''\'''' "$gpe_id" "$gpe_start_time" > .gpe_waiting || exit 1
gpe_until() { # waits until START_TIME
  while gpe_left=$((gpe_start - $(date +%s))) && [ "$gpe_left" -gt 0 ]; do
    [ -e .gpe_waiting ] || printf ''\''''%s not before %s\n''\'''' "$gpe_id" "$gpe_start_time" > .gpe_waiting
    [ ! -e .gpe_removed ] || { trap - EXIT; exit 0; }
    sleep "$((gpe_left < 60 ? gpe_left : 60))"
  done
  { read -r gpe_i < /proc/uptime && printf ''\''''%s\n''\'''' "${gpe_i%% *}" > .gpe_begun; } 2> /dev/null || :
  rm -f .gpe_waiting && touch .gpe_host
}
# to START, which may have been killed
trap ''\''''''\'''' PIPE
printf ''\''''%s\n''\'''' "$gpe_id" 2> /dev/null
trap - PIPE
gpe_begin=gpe_begin gpe_end=gpe_end
gpe_enlist() {
  read -r gpe_host < /proc/sys/kernel/hostname && printf ''\''''%s\n''\'''' "$gpe_host" > .gpe_host
  # GET_JOB_STATUS looks at the jobs that live, not at all that ever were
  { [ -d "$gpe_jobs/live" ] || (umask 077; mkdir -p -- "$gpe_jobs/live"); ln -s -- "$PWD" "$gpe_jobs/live/$gpe_id"; } &
  [ -z "$gpe_dependency" ] || gpe_after; [ -z "$gpe_start_time" ] || gpe_until
}
gpe_begin() {
  "${gpe_enlist:-gpe_enlist}"
  [ -n "$GPE_WALLTIME" ] || return 0
  gpe_watch_walltime < /dev/null > /dev/null 2>&1 &
  gpe_watch=$! && printf ''\''''%s\n''\'''' "$gpe_watch" > .gpe_watch
}
gpe_watch_walltime() {
  trap ''\''''''\'''' HUP INT QUIT USR1 USR2
  gpe_sleep=''\''''''\'''' gpe_left=$GPE_WALLTIME gpe_step=1
  trap ''\''''[ -z "$gpe_sleep" ] || kill "$gpe_sleep"; exit''\'''' TERM
  # in steps: a signal that arrives as a shell begins may be lost, and must not leave a process behind for hours
  while [ "$gpe_left" -gt 0 ] && [ ! -e .gpe_exit_status ]; do
    sleep "$gpe_step" &
    gpe_sleep=$!
    wait "$gpe_sleep"
    gpe_left=$((gpe_left - gpe_step)) gpe_step=$((gpe_step < 30 ? 2 * gpe_step : 60))
    [ "$gpe_step" -le "$gpe_left" ] || gpe_step=$gpe_left
  done
  trap ''\''''''\'''' TERM
  read -r gpe_self < /proc/self/stat
  gpe_self=${gpe_self%% *} gpe_n=0
  [ ! -e .gpe_exit_status ] || exit 0
  printf ''\''''over its wall time of %s s\n''\'''' "$GPE_WALLTIME" > .gpe_limit.new && mv -f .gpe_limit.new .gpe_limit
  while [ ! -e .gpe_exit_status ] && [ "$gpe_n" -lt 100 ]; do
    case $gpe_n in 0 | [5-9]?) gpe_pids=$(gpe_processes "$GPE_JOB_ID" "$$") ;; *) gpe_pids= ;; esac
    for gpe_p in $gpe_pids; do
      case $gpe_n:$gpe_p in
      *":$$" | *":$gpe_self") ;;
      0:*) gpe_signal TERM "$gpe_p" ;;
      [5-9]?:*) gpe_signal KILL "$gpe_p" ;;
      esac
    done
    gpe_n=$((gpe_n + 1))
    sleep 0.1
  done
}
gpe_end() { [ -z "${gpe_watch:-}" ] || kill "$gpe_watch" 2> /dev/null; }
cd -- ''\''''@JOBS@/root/20261128-104552-9c6ba0cd267d40f0''\'''' || kill -s KILL "$$" # a signal: an exit status would be taken for the program''\''''s
if gpe_me=${gpe_task_id:-$gpe_id} && [ -n "$gpe_id" ]; then # the first job that writes its id is the job of this directory
  printf ''\''''%s\n''\'''' "$gpe_id" > ".gpe_job_id.$gpe_me" && { ln ".gpe_job_id.$gpe_me" .gpe_job_id 2> /dev/null || [ -s .gpe_job_id ] || mv -f ".gpe_job_id.$gpe_me" .gpe_job_id; } && read -r gpe_first < .gpe_job_id || kill -s KILL "$$"
  # FIND_JOB removes START''\''''s mark when it gives a submission up.
  [ -e .gpe_submitting ] || { [ "$gpe_first" != "$gpe_id" ] || rm -f .gpe_job_id; gpe_first=none; }
  [ "${gpe_first%%.*}" = "${gpe_id%%.*}" ] || { echo "job $gpe_id runs nothing: the job of $PWD is $gpe_first" >&2; exit 1; }
fi
command exec > .gpe_job.out 2>&1 && trap ''\''''gpe_status=$?; [ -e .gpe_exit_status ] || echo "$gpe_status" > .gpe_exit_status''\'''' EXIT || kill -s KILL "$$"
rm -f "${gpe_task:+../../}.gpe_job_id.$gpe_me" & [ ! -e .gpe_exit_status ] && [ ! -e .gpe_limit ] || rm -f .gpe_exit_status .gpe_limit .gpe_usage
export GPE_JOB_ID="$gpe_me" GPE_WORKING_DIRECTORY=''\''''@JOBS@/root/20261128-104552-9c6ba0cd267d40f0''\'''' GPE_JOB_NAME=''\''''''\'''' GPE_NODES="${gpe_nodes:-}" GPE_QUEUE="${gpe_queue:-}" GPE_PROJECT="${gpe_project:-}"
export GPE_PROCESSES=''\''''''\'''' GPE_CPUS=''\''''''\'''' GPE_MEMORY=''\''''''\'''' GPE_WALLTIME=''\''''''\'''' GPE_CPUTIME=''\''''''\''''
[ -z "$GPE_CPUS" ] || export OMP_NUM_THREADS="$GPE_CPUS"
trap : HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM XCPU XFSZ VTALRM PROF SYS # this shell outlives a signal for the whole job, to record its end
"${gpe_begin:-:}"
gpe_stdin=''\''''/dev/null''\'''' gpe_stdout=''\''''stdout''\'''' gpe_stderr=''\''''stderr''\'''' gpe_directory=''\''''@HOME@''\'''' gpe_modules=''\''''''\'''' gpe_node_file=''\''''''\'''' gpe_tmp_dir=''\''''''\'''' gpe_uptime=; { read -r gpe_uptime < /proc/uptime; } 2> /dev/null
( "${gpe_enter:-:}" # the program''\''''s own shell
command exec 2> "${gpe_stderr:=stderr}" < "${gpe_stdin:-/dev/null}" || exit 125
if [ "${gpe_stdout:=stdout}" = "$gpe_stderr" ]; then command exec >&2; else command exec > "$gpe_stdout"; fi || exit 125
[ -z "$gpe_directory" ] || command cd -- "$gpe_directory" || exit 125
# shellcheck disable=SC3045  # every sh of Linux has -t and -v
[ -z "${gpe_cputime:-}" ] || { ulimit -S -t "$gpe_cputime"; ulimit -H -t "$((gpe_cputime + 5))" 2> /dev/null; }
for gpe_module in $gpe_modules; do module load "$gpe_module" || exit 125; done
eval ''\''''''\''''
gpe_executable=''\''''true''\'''' gpe_container=''\''''''\'''' gpe_container_command=''\''''''\''''
set -- 
case $#:$gpe_executable in 0:*) ;; *=*) set -- env -- "$@" "$(command -v nice)" -n 0 -- ;; *) set -- env -- "$@" ;; esac;
exec "$@" ''\''''true''\'''' 
)
gpe_status=$?
[ "$gpe_status" -le 255 ] || gpe_status=$((gpe_status % 128 + 128)) # ksh and yash tell signal n as 256+n and 384+n
"${gpe_end:-:}"
[ ! -x /usr/bin/perl ] || { : > .gpe_usage && gpe_measure=gpe_measure; } # what replaces a shell can tell what its programs took
gpe_measure() { trap ''\''''''\'''' HUP INT QUIT USR1 USR2 PIPE ALRM TERM XCPU; unset PERL5OPT PERL5LIB PERL5DB LD_PRELOAD LD_LIBRARY_PATH; exec /usr/bin/perl -e ''\''''$e = eval { require Time::HiRes; sprintf "%.3f", Time::HiRes::time() } || time; open F, "/proc/uptime" and $t = (split " ", <F>)[0] - $ARGV[0]; $u = sprintf "elapsed=%.2f", $t if $ARGV[0]; $u .= sprintf " cpu=%.2f", (times)[2] + (times)[3] if $mine = ! -e ".gpe_program";
open E, "/proc/self/exe" and read E, $h, 20; $n = {62, 98, 183, 165, 243, 165, 258, 165, 20, 77, 21, 77, 22, 77}->{unpack ord(substr $h, 5) > 1 ? "n" : "v", substr $h, 18}; $u .= sprintf " memory=%d", 1024 * (unpack "l!5", $r)[4] if $n && $mine && !syscall $n, -1, $r = "\0" x 144; $u .= " ended=$e"; open U, ">", ".gpe_usage" and print U "$u\n"; close U; exit $ARGV[1]''\'''' "${gpe_uptime%% *}" "${gpe_exit:-$gpe_status}"; }
printf ''\''''%s\n''\'''' "$gpe_status" > .gpe_exit_status.new && mv -f .gpe_exit_status.new .gpe_exit_status; "${gpe_measure:-:}"
exit "${gpe_exit:-$gpe_status}"''
[ -n "${gpe_job:-}" ] || [ -d "$gpe_d" ] || exit 0 # FIND_JOB: there never was a START
gpe_umask=$(umask) && umask 077 && unset GPE_JOB_ID GPE_ARRAY_ID GPE_ARRAY_INDEX GPE_NODE_FILE # of a job that starts this one: it is none of its processes
gpe_jobs="${HOME:?}/.gpe/jobs/$gpe_profile" && mkdir -p -- "$gpe_jobs" ${gpe_job:+"$gpe_d"} && cd -- "$gpe_d" || exit 73
# shellcheck disable=SC3067  # As sshd''s StrictModes: nobody else may be able to replace the directory, or anything that its path leads through.
gpe_unsafe=$(LC_ALL=C namei -mo -- "$gpe_d" | {
  read -r gpe_last; if [ -O / ]; then gpe_user=root; else gpe_user=; fi
  while read -r gpe_mode gpe_owner gpe_line; do
    case $gpe_owner in root | "${gpe_user:=$gpe_owner}") gpe_bad= ;; *) gpe_bad=y ;; esac
    case $gpe_bad$gpe_mode in l* | ?????-??-? | ?????????[tT]) ;; *) echo "$gpe_mode $gpe_owner $gpe_line" ;; esac
    gpe_last="$gpe_mode $gpe_owner $gpe_line"
  done; case $gpe_last in d????-??-?'' ''*) [ -O . ] || echo "$gpe_last" ;; *) echo "${gpe_last:-namei failed}" ;; esac
})
[ -z "$gpe_unsafe" ] || { printf ''%s is not a safe directory for a job, because others can change this: %s\n'' "$gpe_d" "$gpe_unsafe" >&2; exit 73; }
if [ ! -s .gpe_job_id ]; then
  exec 3> .gpe_lock && gpe_rc=75 && flock 3 3>&3 || exit 73 # one submission at a time; ksh passes only what a command names
  if [ ! -s .gpe_job_id ] && set -C && { printf '''' > .gpe_submitting; } 2> /dev/null; then set +C # -C: two cannot make the mark
    [ ! -e .gpe_tasks ] && [ ! -e .gpe_waiting ] || rm -rf .gpe_tasks .gpe_waiting; printf ''%s\n'' "$gpe_job" > .gpe_job || { rm -f .gpe_submitting; exit 73; } # submit in a session of its own: what ends this shell does not cut it off
    setsid sh -c ''
gpe_umask=$1 gpe_pattern=$2 gpe_last=; shift 2
(umask "$gpe_umask"; "$@" .gpe_job) > .gpe_answer 2> .gpe_error; gpe_rc=$?
[ "$gpe_rc" -eq 0 ] || { cat .gpe_answer >> .gpe_error; [ -s .gpe_error ] || echo "the submission failed ($gpe_rc)" > .gpe_error; exit "$((gpe_rc == 75 ? 1 : gpe_rc))"; }
while read -r gpe_line || [ -n "$gpe_line" ]; do gpe_last=$gpe_line; done < .gpe_answer
printf "%s\n" "$gpe_last" | LC_ALL=C grep -Ex -e "$gpe_pattern" > .gpe_started ||
  { { echo "the batch system answered without a job id:"; cat .gpe_answer; } | tee .gpe_submitting >> .gpe_error; exit 75; }
# the first to write the id decides: this, or the job itself
ln .gpe_started .gpe_job_id 2> /dev/null || [ -s .gpe_job_id ] || mv .gpe_started .gpe_job_id || exit 75
'' sh "$gpe_umask" "$gpe_id_pattern" "$@" < /dev/null 3>&3
    gpe_rc=$?
  fi
  [ ! -s .gpe_error ] || cat .gpe_error >&2
  [ -s .gpe_job_id ] || [ "$gpe_rc" -eq 75 ] || { [ ! -s .gpe_error ] && [ -n "${gpe_rc#12[67]}" ]; } || exit "$gpe_rc"
  exec 3>&- && [ -s .gpe_job_id ] || { printf ''START: whether a job was submitted in %s is not known: FIND_JOB finds out, then START can be repeated\n'' "$gpe_d" >&2; exit 75; }
elif ! LC_ALL=C grep -qEx -e "$gpe_id_pattern" .gpe_job_id; then echo "START: $gpe_d/.gpe_job_id does not contain a job id" >&2; exit 1
fi
read -r gpe_id < .gpe_job_id && case $gpe_id in */* | .*) false ;; esac && ln -sfn -- "$gpe_d" "$gpe_jobs/$gpe_id" || { printf ''START: %s has the job %s, but the link to it cannot be created: START can be repeated\n'' "$gpe_d" "$gpe_id" >&2; exit 1; }
printf ''%s\n'' "$gpe_id"
','@HOST@ @BOOT@ 31480 176441','QUEUED','',NULL,NULL,0,'','',1.79586275225490713119e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'stdout','',NULL,NULL,NULL,NULL,'stderr',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "job" VALUES(12,'slurm','@JOBS@/root/20261128-104552-003712f7aa80415b','11','slurm-done','',NULL,NULL,'DONE','COMPLETED',0,NULL,0,'n1','',1.79586275266588973995e+09,1.79586275453147888188e+09,1.79586275653147888183e+09,NULL,NULL,NULL,NULL,NULL,1.79586275279540801049e+09,'stdout','',2.0,NULL,NULL,1,'stderr',NULL,NULL,NULL,NULL,'DONE 1795862756.531
');
INSERT INTO "job" VALUES(13,'slurm','@JOBS@/root/20261128-104553-d4adaa506af337e8','12','slurm-limit','',NULL,NULL,'FAILED','TIMEOUT',NULL,NULL,1,'n1','TimeLimit',1.79586275347590684889e+09,1.79586275453147888188e+09,1.79586275653147888183e+09,60.0,NULL,NULL,'TIME',NULL,1.79586275365513396264e+09,'stdout','',2.0,NULL,NULL,1,'stderr',NULL,NULL,NULL,NULL,'FAILED 1795862756.531
');
INSERT INTO "job" VALUES(14,'slurm','@JOBS@/root/20261128-104554-c22967809ed864ba','13','slurm-queued','',NULL,NULL,'QUEUED','',NULL,NULL,0,'','',1.79586275432288742064e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79586275442543983455e+09,'stdout','',NULL,NULL,NULL,NULL,'stderr',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "job" VALUES(15,'slurm','@JOBS@/root/20261128-104554-6a71c9569d8b8571','14','slurm-running','',NULL,NULL,'RUNNING','RUNNING',NULL,NULL,0,'n1','',1.79586275485841560363e+09,1.79586275485841560363e+09,NULL,NULL,NULL,NULL,NULL,NULL,1.79586275496219730375e+09,'stdout','',2.0,NULL,NULL,0,'stderr',NULL,NULL,NULL,NULL,'RUNNING 1795862754.858
');
INSERT INTO "job" VALUES(16,'slurm','@JOBS@/root/20261128-104555-bda89adffc28d53a','15','slurm-array','',NULL,NULL,'QUEUED','',NULL,NULL,0,'','',1.79586275553597021097e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79586275579883742335e+09,'stdout','1-2',NULL,NULL,NULL,NULL,'stderr',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "job" VALUES(17,'slurm','task:16:1','15_1',NULL,'',NULL,NULL,'QUEUED','',NULL,NULL,0,'','',1.79586275553597021097e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79586275579883742335e+09,NULL,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,'15',NULL);
INSERT INTO "job" VALUES(18,'slurm','task:16:2','15_2',NULL,'',NULL,NULL,'QUEUED','',NULL,NULL,0,'','',1.79586275553597021097e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79586275579883742335e+09,NULL,NULL,NULL,2,NULL,NULL,NULL,NULL,NULL,NULL,'15',NULL);
INSERT INTO "job" VALUES(19,'slurm','@JOBS@/root/20261128-104557-8088103f81283752',NULL,'slurm-cut','','# without --ignore-pbs, sbatch takes lines with #PBS or #BSUB for its own, wherever they stand
set -- eval ''gpe_id=$(sbatch --parsable --ignore-pbs ''"${gpe_nice-}${gpe_mail-}"''.gpe_job); gpe_rc=$?
[ -z "$gpe_id" ] || printf "%s\n" "${gpe_id%%;*}" # ID;CLUSTER
exit "$gpe_rc";''
gpe_d=''@JOBS@/root/20261128-104557-8088103f81283752'' gpe_profile=''slurm'' gpe_id_pattern=''[1-9][0-9]*(_[0-9]+)?'' gpe_dependency=''''
gpe_job=''#!/bin/sh
#SBATCH --output=/dev/null
#SBATCH --job-name=gpe_job
gpe_id=${SLURM_JOB_ID:-} gpe_cputime=''\''''''\'''' gpe_nodes=''\''''''\'''' gpe_queue=''\''''''\'''' gpe_project=''\''''''\''''
cd -- ''\''''@JOBS@/root/20261128-104557-8088103f81283752''\'''' || kill -s KILL "$$" # a signal: an exit status would be taken for the program''\''''s
if gpe_me=${gpe_task_id:-$gpe_id} && [ -n "$gpe_id" ]; then # the first job that writes its id is the job of this directory
  printf ''\''''%s\n''\'''' "$gpe_id" > ".gpe_job_id.$gpe_me" && { ln ".gpe_job_id.$gpe_me" .gpe_job_id 2> /dev/null || [ -s .gpe_job_id ] || mv -f ".gpe_job_id.$gpe_me" .gpe_job_id; } && read -r gpe_first < .gpe_job_id || kill -s KILL "$$"
  # FIND_JOB removes START''\''''s mark when it gives a submission up.
  [ -e .gpe_submitting ] || { [ "$gpe_first" != "$gpe_id" ] || rm -f .gpe_job_id; gpe_first=none; }
  [ "${gpe_first%%.*}" = "${gpe_id%%.*}" ] || { echo "job $gpe_id runs nothing: the job of $PWD is $gpe_first" >&2; exit 1; }
fi
command exec > .gpe_job.out 2>&1 && trap ''\''''gpe_status=$?; [ -e .gpe_exit_status ] || echo "$gpe_status" > .gpe_exit_status''\'''' EXIT || kill -s KILL "$$"
rm -f "${gpe_task:+../../}.gpe_job_id.$gpe_me" & [ ! -e .gpe_exit_status ] && [ ! -e .gpe_limit ] || rm -f .gpe_exit_status .gpe_limit .gpe_usage
export GPE_JOB_ID="$gpe_me" GPE_WORKING_DIRECTORY=''\''''@JOBS@/root/20261128-104557-8088103f81283752''\'''' GPE_JOB_NAME=''\''''''\'''' GPE_NODES="${gpe_nodes:-}" GPE_QUEUE="${gpe_queue:-}" GPE_PROJECT="${gpe_project:-}"
export GPE_PROCESSES=''\''''''\'''' GPE_CPUS=''\''''''\'''' GPE_MEMORY=''\''''''\'''' GPE_WALLTIME=''\''''''\'''' GPE_CPUTIME=''\''''''\''''
[ -z "$GPE_CPUS" ] || export OMP_NUM_THREADS="$GPE_CPUS"
trap : HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM XCPU XFSZ VTALRM PROF SYS # this shell outlives a signal for the whole job, to record its end
"${gpe_begin:-:}"
gpe_stdin=''\''''/dev/null''\'''' gpe_stdout=''\''''stdout''\'''' gpe_stderr=''\''''stderr''\'''' gpe_directory=''\''''@HOME@''\'''' gpe_modules=''\''''''\'''' gpe_node_file=''\''''''\'''' gpe_tmp_dir=''\''''''\'''' gpe_uptime=; { read -r gpe_uptime < /proc/uptime; } 2> /dev/null
( "${gpe_enter:-:}" # the program''\''''s own shell
command exec 2> "${gpe_stderr:=stderr}" < "${gpe_stdin:-/dev/null}" || exit 125
if [ "${gpe_stdout:=stdout}" = "$gpe_stderr" ]; then command exec >&2; else command exec > "$gpe_stdout"; fi || exit 125
[ -z "$gpe_directory" ] || command cd -- "$gpe_directory" || exit 125
# shellcheck disable=SC3045  # every sh of Linux has -t and -v
[ -z "${gpe_cputime:-}" ] || { ulimit -S -t "$gpe_cputime"; ulimit -H -t "$((gpe_cputime + 5))" 2> /dev/null; }
for gpe_module in $gpe_modules; do module load "$gpe_module" || exit 125; done
eval ''\''''''\''''
gpe_executable=''\''''sh''\'''' gpe_container=''\''''''\'''' gpe_container_command=''\''''''\''''
set -- 
case $#:$gpe_executable in 0:*) ;; *=*) set -- env -- "$@" "$(command -v nice)" -n 0 -- ;; *) set -- env -- "$@" ;; esac;
exec "$@" ''\''''sh''\'''' ''\''''-c''\'''' ''\''''echo begun; exit 5''\''''
)
gpe_status=$?
[ "$gpe_status" -le 255 ] || gpe_status=$((gpe_status % 128 + 128)) # ksh and yash tell signal n as 256+n and 384+n
"${gpe_end:-:}"
[ ! -x /usr/bin/perl ] || { : > .gpe_usage && gpe_measure=gpe_measure; } # what replaces a shell can tell what its programs took
gpe_measure() { trap ''\''''''\'''' HUP INT QUIT USR1 USR2 PIPE ALRM TERM XCPU; unset PERL5OPT PERL5LIB PERL5DB LD_PRELOAD LD_LIBRARY_PATH; exec /usr/bin/perl -e ''\''''$e = eval { require Time::HiRes; sprintf "%.3f", Time::HiRes::time() } || time; open F, "/proc/uptime" and $t = (split " ", <F>)[0] - $ARGV[0]; $u = sprintf "elapsed=%.2f", $t if $ARGV[0]; $u .= sprintf " cpu=%.2f", (times)[2] + (times)[3] if $mine = ! -e ".gpe_program";
open E, "/proc/self/exe" and read E, $h, 20; $n = {62, 98, 183, 165, 243, 165, 258, 165, 20, 77, 21, 77, 22, 77}->{unpack ord(substr $h, 5) > 1 ? "n" : "v", substr $h, 18}; $u .= sprintf " memory=%d", 1024 * (unpack "l!5", $r)[4] if $n && $mine && !syscall $n, -1, $r = "\0" x 144; $u .= " ended=$e"; open U, ">", ".gpe_usage" and print U "$u\n"; close U; exit $ARGV[1]''\'''' "${gpe_uptime%% *}" "${gpe_exit:-$gpe_status}"; }
printf ''\''''%s\n''\'''' "$gpe_status" > .gpe_exit_status.new && mv -f .gpe_exit_status.new .gpe_exit_status; "${gpe_measure:-:}"
exit "${gpe_exit:-$gpe_status}"''
[ -n "${gpe_job:-}" ] || [ -d "$gpe_d" ] || exit 0 # FIND_JOB: there never was a START
gpe_umask=$(umask) && umask 077 && unset GPE_JOB_ID GPE_ARRAY_ID GPE_ARRAY_INDEX GPE_NODE_FILE # of a job that starts this one: it is none of its processes
gpe_jobs="${HOME:?}/.gpe/jobs/$gpe_profile" && mkdir -p -- "$gpe_jobs" ${gpe_job:+"$gpe_d"} && cd -- "$gpe_d" || exit 73
# shellcheck disable=SC3067  # As sshd''s StrictModes: nobody else may be able to replace the directory, or anything that its path leads through.
gpe_unsafe=$(LC_ALL=C namei -mo -- "$gpe_d" | {
  read -r gpe_last; if [ -O / ]; then gpe_user=root; else gpe_user=; fi
  while read -r gpe_mode gpe_owner gpe_line; do
    case $gpe_owner in root | "${gpe_user:=$gpe_owner}") gpe_bad= ;; *) gpe_bad=y ;; esac
    case $gpe_bad$gpe_mode in l* | ?????-??-? | ?????????[tT]) ;; *) echo "$gpe_mode $gpe_owner $gpe_line" ;; esac
    gpe_last="$gpe_mode $gpe_owner $gpe_line"
  done; case $gpe_last in d????-??-?'' ''*) [ -O . ] || echo "$gpe_last" ;; *) echo "${gpe_last:-namei failed}" ;; esac
})
[ -z "$gpe_unsafe" ] || { printf ''%s is not a safe directory for a job, because others can change this: %s\n'' "$gpe_d" "$gpe_unsafe" >&2; exit 73; }
if [ ! -s .gpe_job_id ]; then
  exec 3> .gpe_lock && gpe_rc=75 && flock 3 3>&3 || exit 73 # one submission at a time; ksh passes only what a command names
  if [ ! -s .gpe_job_id ] && set -C && { printf '''' > .gpe_submitting; } 2> /dev/null; then set +C # -C: two cannot make the mark
    [ ! -e .gpe_tasks ] && [ ! -e .gpe_waiting ] || rm -rf .gpe_tasks .gpe_waiting; printf ''%s\n'' "$gpe_job" > .gpe_job || { rm -f .gpe_submitting; exit 73; } # submit in a session of its own: what ends this shell does not cut it off
    setsid sh -c ''
gpe_umask=$1 gpe_pattern=$2 gpe_last=; shift 2
(umask "$gpe_umask"; "$@" .gpe_job) > .gpe_answer 2> .gpe_error; gpe_rc=$?
[ "$gpe_rc" -eq 0 ] || { cat .gpe_answer >> .gpe_error; [ -s .gpe_error ] || echo "the submission failed ($gpe_rc)" > .gpe_error; exit "$((gpe_rc == 75 ? 1 : gpe_rc))"; }
while read -r gpe_line || [ -n "$gpe_line" ]; do gpe_last=$gpe_line; done < .gpe_answer
printf "%s\n" "$gpe_last" | LC_ALL=C grep -Ex -e "$gpe_pattern" > .gpe_started ||
  { { echo "the batch system answered without a job id:"; cat .gpe_answer; } | tee .gpe_submitting >> .gpe_error; exit 75; }
# the first to write the id decides: this, or the job itself
ln .gpe_started .gpe_job_id 2> /dev/null || [ -s .gpe_job_id ] || mv .gpe_started .gpe_job_id || exit 75
'' sh "$gpe_umask" "$gpe_id_pattern" "$@" < /dev/null 3>&3
    gpe_rc=$?
  fi
  [ ! -s .gpe_error ] || cat .gpe_error >&2
  [ -s .gpe_job_id ] || [ "$gpe_rc" -eq 75 ] || { [ ! -s .gpe_error ] && [ -n "${gpe_rc#12[67]}" ]; } || exit "$gpe_rc"
  exec 3>&- && [ -s .gpe_job_id ] || { printf ''START: whether a job was submitted in %s is not known: FIND_JOB finds out, then START can be repeated\n'' "$gpe_d" >&2; exit 75; }
elif ! LC_ALL=C grep -qEx -e "$gpe_id_pattern" .gpe_job_id; then echo "START: $gpe_d/.gpe_job_id does not contain a job id" >&2; exit 1
fi
read -r gpe_id < .gpe_job_id && case $gpe_id in */* | .*) false ;; esac && ln -sfn -- "$gpe_d" "$gpe_jobs/$gpe_id" || { printf ''START: %s has the job %s, but the link to it cannot be created: START can be repeated\n'' "$gpe_d" "$gpe_id" >&2; exit 1; }
printf ''%s\n'' "$gpe_id"
','@HOST@ @BOOT@ 2562 176962','QUEUED','',NULL,NULL,0,'','',1.79586275717489290233e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'stdout','',NULL,NULL,NULL,NULL,'stderr',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "job" VALUES(20,'slurm','@JOBS@/root/20261128-104557-4b652ddff2fc62b4',NULL,'slurm-cut-array','','# without --ignore-pbs, sbatch takes lines with #PBS or #BSUB for its own, wherever they stand
set -- eval ''gpe_id=$(sbatch --parsable --ignore-pbs ''"${gpe_nice-}${gpe_mail-}"''.gpe_job); gpe_rc=$?
[ -z "$gpe_id" ] || printf "%s\n" "${gpe_id%%;*}" # ID;CLUSTER
exit "$gpe_rc";''
gpe_d=''@JOBS@/root/20261128-104557-4b652ddff2fc62b4'' gpe_profile=''slurm'' gpe_id_pattern=''[1-9][0-9]*(_[0-9]+)?'' gpe_dependency=''''
gpe_job=''#!/bin/sh
#SBATCH --output=/dev/null
#SBATCH --job-name=gpe_job
#SBATCH --array=1-2
gpe_id=${SLURM_JOB_ID:-} gpe_cputime=''\''''''\'''' gpe_nodes=''\''''''\'''' gpe_queue=''\''''''\'''' gpe_project=''\''''''\''''
gpe_id=${SLURM_ARRAY_JOB_ID:-} gpe_task=${SLURM_ARRAY_TASK_ID:-}
gpe_task_id=${gpe_id}_$gpe_task
cd -- ''\''''@JOBS@/root/20261128-104557-4b652ddff2fc62b4''\'''' || kill -s KILL "$$" # a signal: an exit status would be taken for the program''\''''s
if gpe_me=${gpe_task_id:-$gpe_id} && [ -n "$gpe_id" ]; then # the first job that writes its id is the job of this directory
  printf ''\''''%s\n''\'''' "$gpe_id" > ".gpe_job_id.$gpe_me" && { ln ".gpe_job_id.$gpe_me" .gpe_job_id 2> /dev/null || [ -s .gpe_job_id ] || mv -f ".gpe_job_id.$gpe_me" .gpe_job_id; } && read -r gpe_first < .gpe_job_id || kill -s KILL "$$"
  # FIND_JOB removes START''\''''s mark when it gives a submission up.
  [ -e .gpe_submitting ] || { [ "$gpe_first" != "$gpe_id" ] || rm -f .gpe_job_id; gpe_first=none; }
  [ "${gpe_first%%.*}" = "${gpe_id%%.*}" ] || { echo "job $gpe_id runs nothing: the job of $PWD is $gpe_first" >&2; exit 1; }
fi
"${gpe_run_tasks:-:}" # linux: the leader of the array''\''''s session ends here
mkdir -p -- ".gpe_tasks/${gpe_task:?}" && cd -- ".gpe_tasks/$gpe_task" || kill -s KILL "$$"
export GPE_ARRAY_ID="$gpe_id" GPE_ARRAY_INDEX="$gpe_task"
command exec > .gpe_job.out 2>&1 && trap ''\''''gpe_status=$?; [ -e .gpe_exit_status ] || echo "$gpe_status" > .gpe_exit_status''\'''' EXIT || kill -s KILL "$$"
rm -f "${gpe_task:+../../}.gpe_job_id.$gpe_me" & [ ! -e .gpe_exit_status ] && [ ! -e .gpe_limit ] || rm -f .gpe_exit_status .gpe_limit .gpe_usage
export GPE_JOB_ID="$gpe_me" GPE_WORKING_DIRECTORY=''\''''@JOBS@/root/20261128-104557-4b652ddff2fc62b4''\'''' GPE_JOB_NAME=''\''''''\'''' GPE_NODES="${gpe_nodes:-}" GPE_QUEUE="${gpe_queue:-}" GPE_PROJECT="${gpe_project:-}"
export GPE_PROCESSES=''\''''''\'''' GPE_CPUS=''\''''''\'''' GPE_MEMORY=''\''''''\'''' GPE_WALLTIME=''\''''''\'''' GPE_CPUTIME=''\''''''\''''
[ -z "$GPE_CPUS" ] || export OMP_NUM_THREADS="$GPE_CPUS"
trap : HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM XCPU XFSZ VTALRM PROF SYS # this shell outlives a signal for the whole job, to record its end
"${gpe_begin:-:}"
gpe_stdin=''\''''/dev/null''\'''' gpe_stdout=''\''''stdout''\'''' gpe_stderr=''\''''stderr''\'''' gpe_directory=''\''''@HOME@''\'''' gpe_modules=''\''''''\'''' gpe_node_file=''\''''''\'''' gpe_tmp_dir=''\''''''\'''' gpe_uptime=; { read -r gpe_uptime < /proc/uptime; } 2> /dev/null
( "${gpe_enter:-:}" # the program''\''''s own shell
command cd -- "$GPE_WORKING_DIRECTORY" || exit 125
case ${gpe_stdout#/dev/shm} in /dev/*) ;; *) gpe_stdout=${gpe_stdout:-stdout}.$gpe_task ;; esac
case ${gpe_stderr#/dev/shm} in /dev/*) ;; *) gpe_stderr=${gpe_stderr:-stderr}.$gpe_task ;; esac
command exec 2> "${gpe_stderr:=stderr}" < "${gpe_stdin:-/dev/null}" || exit 125
if [ "${gpe_stdout:=stdout}" = "$gpe_stderr" ]; then command exec >&2; else command exec > "$gpe_stdout"; fi || exit 125
[ -z "$gpe_directory" ] || command cd -- "$gpe_directory" || exit 125
# shellcheck disable=SC3045  # every sh of Linux has -t and -v
[ -z "${gpe_cputime:-}" ] || { ulimit -S -t "$gpe_cputime"; ulimit -H -t "$((gpe_cputime + 5))" 2> /dev/null; }
for gpe_module in $gpe_modules; do module load "$gpe_module" || exit 125; done
eval ''\''''''\''''
gpe_executable=''\''''sh''\'''' gpe_container=''\''''''\'''' gpe_container_command=''\''''''\''''
set -- 
case $#:$gpe_executable in 0:*) ;; *=*) set -- env -- "$@" "$(command -v nice)" -n 0 -- ;; *) set -- env -- "$@" ;; esac;
exec "$@" ''\''''sh''\'''' ''\''''-c''\'''' ''\''''exit "$GPE_ARRAY_INDEX"''\''''
)
gpe_status=$?
[ "$gpe_status" -le 255 ] || gpe_status=$((gpe_status % 128 + 128)) # ksh and yash tell signal n as 256+n and 384+n
"${gpe_end:-:}"
[ ! -x /usr/bin/perl ] || { : > .gpe_usage && gpe_measure=gpe_measure; } # what replaces a shell can tell what its programs took
gpe_measure() { trap ''\''''''\'''' HUP INT QUIT USR1 USR2 PIPE ALRM TERM XCPU; unset PERL5OPT PERL5LIB PERL5DB LD_PRELOAD LD_LIBRARY_PATH; exec /usr/bin/perl -e ''\''''$e = eval { require Time::HiRes; sprintf "%.3f", Time::HiRes::time() } || time; open F, "/proc/uptime" and $t = (split " ", <F>)[0] - $ARGV[0]; $u = sprintf "elapsed=%.2f", $t if $ARGV[0]; $u .= sprintf " cpu=%.2f", (times)[2] + (times)[3] if $mine = ! -e ".gpe_program";
open E, "/proc/self/exe" and read E, $h, 20; $n = {62, 98, 183, 165, 243, 165, 258, 165, 20, 77, 21, 77, 22, 77}->{unpack ord(substr $h, 5) > 1 ? "n" : "v", substr $h, 18}; $u .= sprintf " memory=%d", 1024 * (unpack "l!5", $r)[4] if $n && $mine && !syscall $n, -1, $r = "\0" x 144; $u .= " ended=$e"; open U, ">", ".gpe_usage" and print U "$u\n"; close U; exit $ARGV[1]''\'''' "${gpe_uptime%% *}" "${gpe_exit:-$gpe_status}"; }
printf ''\''''%s\n''\'''' "$gpe_status" > .gpe_exit_status.new && mv -f .gpe_exit_status.new .gpe_exit_status; "${gpe_measure:-:}"
exit "${gpe_exit:-$gpe_status}"''
[ -n "${gpe_job:-}" ] || [ -d "$gpe_d" ] || exit 0 # FIND_JOB: there never was a START
gpe_umask=$(umask) && umask 077 && unset GPE_JOB_ID GPE_ARRAY_ID GPE_ARRAY_INDEX GPE_NODE_FILE # of a job that starts this one: it is none of its processes
gpe_jobs="${HOME:?}/.gpe/jobs/$gpe_profile" && mkdir -p -- "$gpe_jobs" ${gpe_job:+"$gpe_d"} && cd -- "$gpe_d" || exit 73
# shellcheck disable=SC3067  # As sshd''s StrictModes: nobody else may be able to replace the directory, or anything that its path leads through.
gpe_unsafe=$(LC_ALL=C namei -mo -- "$gpe_d" | {
  read -r gpe_last; if [ -O / ]; then gpe_user=root; else gpe_user=; fi
  while read -r gpe_mode gpe_owner gpe_line; do
    case $gpe_owner in root | "${gpe_user:=$gpe_owner}") gpe_bad= ;; *) gpe_bad=y ;; esac
    case $gpe_bad$gpe_mode in l* | ?????-??-? | ?????????[tT]) ;; *) echo "$gpe_mode $gpe_owner $gpe_line" ;; esac
    gpe_last="$gpe_mode $gpe_owner $gpe_line"
  done; case $gpe_last in d????-??-?'' ''*) [ -O . ] || echo "$gpe_last" ;; *) echo "${gpe_last:-namei failed}" ;; esac
})
[ -z "$gpe_unsafe" ] || { printf ''%s is not a safe directory for a job, because others can change this: %s\n'' "$gpe_d" "$gpe_unsafe" >&2; exit 73; }
if [ ! -s .gpe_job_id ]; then
  exec 3> .gpe_lock && gpe_rc=75 && flock 3 3>&3 || exit 73 # one submission at a time; ksh passes only what a command names
  if [ ! -s .gpe_job_id ] && set -C && { printf '''' > .gpe_submitting; } 2> /dev/null; then set +C # -C: two cannot make the mark
    [ ! -e .gpe_tasks ] && [ ! -e .gpe_waiting ] || rm -rf .gpe_tasks .gpe_waiting; printf ''%s\n'' "$gpe_job" > .gpe_job || { rm -f .gpe_submitting; exit 73; } # submit in a session of its own: what ends this shell does not cut it off
    setsid sh -c ''
gpe_umask=$1 gpe_pattern=$2 gpe_last=; shift 2
(umask "$gpe_umask"; "$@" .gpe_job) > .gpe_answer 2> .gpe_error; gpe_rc=$?
[ "$gpe_rc" -eq 0 ] || { cat .gpe_answer >> .gpe_error; [ -s .gpe_error ] || echo "the submission failed ($gpe_rc)" > .gpe_error; exit "$((gpe_rc == 75 ? 1 : gpe_rc))"; }
while read -r gpe_line || [ -n "$gpe_line" ]; do gpe_last=$gpe_line; done < .gpe_answer
printf "%s\n" "$gpe_last" | LC_ALL=C grep -Ex -e "$gpe_pattern" > .gpe_started ||
  { { echo "the batch system answered without a job id:"; cat .gpe_answer; } | tee .gpe_submitting >> .gpe_error; exit 75; }
# the first to write the id decides: this, or the job itself
ln .gpe_started .gpe_job_id 2> /dev/null || [ -s .gpe_job_id ] || mv .gpe_started .gpe_job_id || exit 75
'' sh "$gpe_umask" "$gpe_id_pattern" "$@" < /dev/null 3>&3
    gpe_rc=$?
  fi
  [ ! -s .gpe_error ] || cat .gpe_error >&2
  [ -s .gpe_job_id ] || [ "$gpe_rc" -eq 75 ] || { [ ! -s .gpe_error ] && [ -n "${gpe_rc#12[67]}" ]; } || exit "$gpe_rc"
  exec 3>&- && [ -s .gpe_job_id ] || { printf ''START: whether a job was submitted in %s is not known: FIND_JOB finds out, then START can be repeated\n'' "$gpe_d" >&2; exit 75; }
elif ! LC_ALL=C grep -qEx -e "$gpe_id_pattern" .gpe_job_id; then echo "START: $gpe_d/.gpe_job_id does not contain a job id" >&2; exit 1
fi
read -r gpe_id < .gpe_job_id && case $gpe_id in */* | .*) false ;; esac && ln -sfn -- "$gpe_d" "$gpe_jobs/$gpe_id" || { printf ''START: %s has the job %s, but the link to it cannot be created: START can be repeated\n'' "$gpe_d" "$gpe_id" >&2; exit 1; }
printf ''%s\n'' "$gpe_id"
','@HOST@ @BOOT@ 2733 176987','QUEUED','',NULL,NULL,0,'','',1.79586275744373130795e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'stdout','1-2',NULL,NULL,NULL,NULL,'stderr',NULL,NULL,NULL,NULL,NULL);
CREATE TABLE request ( number INTEGER PRIMARY KEY, directory TEXT NOT NULL, content TEXT NOT NULL);
INSERT INTO "request" VALUES(1,'@JOBS@/root/20261128-104546-6e0744a78004b192','{"fields": {"EXECUTABLE": "sh", "ARGUMENTS": "''-c'' ''echo \"one two\"; exit 3''", "DIRECTORY": "@HOME@", "JOB_NAME": "greeting", "WALLTIME": "600"}, "application": null}');
INSERT INTO "request" VALUES(2,'@JOBS@/root/20261128-104547-b9949722ca5243d7','{"fields": {"EXECUTABLE": "sh", "ARGUMENTS": "''-c'' ''kill -s KILL \"$$\"''", "DIRECTORY": "@HOME@"}, "application": null}');
INSERT INTO "request" VALUES(3,'@JOBS@/root/20261128-104547-ee863a5eee271eee','{"fields": {"EXECUTABLE": "sleep", "ARGUMENTS": "''1000''", "DIRECTORY": "@HOME@"}, "application": null}');
INSERT INTO "request" VALUES(4,'@JOBS@/root/20261128-104548-7410fb779084e202','{"fields": {"EXECUTABLE": "sh", "ARGUMENTS": "''-c'' ''exit \"$GPE_ARRAY_INDEX\"''", "DIRECTORY": "@HOME@", "ARRAY": "1-3"}, "application": null}');
INSERT INTO "request" VALUES(8,'@JOBS@/root/20261128-104550-9c766e8c68c7b7c4','{"fields": {"EXECUTABLE": "sleep", "ARGUMENTS": "''1000''", "DIRECTORY": "@HOME@"}, "application": null}');
INSERT INTO "request" VALUES(9,'@JOBS@/root/20261128-104551-c10b05e60779bceb','{"fields": {"EXECUTABLE": "sh", "ARGUMENTS": "''-c'' ''echo begun; while [ ! -e go ]; do sleep 0.05; done; exit 4''", "DIRECTORY": "@HOME@"}, "application": null}');
INSERT INTO "request" VALUES(10,'@JOBS@/root/20261128-104551-ae5842d45508c503','{"fields": {"EXECUTABLE": "sh", "ARGUMENTS": "''-c'' ''echo \"task $GPE_ARRAY_INDEX\"; while [ ! -e go ]; do sleep 0.05; done''", "DIRECTORY": "@HOME@", "ARRAY": "1-2"}, "application": null}');
INSERT INTO "request" VALUES(11,'@JOBS@/root/20261128-104552-9c6ba0cd267d40f0','{"fields": {"EXECUTABLE": "true", "DIRECTORY": "@HOME@", "START_TIME": "2037-01-31T08:00"}, "application": null}');
INSERT INTO "request" VALUES(12,'@JOBS@/root/20261128-104552-003712f7aa80415b','{"fields": {"EXECUTABLE": "true", "DIRECTORY": "@HOME@"}, "application": null}');
INSERT INTO "request" VALUES(13,'@JOBS@/root/20261128-104553-d4adaa506af337e8','{"fields": {"EXECUTABLE": "true", "DIRECTORY": "@HOME@", "WALLTIME": "60"}, "application": null}');
INSERT INTO "request" VALUES(14,'@JOBS@/root/20261128-104554-c22967809ed864ba','{"fields": {"EXECUTABLE": "true", "DIRECTORY": "@HOME@"}, "application": null}');
INSERT INTO "request" VALUES(15,'@JOBS@/root/20261128-104554-6a71c9569d8b8571','{"fields": {"EXECUTABLE": "true", "DIRECTORY": "@HOME@"}, "application": null}');
INSERT INTO "request" VALUES(16,'@JOBS@/root/20261128-104555-bda89adffc28d53a','{"fields": {"EXECUTABLE": "true", "DIRECTORY": "@HOME@", "ARRAY": "1-2"}, "application": null}');
INSERT INTO "request" VALUES(19,'@JOBS@/root/20261128-104557-8088103f81283752','{"fields": {"EXECUTABLE": "sh", "ARGUMENTS": "''-c'' ''echo begun; exit 5''", "DIRECTORY": "@HOME@"}, "application": null}');
INSERT INTO "request" VALUES(20,'@JOBS@/root/20261128-104557-4b652ddff2fc62b4','{"fields": {"EXECUTABLE": "sh", "ARGUMENTS": "''-c'' ''exit \"$GPE_ARRAY_INDEX\"''", "DIRECTORY": "@HOME@", "ARRAY": "1-2"}, "application": null}');
CREATE UNIQUE INDEX job_directory ON job (target, directory);
CREATE UNIQUE INDEX job_id ON job (target, job_id) WHERE job_id IS NOT NULL;
CREATE UNIQUE INDEX job_key ON job (target, key) WHERE key IS NOT NULL;
CREATE INDEX job_array ON job (target, array_id) WHERE array_id IS NOT NULL;
CREATE INDEX job_unsubmitted ON job (target) WHERE job_id IS NULL;
CREATE INDEX job_live ON job (target) WHERE array_id IS NULL AND state NOT IN ('DONE', 'FAILED', 'REMOVED', 'LOST');
CREATE INDEX job_ended ON job (target, coalesce(ended, submitted)) WHERE array_id IS NULL AND state IN ('DONE', 'FAILED', 'REMOVED', 'LOST');
CREATE TRIGGER request_deletion AFTER DELETE ON job BEGIN DELETE FROM request WHERE number = OLD.number; END;
COMMIT;
PRAGMA user_version = 1;
