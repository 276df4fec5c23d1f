# [MOST]: prints the indices of gpe_array, as 1-9:2,12%3, each once; false if a range is empty, or
# if there are more.
gpe_print_indices() {
  printf '%s\n' "${gpe_array%%%*}" | tr , '\n' | awk -F '[-:]' -v most="${1:-10000000}" '{
    last = NF > 1 ? $2 : $1; step = NF > 2 ? $3 : 1
    if ($1 + 0 > last + 0) exit 1
    for (i = $1 + 0; i <= last + 0; i += step) if (!seen[i]++) { if (++n > most) exit 1; print i }
  }'
}
