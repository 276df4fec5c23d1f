# Needed by: STD(OUT|ERR)_NAME=
# shellcheck disable=SC2034,SC2154  # job.sh has them
# For a job with STDOUT_NAME or STDERR_NAME.
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
  ln -sfn -- "$gpe_name$gpe_rest" "$1" || gpe_fail "link $1 to $gpe_name$gpe_rest cannot be made"
}
