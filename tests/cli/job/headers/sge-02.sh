#!/bin/bash
#$ -t 1-100:2
#$ -tc 5
#$ -o logs/$JOB_NAME.$JOB_ID.$TASK_ID
#$ -e logs
#$ -l h_vmem=2G,h_rt=3600
#$ -P bio
