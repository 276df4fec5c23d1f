#!/bin/sh
#$ -wd /work
#$ -l h_cpu=600,arch=lx-amd64
#$ -R y
#$ -notify
#$ -ar 7
#$ -m n
