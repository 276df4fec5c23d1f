#!/bin/bash
#SBATCH --begin=now+1hour --mail-type=TIME_LIMIT_80,END --mail-user=a@example.org
#SBATCH --distribution=cyclic --hint=nomultithread --comment=x --nice=100 --gpus=0
true
