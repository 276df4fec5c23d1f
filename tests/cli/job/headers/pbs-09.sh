#!/bin/bash
#PBS -l select=2:ncpus=8:mpiprocs=2:ompthreads=8:gpu_model=a100,place=group=switch
#PBS -l matlab=1,vmem=2gb
