#!/bin/bash
#SBATCH --gpus-per-task=1
#SBATCH --ntasks=8
#SBATCH --exclude=node[01-04]
#SBATCH --signal=USR1@120
#SBATCH --gpu-bind=closest
#SBATCH --time=UNLIMITED
srun python train.py
