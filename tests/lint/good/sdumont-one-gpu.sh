#!/bin/bash
#SBATCH --job-name=digits
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=12
#SBATCH --gpus-per-node=1
#SBATCH --mem=90G
#SBATCH --partition=sequana_gpu_shared
#SBATCH --time=04:00:00
#SBATCH --no-requeue
#SBATCH --output=%x-%j.out

set -e
cd "$SCRATCH/digits"
module load anaconda3/2024.02_sequana
eval "$(conda shell.bash hook)"
conda activate torch
python -u train.py
