#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=40
#SBATCH --gpus-per-node=8
#SBATCH --exclusive
#SBATCH --partition=gdl
#SBATCH --time=24:00:00
#SBATCH --no-requeue
#SBATCH --output=%x-%j.out

set -e
cd "$SCRATCH/digits"
source env/bin/activate
torchrun --standalone --nproc_per_node=8 train.py
