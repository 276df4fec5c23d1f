id='<JOB_ID/'/'\\''>'
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_SQUEUE>
<SH_JOB_DIR>
<SH_RECORD>
if jobs=$(gpe_squeue -j "$id" 2>&1); then
  printf '%s\n' "$jobs" | gpe_show "$id" && exit
  jobs="no job $id is known to Slurm"
fi
case $jobs in *'Invalid job id'* | 'no job '*) ;; *) printf '%s\n' "$jobs" >&2; exit 2 ;; esac
record=$(gpe_record "$id")
case $record in '' | *exit=1[2-9][0-9]*)
  # the accounting, where there is one, knows more than the program's exit status
  if history=$(sacct -n -X -P -j "$id" -o JobID,State,ExitCode,NodeList,Reason,Partition,Elapsed 2> /dev/null); then
    printf '%s\n' "$history" | gpe_show "$id" && exit
  fi ;;
esac
[ -n "$record" ] || { printf '%s\n' "$jobs" >&2; exit 1; }
printf '%s\n' "$record"
