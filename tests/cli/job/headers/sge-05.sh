#!/bin/bash
#$ -pe mpi 4-8
