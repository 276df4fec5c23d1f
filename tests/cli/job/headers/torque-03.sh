#!/bin/bash
#PBS -l nodes=2:ppn=4:gpus=1
#PBS -l cput=10:00
#PBS -z
