#!/bin/bash
#BSUB -P ABC123
#BSUB -nnodes 2
#BSUB -W 120
#BSUB -alloc_flags smt4
#BSUB -J summit
