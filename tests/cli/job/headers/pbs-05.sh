#!/bin/bash
#PBS -P project7
#PBS -l ncpus=8,mem=16gb,walltime=3600
#PBS -W depend=afterok:12.server
#PBS -W group_list=chem
#PBS -W umask=022
#PBS -p 10
#PBS -m n
