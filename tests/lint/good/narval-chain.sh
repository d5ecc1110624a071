#!/bin/bash
#SBATCH --account=rrg-prof
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:a100:4
#SBATCH --cpus-per-task=48
#SBATCH --mem=480G
#SBATCH --time=0-23:00:00
#SBATCH --array=1-5%1
#SBATCH --signal=B:USR1@300
#SBATCH --output=%x-%A_%a.out
#SBATCH --no-requeue

set -eo pipefail
module load python/3.11
source ~/env/bin/activate
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
export MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

srun torchrun --nnodes="$SLURM_NNODES" --nproc_per_node=4 --rdzv_backend=c10d \
  --rdzv_endpoint="$MASTER_ADDR:$MASTER_PORT" train.py --resume
