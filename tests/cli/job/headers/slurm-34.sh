#!/bin/bash
#SBATCH --gres=gpu:a100:4,shard:2,nvme:100G --overcommit
#SBATCH -n 16 -s
true
