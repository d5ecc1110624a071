#!/bin/bash
#SBATCH --account=def-prof
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --gres=gpu:a100:4
#SBATCH --cpus-per-task=12
#SBATCH --mem=0
#SBATCH --time=1-00:00:00
#SBATCH --output=%x-%j.out
#SBATCH --mail-type=END,FAIL

set -eo pipefail
module load python/3.11 cuda/12.2
source ~/env/bin/activate
export WANDB_MODE=offline
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
export MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))

srun python -u train.py --num_workers 12 --checkpoint last.pt
