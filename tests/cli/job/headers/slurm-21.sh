#!/bin/bash
#SBATCH --nodes=1-4
true
