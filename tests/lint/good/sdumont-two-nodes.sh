#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=12
#SBATCH --gpus-per-node=2
#SBATCH --exclusive
#SBATCH --partition=nvidia_small
#SBATCH --time=01:00:00
#SBATCH --no-requeue
#SBATCH --output=%x-%j.out

set -e
cd "$SCRATCH/digits"
source env/bin/activate
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
export MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

srun python -u train.py
