#!/bin/bash
#$ -cwd
#$ -N test
#$ -pe smp 8
#$ -l h_rt=12:00:00
#$ -l mem_free=4G
#$ -q all.q
#$ -j y
#$ -S /bin/bash
#$ -V
