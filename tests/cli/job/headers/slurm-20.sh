#!/bin/bash
#SBATCH -p short -A lab -t 10:00 --mem=500M -J "quoted name"
#SBATCH --parsable --quiet --verbose
true
