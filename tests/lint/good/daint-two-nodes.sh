#!/bin/bash -l
#SBATCH --account=g100
#SBATCH --time=00:10:00
#SBATCH --nodes=2
#SBATCH --ntasks-per-core=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=12
#SBATCH --constraint=gpu

module load daint-gpu PyTorch
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
export NCCL_DEBUG=INFO
export NCCL_IB_HCA=ipogif0
export NCCL_IB_CUDA_SUPPORT=1
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK

srun python -u train.py > "$SLURM_JOBID.out" 2> "$SLURM_JOBID.err"
