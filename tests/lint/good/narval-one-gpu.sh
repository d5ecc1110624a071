#!/bin/bash
#SBATCH --account=def-prof
#SBATCH --job-name=digits
#SBATCH --nodes=1
#SBATCH --gres=gpu:a100:1
#SBATCH --cpus-per-task=12
#SBATCH --mem=120G
#SBATCH --time=0-12:00:00
#SBATCH --output=%x-%j.out

set -eo pipefail
module load python/3.11
virtualenv --no-download "$SLURM_TMPDIR/env"
source "$SLURM_TMPDIR/env/bin/activate"
pip install --no-index -r requirements.txt

export PYTHONUNBUFFERED=1
python train.py --num_workers 12 --resume
