#!/bin/bash
#PBS -l walltime=1:00:00
#PBS -l software=abaqus
#PBS -a 2200
#PBS -S /bin/bash
