# list.sh FILE|DIR PATH: prints a line TYPE MODE SIZE MTIME NAME for a file, or for each entry of a
# directory. Exit status of an error: that of ls.
main() { # FILE|DIR PATH
  case $1 in
  FILE) files=$(ls -ldbn --time-style=+%s -- "$2") || exit ;;
  DIR) files=$(ls -lAbn --time-style=+%s -- "$2/.") || exit ;;
  esac
  print_entries
}
print_entries() { # of files, which GNU ls -lbn has printed
  printf '%s\n' "$files" | awk '
BEGIN {
  hex = "0123456789ABCDEF"
  split("a 07 b 08 t 09 n 0A v 0B f 0C r 0D", pairs, " ")
  for (i = 1; i < 15; i += 2) escape[pairs[i]] = "%" pairs[i + 1]
}
function bits(word, at, special, set, value) { # rwx of one class, and setuid, setgid or sticky
  value = (substr(word, at, 1) == "r") * 4 + (substr(word, at + 1, 1) == "w") * 2
  set = substr(word, at + 2, 1)
  if (set == "x" || set == "s" || set == "t") value++
  if (set ~ /[sStT]/) extra += special
  return value
}
function encoded(name, out, c, v) {
  out = ""
  while (name != "") {
    c = substr(name, 1, 1)
    if (c != "\\") { out = out (c == "%" ? "%25" : c); name = substr(name, 2); continue }
    c = substr(name, 2, 1)
    if (c ~ /[0-7]/) {
      v = substr(name, 2, 1) * 64 + substr(name, 3, 1) * 8 + substr(name, 4, 1)
      out = out "%" substr(hex, int(v / 16) + 1, 1) substr(hex, v % 16 + 1, 1)
      name = substr(name, 5)
      continue
    }
    out = out (c in escape ? escape[c] : c == " " ? "%20" : c)
    name = substr(name, 3)
  }
  return out
}
$1 == "total" && NF == 2 { next }
{
  type = substr($1, 1, 1)
  size = $5; when = $6; fields = 6
  if (type == "b" || type == "c") { size = 0; when = $7; fields = 7 }
  extra = 0
  mode = bits($1, 2, 4) "" bits($1, 5, 2) "" bits($1, 8, 1)
  name = $0
  for (i = 0; i < fields; i++) sub(/^ *[^ ]+/, "", name)
  name = substr(name, 2)
  # a blank of the name itself has a backslash before it
  if (type == "l" && match(name, /^(\\.|[^\\ ])* -> /)) name = substr(name, 1, RLENGTH - 4)
  if (name ~ /[^\/]/) { sub(/\/+$/, "", name); sub(/^.*\//, "", name) }
  printf "%s %s%s %s %s %s\n", (type == "-" ? "f" : type), extra, mode, size, when, encoded(name)
}'
}
