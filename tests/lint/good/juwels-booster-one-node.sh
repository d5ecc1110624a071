#!/bin/bash -x
#SBATCH --account=training2441
#SBATCH --nodes=1
#SBATCH --job-name=matrix
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=12
#SBATCH --gres=gpu:4
#SBATCH --output=output.%j
#SBATCH --error=error.%j
#SBATCH --time=00:20:00
#SBATCH --partition=develbooster

module load Stages/2024 GCC Python PyTorch
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK

srun python -u matrix.py
