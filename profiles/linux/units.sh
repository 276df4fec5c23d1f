# awk_units has functions of awk: seconds(TEXT) of 90, 90.5s, 1:30, 0:01:30 or 1-02:03:04, and
# bytes(TEXT) of 512, 4.832KB, 200 Mbytes or 1G.
# shellcheck disable=SC2016,SC2034  # the functions of other files use it
awk_units='
function seconds(text, part, n, i, sum) { # 0: no number, as infinite, which some awk would read
  if (text !~ /^[0-9.]/) return 0
  sub(/-/, ":", text)
  n = split(text, part, ":")
  for (i = 1; i <= n; i++) sum = sum * (n == 4 && i == 2 ? 24 : 60) + part[i]
  return sum + 0
}
function bytes(text, unit) {
  if (text !~ /^[0-9.]/) return 0
  unit = match(text, /^[0-9.]+ ?[KMGTPkmgtp]/) ? toupper(substr(text, RLENGTH, 1)) : "-"
  return text * 1024 ^ index("KMGTP", unit)
}
'
