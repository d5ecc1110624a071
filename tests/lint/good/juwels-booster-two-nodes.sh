#!/bin/bash
#SBATCH --account=training2441
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=48
#SBATCH --gres=gpu:4
#SBATCH --time=12:00:00
#SBATCH --partition=booster
#SBATCH --output=%x-%j.out

set -eo pipefail
module load Stages/2024 PyTorch
source sc_venv/activate.sh
export HF_DATASETS_OFFLINE=1
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
export MASTER_PORT=7010
export MASTER_ADDR="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)i"

srun --cpu-bind=none torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d \
  --rdzv_endpoint="$MASTER_ADDR:$MASTER_PORT" train.py --resume
