#!/bin/bash
#PBS -l select=2:ncpus=8:mpiprocs=2:ompthreads=4
#PBS -W block=true
