gpe_release() { # LINES of gpe_qstat
  set -f
  gpe_held=$(printf '%s\n' "$1" | awk -F'|' '
function server(id) { sub(/^[^.]*/, "", id); return id }
$3 != "F" { live[$1] }
$3 == "H" && $4 == 22 && $1 !~ /\[[0-9]/ && sub(/^[^,]*,[^,]*,[^,]*,/, "", $9) && $9 ~ /^[A-Za-z0-9:@.,_[\]-]+$/ { held[$1] = $9 }
END {
  for (id in held) {
    n = split(held[id], part, /[,:]/)
    others = ""
    for (i = 1; i <= n; i++) { sub(/@.*/, "", part[i]); if (part[i] ~ /^[0-9]/ && server(part[i]) == server(id) && !(part[i] in live)) others = others " " part[i] }
    if (others != "") print id, held[id] others
  }
}')
  [ -n "$gpe_held" ] || return 0
  # shellcheck disable=SC2046
  gpe_others=$(gpe_qstat $(printf '%s\n' "$gpe_held" | cut -d' ' -f3- | tr ' ' '\n' | sort -u) 2>&1)
  case $? in 0) ;; 35 | 153) gpe_others='' ;; *) return 0 ;; esac
  gpe_others=$(printf '%s\n' "$gpe_others" | awk -F'|' 'NF > 9 { print ($3 == "F" ? "ended:" : "live:") $1 }' | tr '\n' ' ')
  printf '%s\n' "$gpe_held" | while read -r gpe_i gpe_depend gpe_rest; do
    gpe_new='' gpe_again='' gpe_gone='' gpe_type=''
    for gpe_one in $(printf '%s\n' "$gpe_depend" | tr ',:' '\n\n'); do
      case $gpe_one in [a-z]*)
        gpe_type=$gpe_one
        continue
        ;;
      esac
      gpe_other=${gpe_one%@*}
      case $gpe_type:" $gpe_rest " in afterok:*" $gpe_other "* | afternotok:*" $gpe_other "* | afterany:*" $gpe_other "*)
        case $gpe_type:" $gpe_others" in
        *" ended:$gpe_other "*) gpe_again=y ;;
        *" live:$gpe_other "*) ;;
        # PBS has forgotten it, and would drop the job
        afterany:*)
          gpe_again=y
          continue
          ;;
        *)
          gpe_end=$(gpe_record "$gpe_other")
          case $gpe_type:$gpe_end: in
          'afterok:'*' exited exit=0'[\ :]*) gpe_end=met ;;
          'afterok:'* | 'afternotok:'*' exited exit=0'[\ :]* | 'afternotok::') ;;
          *) gpe_end=met ;; # afternotok, and it ended in another way
          esac
          case $gpe_end:$gpe_other in
          met:*)
            gpe_again=y
            continue
            ;;
          :*\[*)
            gpe_again=''
            break
            ;; # how the tasks of an array ended is not known
          esac
          gpe_again=y gpe_gone=y
          ;;
        esac
        ;;
      esac
      gpe_new=$gpe_new,$gpe_type:$gpe_one
    done
    [ -n "$gpe_again" ] && qalter -W "depend=${gpe_new#,}" "$gpe_i" < /dev/null > /dev/null 2>&1 || continue
    # the record tells what PBS forgets
    [ -n "$gpe_gone" ] && gpe_job_dir "$gpe_i" || continue
    gpe_qstat "$gpe_i" < /dev/null > /dev/null 2>&1
    case $? in 35 | 153) printf 'DEPENDENCY\n' > "$gpe_dir/.gpe/removed" ;; esac
  done
}
