#!/bin/bash
#SBATCH --comment="a b" --exclude n1,n2 --mem-per-gpu=4G --gpus-per-task=1
# text

#SBATCH --time 5 # minutes
#SBATCH --nodel=n1 --wait-all=1
true
#SBATCH --hold
