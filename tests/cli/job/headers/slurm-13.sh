#!/bin/bash
#SBATCH --array=1-100%10
#SBATCH --output=logs/array_%A_%a.out
#SBATCH --error=logs/array_%A_%a.err
#SBATCH --time=30
#SBATCH --mem=2G
Rscript run.R "$SLURM_ARRAY_TASK_ID"
