#!/bin/bash
#$ -pe mpi-* 16
#$ -hold_jid prepare,12
