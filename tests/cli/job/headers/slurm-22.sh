#!/bin/bash
#SBATCH --signal=B:TERM@60
true
