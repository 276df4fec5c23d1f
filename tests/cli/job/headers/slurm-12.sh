#!/bin/bash
#SBATCH -J gromacs
#SBATCH -N 1
#SBATCH -n 16
#SBATCH -c 2
#SBATCH -t 12:00:00
#SBATCH -p gpu
#SBATCH --gres=gpu:a100:2
#SBATCH -e logs/%j.err
#SBATCH -o logs/%j.out
gmx mdrun
