# The options of submit.sh and find-job.sh, which this runs.
# shellcheck disable=SC2034  # the functions above use all of these
case $0 in /*) program=$0 ;; *) program=$PWD/$0 ;; esac
# shellcheck disable=SC2034
in_session='' job='' profile='' directory='' id_pattern='' keep='' after='' not_before=''
# shellcheck disable=SC2034
while [ "$#" -gt 0 ]; do
  case $1 in
  --in-session) in_session=$2 ;; # submit.sh runs itself
  --profile) profile=$2 ;;
  --directory) directory=$2 ;;
  --id-pattern) id_pattern=$2 ;;
  --job) job=$2 ;;
  --keep) keep=$2 ;;
  --after) after=$2 ;;
  --not-before) not_before=$2 ;;
  *) break ;;
  esac
  shift 2
done
gpe_jobs=${HOME:?}/.gpe/jobs/$profile
main "$@"
