#!/bin/bash -l
#SBATCH --account=g100
#SBATCH --time=24:00:00
#SBATCH --nodes=16
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=12
#SBATCH --constraint=gpu
#SBATCH --array=1-4%1
#SBATCH --output=%x-%A_%a.out

set -e
module load daint-gpu PyTorch
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK

srun python -u train.py --resume
