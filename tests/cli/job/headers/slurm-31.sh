#!/bin/bash
#SBATCH --nodes=some
true
