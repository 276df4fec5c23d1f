#!/bin/bash

# A comment of the user
#SBATCH --job-name=after
  # an indented comment ends nothing
##SBATCH --nodes=100
# SBATCH --nodes=100

#SBATCH --dependency=afterok:101:102,afterany:103
#SBATCH --begin=2030-01-01T08:00
#SBATCH --reservation=course
echo begins
#SBATCH --nodes=100
