#!/bin/bash
#SBATCH --export=NONE
#SBATCH --get-user-env
#SBATCH --exclusive=user
#SBATCH --mail-type=NONE
#SBATCH --no-requeue
#SBATCH --threads-per-core=1
#SBATCH --gpus=4
#SBATCH --nodes=2
./run
