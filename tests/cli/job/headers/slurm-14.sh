#!/bin/bash
#SBATCH --account=def-someuser
#SBATCH --time=0-03:00
#SBATCH --ntasks=1
#SBATCH --mem-per-cpu=256M
#SBATCH --wckey=proj7
#SBATCH --comment="a test, #1"
echo hello
