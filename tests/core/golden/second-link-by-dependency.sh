#!/bin/bash
# Run digits-k3f9w at alpha: link 2 of 4, a job of at most 0-20:05:00.
# Written by Windlass from plan.json beside it.

# who pays, and where it runs
#SBATCH --job-name=digits-k3f9w
#SBATCH --account=prof
#SBATCH --partition=gpu
#SBATCH --qos=normal

# what it needs
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=64
#SBATCH --gres=gpu:4
#SBATCH --mem=460800M

# how long, and how it learns that the end is near
#SBATCH --time=0-20:05:00
#SBATCH --signal=B:USR1@300
#SBATCH --no-requeue

# where its words go: appended, so that nothing of an earlier start is lost
#SBATCH --chdir=/scratch/alice/windlass/runs/digits-k3f9w/code
#SBATCH --output=/scratch/alice/windlass/runs/digits-k3f9w/logs/%j.out
#SBATCH --open-mode=append

# how Windlass knows it again
#SBATCH --comment=windlass:digits-k3f9w:2

set -euo pipefail
windlass_python=$(command -v -- python3 || true)  # before any module can change it
export WINDLASS_RUN_ID=digits-k3f9w WINDLASS_SITE=alpha
export WINDLASS_RUN_DIR=/scratch/alice/windlass/runs/digits-k3f9w
export WINDLASS_LINK=2 WINDLASS_LINKS=4 WINDLASS_LINK_S=72300 WINDLASS_NOTICE_S=300
export WINDLASS_SUBMISSION=2 WINDLASS_CHAIN=dependency WINDLASS_CHAIN_FIRST=1
export WINDLASS_TOKEN=windlass:digits-k3f9w:2
export WINDLASS_CHECKPOINT_DIR=/scratch/alice/windlass/runs/digits-k3f9w/code/checkpoints

# a python3 of pyenv's is a script that puts its own folder before that of the environment
[ -z "$windlass_python" ] ||
  windlass_python=$("$windlass_python" -I -S -c "import sys; print(sys.executable)" || echo "$windlass_python")
# the software; modules and activation scripts use unset variables freely
set +u
module load CUDA/12
module load PyTorch/2.3
source env/bin/activate
set -u

# since Slurm 22.05 srun does not take over --cpus-per-task by itself
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-64}
export OMP_NUM_THREADS=16
# below the ephemeral range, and another for another job; where it is taken, the agent takes the next
export MASTER_PORT="$((10001 + 16 * (SLURM_JOB_ID % 1250)))"

# The agent takes this link, passes signals on, watches the node, and exits as the command does.
if [ -n "$windlass_python" ]; then
  exec "$windlass_python" -I /scratch/alice/windlass/runs/digits-k3f9w/windlass_job.pyz agent --notice-signal USR1 --stop-signal USR1 --gpus=4 --restart --network-test --replace-nodes -- \
    srun --kill-on-bad-exit=1 --gpu-bind=none bash /scratch/alice/windlass/runs/digits-k3f9w/task.sh python3 /scratch/alice/windlass/runs/digits-k3f9w/windlass_job.pyz rank-env USR1 bash -c 'exec python -m torch.distributed.run --nnodes=2 --nproc_per_node=4 --node_rank="$SLURM_NODEID" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" train.py --lr 0.1'
fi
echo "windlass: no python3 on $(hostname): running without the agent" >&2
exec srun --kill-on-bad-exit=1 --gpu-bind=none bash /scratch/alice/windlass/runs/digits-k3f9w/task.sh python3 /scratch/alice/windlass/runs/digits-k3f9w/windlass_job.pyz rank-env USR1 bash -c 'exec python -m torch.distributed.run --nnodes=2 --nproc_per_node=4 --node_rank="$SLURM_NODEID" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" train.py --lr 0.1'
