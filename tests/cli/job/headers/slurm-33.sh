#!/bin/bash
#SBATCH --job-name=test \
#SBATCH --time=1
#SBATCH --ntasks 3
true
