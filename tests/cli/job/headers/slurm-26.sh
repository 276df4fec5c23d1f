#!/bin/bash
#SBATCH --output="$(touch hostile);`id`.out"
#SBATCH --job-name="$(touch hostile); x"
#SBATCH --nodelist="n1 --uid=0"
true
