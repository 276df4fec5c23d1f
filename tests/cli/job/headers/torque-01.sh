#!/bin/bash
#PBS -l nodes=1:ppn=12
#PBS -l mem=24gb
#PBS -l walltime=12:00:00
#PBS -N blast
#PBS -j oe
#PBS -o blast.log
