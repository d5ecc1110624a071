#!/bin/bash
#SBATCH -A training2441
#SBATCH -N 4
#SBATCH --ntasks-per-node=4
#SBATCH -c 12
#SBATCH --gres=gpu:4
#SBATCH -t 1-00:00:00
#SBATCH -p booster
#SBATCH -a 1-3%1
#SBATCH -o run-%A_%a.out

set -e
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK

srun python -u train.py --ckpt latest
