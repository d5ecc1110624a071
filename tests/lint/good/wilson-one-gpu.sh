#!/bin/bash
#SBATCH --account=mygroup
#SBATCH --qos=regular
#SBATCH --partition=gpu_gce
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --gres=gpu:p100:1
#SBATCH --mem=16G
#SBATCH --time=00:05:00
#SBATCH --mail-type=NONE
#SBATCH --output=job_%x_%A.out

module load apptainer
export APPTAINER_CACHEDIR=/wclustre/ada/cache
apptainer exec --nv --home=/work1/ada image.sif python -u train.py
