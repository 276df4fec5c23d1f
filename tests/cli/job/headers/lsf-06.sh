#!/bin/bash
#BSUB -R "select[mem > 1000] order[ut]"
