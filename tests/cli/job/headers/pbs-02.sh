#!/bin/bash -l
#PBS -A datascience
#PBS -l select=1:ncpus=32:ngpus=4
#PBS -l place=scatter:excl
#PBS -l walltime=0:30:00
#PBS -l filesystems=home:eagle
#PBS -k doe
#PBS -q debug
