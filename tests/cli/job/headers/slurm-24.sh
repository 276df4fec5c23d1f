#!/bin/bash
#SBATCH --uid=0
#SBATCH --priority=99999
#SBATCH --no-such-option=1
true
