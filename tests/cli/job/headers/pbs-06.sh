#!/bin/bash
#PBS -l select=1:ncpus=4+2:ncpus=8
