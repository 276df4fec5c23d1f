# For a batch system of this machine: a job whose session lives has not ended, though the batch
# system has forgotten it, as a server that was killed has.
gpe_own_id() {
  printf '%s\n' "$$" > .gpe/session && gpe_find
}
gpe_list_ended() { # ID...
  for gpe_job; do
    gpe_find_session "$gpe_job" && printf '%s running\n' "$gpe_job"
  done
  :
}
gpe_find_session() { # ID: sets pid to the leader of its session; false if it is gone
  gpe_job_dir "$1" && { read -r pid < .gpe/session; } 2> /dev/null || return
  # shellcheck disable=SC3013  # every sh of Linux has -ef
  [ "/proc/$pid/cwd" -ef . ] &&
    tr '\0' '\n' < "/proc/$pid/cmdline" | grep -q '\.gpe/script$'
}
gpe_kill_session() { gpe_find_session "$1" && kill -s TERM -- "-$pid"; }
