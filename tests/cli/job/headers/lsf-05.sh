#!/bin/bash
#BSUB -n 4,8
