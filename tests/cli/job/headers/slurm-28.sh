#!/bin/bash
#SBATCH -G 12 --ntasks=12 --time=5
#SBATCH -N 1-2 --tasks-per-node=2 --spread-job -m cyclic
true
