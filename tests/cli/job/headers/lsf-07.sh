#!/bin/bash
#BSUB -alloc_flags "smt4 gpumps"
#BSUB -R "select[mem > 1000] order[ut]"
#BSUB -n 2
