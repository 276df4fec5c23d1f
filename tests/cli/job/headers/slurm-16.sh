#!/usr/bin/env python3
#SBATCH -n 4
#SBATCH --mem=8000
#SBATCH --chdir=/scratch/work
#SBATCH --input=in.txt
#SBATCH --nice=100
import os
