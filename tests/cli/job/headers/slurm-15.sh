#!/bin/bash
#SBATCH --qos=regular
#SBATCH --constraint=cpu
#SBATCH --nodes=4
#SBATCH --ntasks=512
#SBATCH --cpus-per-task=2
#SBATCH --licenses=scratch,cfs
#SBATCH --time=02:00:00
#SBATCH --account=m1234
srun ./a.out
