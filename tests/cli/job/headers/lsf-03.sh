#!/bin/bash
#BSUB -J "sweep[1-50]%5"
#BSUB -oo logs/%J_%I.out
#BSUB -M 4GB
#BSUB -R "rusage[mem=4GB]"
#BSUB -R "span[hosts=1]"
#BSUB -n 4
#BSUB -x
