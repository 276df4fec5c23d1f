#!/bin/bash
#PBS -l nodes=4:ppn=8,walltime=24:00:00
#PBS -m abe
#PBS -M a@example.org,b@example.org
#PBS -o out/$PBS_JOBID.log
#PBS -e err.log
#PBS -V
