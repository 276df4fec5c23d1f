#!/bin/bash
#BSUB -q gpu
#BSUB -gpu "num=2:mode=shared"
#BSUB -w "done(12) && ended(13)"
#BSUB -u a@example.org
#BSUB -B
#BSUB -N
#BSUB -cwd /work
#BSUB -env "all, A=1"
#BSUB -rn
