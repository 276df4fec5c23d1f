#!/bin/bash
#SBATCH --output=$(touch /tmp/osprofile-hostile)`id`'";x.out
#SBATCH --time=5
true
