#!/bin/bash -l
# Run digits-k3f9w at alpha: one job of at most 0-01:00:00.
# Written by Windlass from plan.json beside it.

# who pays, and where it runs
#SBATCH --job-name=digits-k3f9w
#SBATCH --partition=gpu

# what it needs
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --gres=gpu:4
#SBATCH --mem=460800M

# how long, and how it learns that the end is near
#SBATCH --time=0-01:00:00
#SBATCH --signal=B:USR1@10
#SBATCH --no-requeue

# where its words go: appended, so that nothing of an earlier start is lost
#SBATCH --chdir=/scratch/ada/windlass/runs/digits-k3f9w/code
#SBATCH --output=/scratch/ada/windlass/runs/digits-k3f9w/logs/%j.out
#SBATCH --open-mode=append

# how Windlass knows it again
#SBATCH --comment=windlass:digits-k3f9w:1

set -euo pipefail
windlass_python=$(command -v -- python3 || true)  # before any module can change it
export WINDLASS_RUN_ID=digits-k3f9w WINDLASS_SITE=alpha
export WINDLASS_RUN_DIR=/scratch/ada/windlass/runs/digits-k3f9w
export WINDLASS_LINK=1 WINDLASS_LINKS=1 WINDLASS_LINK_S=3600 WINDLASS_NOTICE_S=10
export WINDLASS_SUBMISSION=1 WINDLASS_CHAIN=array WINDLASS_CHAIN_FIRST=1
export WINDLASS_TOKEN=windlass:digits-k3f9w:1

# a python3 of pyenv's is a script that puts its own folder before that of the environment
[ -z "$windlass_python" ] ||
  windlass_python=$("$windlass_python" -I -S -c "import sys; print(sys.executable)" || echo "$windlass_python")
# the software; modules and activation scripts use unset variables freely
set +u
module load apptainer
# What of this machine the container sees, under its own names: what is there, and what links lead to.
for windlass_folder in /scratch/ada/windlass "$SLURM_TMPDIR" /project/digits /dev/shm; do
  [ -e "$windlass_folder" ] || continue
  for windlass_folder in "$windlass_folder" "$(readlink -f -- "$windlass_folder")"; do
    case ",$APPTAINER_BIND," in *",$windlass_folder,"*) continue ;; esac
    export APPTAINER_BIND="${APPTAINER_BIND:+$APPTAINER_BIND,}$windlass_folder"
  done
done
export APPTAINER_BIND="$APPTAINER_BIND,"/work1/shared:/shared:ro
mkdir -p /work1/"$USER"
export APPTAINER_HOME=/work1/"$USER"  # in the place of home
export APPTAINER_CONFIGDIR=/work1/"$USER"/.apptainer
export APPTAINER_TMPDIR="${SLURM_TMPDIR:-/tmp}"
unset PYTHONHOME PYTHONPATH LD_PRELOAD  # of modules: not for the Python inside
set -u

# since Slurm 22.05 srun does not take over --cpus-per-task by itself
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-16}
export OMP_NUM_THREADS=16
# below the ephemeral range, and another for another job; where it is taken, the agent takes the next
export MASTER_PORT="$((10001 + 16 * (SLURM_JOB_ID % 1250)))"
export WINDLASS_DATA_DIGITS=/project/digits
export PYTHONNOUSERSITE=1

# The agent takes this link, passes signals on, watches the node, and exits as the command does.
if [ -n "$windlass_python" ]; then
  exec "$windlass_python" -I /scratch/ada/windlass/runs/digits-k3f9w/windlass_job.pyz agent --notice-signal USR1 --stop-signal TERM --gpus=4 --data='{"sets": [{"name": "digits", "stage": "shared", "extract": false}], "memory_bytes": 10000000000, "node_bytes": 100000000000, "scratch": "$SLURM_TMPDIR"}' --network-test --replace-nodes -- \
    srun --kill-on-bad-exit=1 --gpu-bind=none --cpu-bind=cores --distribution=block python3 -I /scratch/ada/windlass/runs/digits-k3f9w/windlass_job.pyz rank-env --stop-signal TERM -- apptainer --quiet exec --nv --pwd /scratch/ada/windlass/runs/digits-k3f9w/code /scratch/ada/windlass/envs/container-e2bc72c8cb/current/image.sif bash -c 'python train.py --data /data'
fi
echo "windlass: no python3 on $(hostname): running without the agent" >&2
exec srun --kill-on-bad-exit=1 --gpu-bind=none --cpu-bind=cores --distribution=block python3 -I /scratch/ada/windlass/runs/digits-k3f9w/windlass_job.pyz rank-env --stop-signal TERM -- apptainer --quiet exec --nv --pwd /scratch/ada/windlass/runs/digits-k3f9w/code /scratch/ada/windlass/envs/container-e2bc72c8cb/current/image.sif bash -c 'python train.py --data /data'
