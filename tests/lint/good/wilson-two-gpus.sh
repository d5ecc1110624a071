#!/bin/bash
#SBATCH --account=mygroup
#SBATCH --qos=regular
#SBATCH --partition=gpu_gce
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --gres=gpu:v100:2
#SBATCH --mem=90G
#SBATCH --time=08:00:00
#SBATCH --output=job_%x_%A.out

set -e
cd /work1/ada
source env/bin/activate
torchrun --standalone --nproc_per_node=2 train.py
