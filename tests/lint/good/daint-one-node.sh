#!/bin/bash -l
#SBATCH --account=g100
#SBATCH --time=00:10:00
#SBATCH --nodes=1
#SBATCH --ntasks-per-core=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=12
#SBATCH --constraint=gpu

module load daint-gpu PyTorch
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
srun -c 12 python -u train.py --num_workers 4
