# Needed by: gpe_signal=[A-Za-z0-9]
# shellcheck disable=SC2034,SC2154  # job.sh has them
# For a job whose program gets the signal gpe_signal before its time limit: the process of the
# program alone, which may pass it on to others.
# trap of zsh and gpe_note_limit need it in capitals
gpe_signal=$(printf '%s\n' "$gpe_signal" | tr '[:lower:]' '[:upper:]')
gpe_signal=${gpe_signal#SIG}
gpe_keep_pid() { # FILE: the program's own shell, which it replaces, leaves its process id there
  gpe_pid_file=$1 gpe_then=${gpe_enter:-:} gpe_enter=gpe_write_pid
  [ ! -e "$1" ] && [ ! -e "$1.sent" ] || rm -f "$1" "$1.sent"
}
gpe_write_pid() {
  read -r gpe_self _ < /proc/self/stat
  printf '%s\n' "$gpe_self" > "$gpe_pid_file"
  "$gpe_then"
}
gpe_pass_signal() {
  read -r gpe_pid < "$gpe_pid_file" || return
  : > "$gpe_pid_file.sent"
  kill -s "$gpe_signal" "$gpe_pid"
}
# A program that this signal has ended would have gone on without its time limit. TERM may have come
# from somebody who cancels the job, too.
gpe_note_limit() {
  [ "$gpe_signal" != TERM ] && [ -e "$gpe_pid_file.sent" ] || return 0
  [ "$gpe_status" -gt 128 ] && [ "$(kill -l "$gpe_status")" = "$gpe_signal" ] || return 0
  printf 'ended by %s, which it got before its time limit\n' "$gpe_signal" > .gpe/limit.new &&
    mv -f .gpe/limit.new .gpe/limit
}
