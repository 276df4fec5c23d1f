#!/bin/sh
#PBS -J 1-20:2
#PBS -N array
#PBS -l select=1:ncpus=1:mem=2gb
#PBS -o out.^array_index^
#PBS -r n
#PBS -v A=1,B='x y'
