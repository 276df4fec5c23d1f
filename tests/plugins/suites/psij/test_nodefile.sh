# A job of PSI/J's test of PSIJ_NODEFILE: fails if the file has not so many lines.
lines=$(wc -l < "$PSIJ_NODEFILE") && [ "$lines" -eq "$1" ]
