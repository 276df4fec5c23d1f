# The options of submit.sh and find-job.sh, which this runs.
# shellcheck disable=SC2034  # the functions above use all of these
case $0 in /*) gpe_program=$0 ;; *) gpe_program=$PWD/$0 ;; esac
# shellcheck disable=SC2034
gpe_in_session='' gpe_several='' gpe_prepared='' gpe_job='' gpe_profile='' gpe_directory=''
gpe_id_pattern='' gpe_keep='' gpe_after='' gpe_not_before=''
# shellcheck disable=SC2034
while [ "$#" -gt 0 ]; do
  case $1 in
  --in-session) gpe_in_session=$2 ;; # submit.sh runs itself
  --several) gpe_several=$2 ;;
  --prepared) gpe_prepared=$2 gpe_in_session=y ;; # by the engine, which has made this session
  --profile) gpe_profile=$2 ;;
  --directory) gpe_directory=$2 ;;
  --id-pattern) gpe_id_pattern=$2 ;;
  --job) gpe_job=$2 ;;
  --keep) gpe_keep=$2 ;;
  --after) gpe_after=$2 ;;
  --not-before) gpe_not_before=$2 ;;
  *) break ;;
  esac
  shift 2
done
gpe_jobs=${HOME:?}/.gpe/jobs/$gpe_profile
main "$@"
