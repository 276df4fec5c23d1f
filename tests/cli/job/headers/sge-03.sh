#!/bin/bash
#$ -N second
#$ -hold_jid 12,13
#$ -m ea
#$ -M a@example.org
#$ -p -10
#$ -r y
#$ -v A=1
