# WHAT OPTION...: prints jobs. WHAT: state; job: OAR's own ids; a command: the ids of its jobs; the
# id of a task: OAR's id of that. To OAR, an ordinary job is an array, too.
gpe_query() {
  gpe_what=$1
  shift
  # of a job that ends just now, Perl warns
  gpe_text=$(oarstat -f "$@" 2>&1) || {
    printf '%s\n' "$gpe_text" >&2
    return 1
  }
  printf '%s\n' "$gpe_text" | WHAT=$gpe_what awk '
function tell() {
  if (state == "Error" && why != "") state = why
  if (job == "") return
  if (what == "state") print id, state code host
  else if (what == "job") print job
  else if (what == command) print array
  else if (what == id) print job
}
BEGIN { what = ENVIRON["WHAT"] }
/^Job_Id: / { tell(); id = job = $2; why = code = host = "" }
/^    job_array_id = / { array = $3 }
/^    job_array_index = / { task = array "_" $3 }
/^    initial_request = oarsub --array / { id = task }
/^    state = / { state = $3 }
/^    assigned_hostnames = ./ { sub(/\+.*/, "", $3); host = " host=" $3 }
/^    command = / { command = substr($0, 15) }
/^    message = / && $3 !~ /^R=/ { host = host " reason=" substr($0, 15) }
/^    exit_code = / && state == "Terminated" {
  split($4, number, /[(,)]/) # 1280 (5,0,0)
  if (number[3] > 0) code = " signal=" number[3]
  else if (number[2] ~ /^[0-9]+$/) { state = "Terminated/exit"; code = " exit=" number[2] }
}
/^....-..-.. ..:..:..> / {
  sub(/:.*/, "", $3)
  if ($3 ~ /^(WALLTIME|BESTEFFORT_KILL)$/ || ($3 == "FRAG_JOB_REQUEST" && why == "")) why = $3
}
END { tell() }'
}
