#!/bin/bash
#BSUB -J myjob
#BSUB -n 32
#BSUB -R "span[ptile=16]"
#BSUB -W 4:00
#BSUB -q normal
#BSUB -o out.%J
#BSUB -e err.%J
mpirun ./a.out
