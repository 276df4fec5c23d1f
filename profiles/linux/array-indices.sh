gpe_print_indices() { # of ARRAY, each once
  printf '%s\n' "${gpe_array%%%*}" | tr , '\n' | awk -F '[-:]' '{
    last = NF > 1 ? $2 : $1; step = NF > 2 ? $3 : 1
    if ($1 + 0 > last + 0) exit 1
    for (i = $1 + 0; i <= last + 0; i += step) if (!seen[i]++) { if (++n > 100000) exit 1; print i }
  }'
}
