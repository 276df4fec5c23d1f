#!/bin/bash
#SBATCH --ntasks=400 --mem-per-cpu=8G --time=10
true
