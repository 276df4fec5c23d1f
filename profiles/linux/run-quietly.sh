# COMMAND...: its output is in words; if it fails, prints that, and exits as it does.
run_quietly() {
  words=$("$@" 2>&1) && return
  rc=$?
  printf '%s\n' "${words:-$1 failed: $rc}" >&2
  exit "$rc"
}
