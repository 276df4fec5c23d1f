# gpe_list calls this where the records can be read, in GET_JOB_STATUS.
! command -v gpe_record > /dev/null || gpe_look_again=gpe_update_dependencies
# LINES of gpe_qstat: has PBS look again at the conditions of our own jobs that wait for others that
# have ended. It drops those that hold; a job whose conditions can never hold is removed.
gpe_update_dependencies() {
  set -f
  gpe_held=$(printf '%s\n' "$1" | print_held | while read -r gpe_i gpe_rest; do
    ! gpe_job_dir "$gpe_i" || printf '%s\n' "$gpe_i $gpe_rest"
  done)
  [ -n "$gpe_held" ] || return 0
  # shellcheck disable=SC2046
  gpe_others=$(gpe_qstat $(printf '%s\n' "$gpe_held" | cut -d' ' -f3- | tr ' ' '\n' | sort -u) 2>&1)
  case $? in 0) ;; 35 | 153) gpe_others='' ;; *) return 0 ;; esac
  gpe_others=$(printf '%s\n' "$gpe_others" | awk -F'|' '
NF > 9 { print ($3 != "F" ? "live:" : $5 $6 == "" ? "never-ran:" : "ended:") $1 }' | tr '\n' ' ')
  printf '%s\n' "$gpe_held" | while read -r gpe_i gpe_depend gpe_rest; do
    update_job
  done
}
# Of lines of gpe_qstat, those jobs that wait for others which have no line, as ID CONDITIONS
# OTHER...; others of another server do not count.
print_held() {
  awk -F'|' '
function server(id) { sub(/^[^.]*/, "", id); return id }
function list_others(id, n, i, part, list) {
  n = split(held[id], part, /[,:]/)
  for (i = 1; i <= n; i++) {
    sub(/@.*/, "", part[i])
    if (part[i] !~ /^[0-9]/ || part[i] in live) continue
    if (server(part[i]) == server(id)) list = list " " part[i]
  }
  return list
}
$3 != "F" { live[$1] }
$3 == "H" && $4 == 22 && $1 !~ /\[[0-9]/ {
  depend = $9
  if (sub(/^[^,]*,[^,]*,[^,]*,[^,]*,/, "", depend) && depend ~ /^[A-Za-z0-9:@.,_[\]-]+$/)
    held[$1] = depend
}
END {
  for (id in held) {
    others = list_others(id)
    if (others != "") print id, held[id] others
  }
}'
}
update_job() { # gpe_i, with the conditions gpe_depend, of which gpe_rest are to be judged
  choose_conditions
  [ -n "$gpe_again" ] || return
  if [ -n "$gpe_dead" ]; then # PBS would compare an exit status of 0, and run the job
    qdel "$gpe_i" < /dev/null > /dev/null 2>&1 && gpe_job_dir "$gpe_i" &&
      gpe_note_dependency "${gpe_dir:?}"
    return
  fi
  gpe_new=${gpe_new#,}
  qalter -W "depend=${gpe_new:-\"\"}" "$gpe_i" < /dev/null > /dev/null 2>&1 || return
  # the record tells what PBS forgets
  [ -n "$gpe_gone" ] && gpe_job_dir "$gpe_i" || return
  gpe_qstat "$gpe_i" < /dev/null > /dev/null 2>&1
  case $? in 35 | 153) gpe_note_dependency "$gpe_dir" ;; esac
}
# Sets gpe_new to the conditions that remain, gpe_again if PBS is to look at them again, gpe_gone if
# one of them can never hold, gpe_dead if PBS does not know that.
choose_conditions() {
  gpe_new='' gpe_again='' gpe_gone='' gpe_dead='' gpe_type=''
  for gpe_one in $(printf '%s\n' "$gpe_depend" | tr ',:' '\n\n'); do
    case $gpe_one in [a-z]*)
      gpe_type=$gpe_one
      continue
      ;;
    esac
    judge "${gpe_one%@*}"
    case $gpe_is in
    ended) gpe_again=y ;;
    never) gpe_again=y gpe_gone=y ;;
    dead) gpe_again=y gpe_dead=y ;;
    met)
      gpe_again=y
      continue
      ;;
    unknown)
      gpe_again=''
      return
      ;;
    esac
    gpe_new=$gpe_new,$gpe_type:$gpe_one
  done
}
# ID: sets gpe_is to what is known of the other job: live, or that PBS knows that it has ended. PBS
# would drop the waiting job if it has forgotten the other, and takes one that was deleted before it
# ran for a success: then the condition gpe_type is met, can never be met, or it is unknown how the
# tasks of an array ended.
judge() {
  gpe_is=live
  case $gpe_type:" $gpe_rest " in
  afterok:*" $1 "* | afternotok:*" $1 "* | afterany:*" $1 "*) ;;
  *) return ;;
  esac
  case $gpe_type:" $gpe_others" in
  *" ended:$1 "*) gpe_is=ended ;;
  afterok:*" never-ran:$1 "*) gpe_is=dead ;;
  *" never-ran:$1 "*) gpe_is=met ;;
  *" live:$1 "*) ;;
  afterany:*) gpe_is=met ;;
  *) judge_record "$1" "$(gpe_record "$1")" ;;
  esac
}
judge_record() { # ID RECORD
  case $gpe_type:$2: in
  'afterok:'*' exited exit=0'[\ :]*) gpe_is=met ;;
  'afterok:'* | 'afternotok:'*' exited exit=0'[\ :]* | 'afternotok::') gpe_is=never ;;
  *) gpe_is=met ;; # afternotok, and it ended in another way
  esac
  case $gpe_is:$2:$1 in never::*\[*) gpe_is=unknown ;; esac
}
