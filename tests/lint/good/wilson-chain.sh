#!/bin/bash
#SBATCH --account=mygroup
#SBATCH --qos=regular
#SBATCH --partition=gpu_gce
#SBATCH --nodes=1
#SBATCH --cpus-per-task=8
#SBATCH --gres=gpu:a100:1
#SBATCH --mem=100G
#SBATCH --time=24:00:00
#SBATCH --array=1-3%1
#SBATCH --output=job_%x_%A_%a.out

set -e
cd /work1/ada
source env/bin/activate
python -u train.py --resume --num_workers 8
