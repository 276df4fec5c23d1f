#!/bin/bash
#PBS -N testjob
#PBS -l select=2:ncpus=16:mpiprocs=16:mem=64gb
#PBS -l walltime=04:00:00
#PBS -q workq
#PBS -j oe
cd $PBS_O_WORKDIR
