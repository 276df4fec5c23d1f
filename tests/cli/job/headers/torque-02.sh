#!/bin/bash
#PBS -t 1-10%2
#PBS -l procs=4,pmem=1gb
#PBS -d /tmp
#PBS -q batch
