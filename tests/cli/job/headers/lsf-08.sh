#!/bin/bash
#BSUB -n 48
#BSUB -R "span[ptile=24] select[ib && mem>2000]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -gpu "num=2:mode=exclusive_process"
#BSUB -J "arr[1-10:2]%3"
#BSUB -w "done(prep)"
mpirun ./a
