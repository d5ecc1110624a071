#!/bin/bash -l
# Run digits-k3f9w at narval: one job of at most 0-02:00:00.
# Written by Windlass from plan.json beside it.

# who pays, and where it runs
#SBATCH --job-name=digits-k3f9w
#SBATCH --account=prof

# what it needs
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=12
#SBATCH --gres=gpu:4
#SBATCH --mem=459000M

# how long, and how it learns that the end is near
#SBATCH --time=0-02:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --no-requeue

# where its words go: appended, so that nothing of an earlier start is lost
#SBATCH --chdir=/scratch/alice/narval/runs/digits-k3f9w/code
#SBATCH --output=/scratch/alice/narval/runs/digits-k3f9w/logs/%j.out
#SBATCH --open-mode=append

# how Windlass knows it again
#SBATCH --comment=windlass:digits-k3f9w:1

set -euo pipefail
windlass_python=$(command -v -- python3 || true)  # before any module can change it
export WINDLASS_RUN_ID=digits-k3f9w WINDLASS_SITE=narval
export WINDLASS_RUN_DIR=/scratch/alice/narval/runs/digits-k3f9w
export WINDLASS_LINK=1 WINDLASS_LINKS=1 WINDLASS_LINK_S=7200 WINDLASS_NOTICE_S=120
export WINDLASS_SUBMISSION=1 WINDLASS_CHAIN=array WINDLASS_CHAIN_FIRST=1
export WINDLASS_TOKEN=windlass:digits-k3f9w:1
export WINDLASS_CHECKPOINT_DIR=/scratch/alice/narval/runs/digits-k3f9w/code/ckpt

# since Slurm 22.05 srun does not take over --cpus-per-task by itself
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-12}
export OMP_NUM_THREADS=12
# below the ephemeral range, and another for another job; where it is taken, the agent takes the next
export MASTER_PORT="$((10001 + 16 * (SLURM_JOB_ID % 1250)))"

# The agent takes this link, passes signals on, watches the node, and exits as the command does.
if [ -n "$windlass_python" ]; then
  exec "$windlass_python" -I /scratch/alice/narval/runs/digits-k3f9w/windlass_job.pyz agent --notice-signal USR1 --stop-signal TERM --gpus=4 --restart -- \
    srun --kill-on-bad-exit=1 --gpu-bind=none --cpu-bind=cores --distribution=block bash /scratch/alice/narval/runs/digits-k3f9w/task.sh python3 /scratch/alice/narval/runs/digits-k3f9w/windlass_job.pyz rank-env TERM bash -c 'python train.py'
fi
echo "windlass: no python3 on $(hostname): running without the agent" >&2
exec srun --kill-on-bad-exit=1 --gpu-bind=none --cpu-bind=cores --distribution=block bash /scratch/alice/narval/runs/digits-k3f9w/task.sh python3 /scratch/alice/narval/runs/digits-k3f9w/windlass_job.pyz rank-env TERM bash -c 'python train.py'
