#!/bin/bash
#SBATCH --requeue=expedite --licenses=ansys|abaqus --mem-update=@20:10 --consolidate-segments
#SBATCH --spread-segments --resv-ports=4 --tres-per-task=cpu=4
true
