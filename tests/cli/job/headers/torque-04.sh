#!/bin/bash
#PBS -l nodes=1:ppn=4:bigmem+2:ppn=8,mem=16gb
#PBS -l matlab=1
#PBS -a 2200
