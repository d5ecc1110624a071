#!/bin/bash
# Run digits-k3f9w at alpha: one job of at most 0-01:00:00.
# Written by Windlass from plan.json beside it.

# who pays, and where it runs
#SBATCH --job-name=digits-k3f9w
#SBATCH --partition=cpu

# what it needs
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=7200M

# how long, and how it learns that the end is near
#SBATCH --time=0-01:00:00
#SBATCH --signal=B:USR1@10
#SBATCH --no-requeue

# where its words go: appended, so that nothing of an earlier start is lost
#SBATCH --chdir="/home/o'brien/$x/runs/digits-k3f9w/code/my code/50%"
#SBATCH --output="/home/o'brien/$x/runs/digits-k3f9w/logs/%j.out"
#SBATCH --open-mode=append

# how Windlass knows it again
#SBATCH --comment=windlass:digits-k3f9w:1

set -euo pipefail
windlass_python=$(command -v -- python3 || true)  # before any module can change it
export WINDLASS_RUN_ID=digits-k3f9w WINDLASS_SITE=alpha
export WINDLASS_RUN_DIR='/home/o'"'"'brien/$x/runs/digits-k3f9w'
export WINDLASS_LINK=1 WINDLASS_LINKS=1 WINDLASS_LINK_S=3600 WINDLASS_NOTICE_S=10
export WINDLASS_SUBMISSION=1 WINDLASS_CHAIN=array WINDLASS_CHAIN_FIRST=1
export WINDLASS_TOKEN=windlass:digits-k3f9w:1

# since Slurm 22.05 srun does not take over --cpus-per-task by itself
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-4}
export OMP_NUM_THREADS=4
# below the ephemeral range, and another for another job; where it is taken, the agent takes the next
export MASTER_PORT="$((10001 + 16 * (SLURM_JOB_ID % 1250)))"
export EMPTY=''
export LINES='one
two'$'\r''
#SBATCH --exclusive'
export QUOTES='it'"'"'s "so" `here` $(there) $HOME \'
export UNICODE='grün 漢字'

# The agent takes this link, passes signals on, watches the node, and exits as the command does.
if [ -n "$windlass_python" ]; then
  exec "$windlass_python" -I '/home/o'"'"'brien/$x/runs/digits-k3f9w/windlass_job.pyz' agent --notice-signal USR1 --stop-signal TERM -- \
    bash -c 'echo '"'"'a
b'"'"' "$HOME"'
fi
echo "windlass: no python3 on $(hostname): running without the agent" >&2
exec bash -c 'echo '"'"'a
b'"'"' "$HOME"'
