#!/bin/bash
#SBATCH --job-name=vasp_relax
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=64
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=3900M
#SBATCH --time=1-00:00:00
#SBATCH --partition=compute,long
#SBATCH --output=%x-%j.out
#SBATCH --mail-type=BEGIN,END,FAIL
#SBATCH --mail-user=jane.doe@example.edu

module purge
srun vasp_std
