"""For each rule one script that trips it and one that nearly does. What begins with #! stands as it is."""

_HEAD = "#!/bin/bash\n#SBATCH --time=1:00:00\n#SBATCH --mem=4G\n"
_TRAIN = "srun python -u train.py\n"

# code -> (trips it, near miss)
EXAMPLES: dict[str, tuple[str | bytes, str | bytes]] = {
    "S101": (b"", b"#!/bin/bash\n"),
    "S102": (b"#SBATCH --nodes=1\nhostname\n", b"#! /bin/sh\nhostname\n"),
    "S103": (b"#!/bin/bash\r\nhostname\r\n", b"#!/bin/bash\nprintf 'a\\r\\n'\n"),
    "S104": (b"#!/bin/bash\nhost\0name\n", b"#!/bin/bash\nprintf '\\0'\n"),
    "S105": (
        "#SBATCH --nodes=1\n<<<<<<< HEAD\nhostname\n=======\ndate\n>>>>>>> other\n",
        "cat <<<hello\necho =======\ncat <<'END'\n=======\nEND\n",
    ),
    "S106": ("#SLURM_NTASKS is set by Slurm\nhostname\n", "# SLURM_NTASKS is set by Slurm\nhostname\n"),
    "S107": ("hostname\n#PBS -N x\n", "hostname\n# PBS -N x\n"),
    "S108": ("set -e\n#SBATCH --nodes=2\n", "cat > job.sh <<END\n#SBATCH --nodes=2\nEND\n"),
    "S109": ("# SBATCH --nodes=2\nhostname\n", "# SBATCH lines come first\nhostname\n"),
    "S110": ("##SBATCH --nodes=2\nhostname\n", "## SBATCH lines come first\nhostname\n"),
    "S111": ("#SBATCH --nodes=1 #SBATCH --ntasks=1\n", "#SBATCH --nodes=1 # one #SBATCH line is enough\n"),
    "S112": ("#SBATCH —nodes=2\n", "#SBATCH --comment=well # an aside — with a dash\n"),
    "S113": ("#SBATCH --output=$HOME/%j.out\n", "#SBATCH --output=%x-%j.out\necho $HOME\n"),
    "S114": ("#SBATCH --output=~/%j.out\n", "#SBATCH --output=/data~/%j.out\n"),
    "S115": ("#SBATCH --account=<project>\n", "#SBATCH --job-name='my job'\n"),
    "S116": ("#SBATCH --job-name='x\n", "#SBATCH --job-name='x y'\n"),
    "S117": ("#SBATCH --nodes=1\n#SBATCH -N 2\n", "#SBATCH --nodes=1\n##SBATCH --nodes=2\n"),
    "S118": ("#SBATCH --ntaks-per-node=4\n", "#SBATCH --tasks-per-node=4\n"),
    "S119": ("#SBATCH --container-image=x.sqsh\n", "#SBATCH --container=bundle\n"),
    "S120": ("#SBATCH --tres-per-task=gres/gpu:1\n", "#SBATCH --gpus-per-task=1 -n 1\n"),
    "S121": ("#SBATCH -mem-per-cpu=4G\n", "#SBATCH -m block\n"),
    "S122": ("#SBATCH --mail=x@y.z\n", "#SBATCH --mail-t=END\n"),
    "S123": ("#SBATCH --qos\n#SBATCH --nodes=1\n", "#SBATCH --qos normal\n"),
    "S124": ("#SBATCH --requeue=yes\n", "#SBATCH --exclusive=user\n"),
    "S125": ("#SBATCH --nodes=1 2\n", "#SBATCH --nodes=1 # 2\n"),
    "S126": ("#!/bin/bash\n#SBATCH --time=24h\n", "#!/bin/bash\n#SBATCH --time=24:00:00\n"),
    "S127": ("#SBATCH -p=gpu\n", "#SBATCH --partition=gpu\n"),
    "S128": ("#!/bin/bash\n#SBATCH --mem=1.5G\n", "#!/bin/bash\n#SBATCH --mem=1536M\n"),
    "S129": ("#SBATCH --part=gpu\n", "#SBATCH --partition=gpu\n"),
    "S130": ("#SBATCH --mem-per-cpu=4G\n", "#SBATCH --mem=8G\n"),
    "S131": ("#SBATCH --gres=gpus:2\n", "#SBATCH --gres=gpu:2\n"),
    "S132": ("#SBATCH --array=SRR01,SRR02\n", "#SBATCH --array=1,3,5-7:2%2\n"),
    "S140": ("#!/bin/bash\n#SBATCH --mem=4G\nhostname\n", "#!/bin/bash\n#SBATCH -t 5 --mem=4G\nhostname\n"),
    "S141": ("#!/bin/bash\n#SBATCH --time=72\n", "#!/bin/bash\n#SBATCH --time=1:12:00\n"),
    "S142": ("#!/bin/bash\n#SBATCH --time=24:00\n", "#!/bin/bash\n#SBATCH --time=1-00:00\n"),
    "S143": (
        "#!/bin/bash\n#SBATCH --time=3-00:00:00\n" + _TRAIN,
        "#!/bin/bash\n#SBATCH --time=3-00:00:00\nsrun python train.py --resume\n",
    ),
    "S144": ("#!/bin/bash\n#SBATCH --time=1:00:00\n", "#!/bin/bash\n#SBATCH --time=1:00:00 --exclusive\n"),
    "S145": ("#SBATCH --gres=gpu:2 --gpus-per-node=2\n", "#SBATCH --gpus-per-node=2 --gpu-bind=none\n"),
    "S146": ("#SBATCH --gres=gpu:a100:1,gpu:v100:1\n", "#SBATCH --gres=gpu:a100:1,gpu:a100:1\n"),
    "S147": ("#SBATCH --gres=gpu:1\n", "#SBATCH --gres=gpu:1 --cpus-per-task=8\n"),
    "S148": ("#SBATCH --nodelist=node7\n", "#SBATCH --nodes=1\n"),
    "S149": ("#SBATCH --mail-user=ada@uni.edu\n", "#SBATCH --mail-user=ada\n"),
    "S150": ("#SBATCH --mail-type=END,FAILED\n", "#SBATCH --mail-type=END,FAIL\n"),
    "S151": (_TRAIN, "#SBATCH --no-requeue\n" + _TRAIN),
    "S160": ("#SBATCH --output=train.log\n", "#SBATCH --output=train.log --open-mode=append\n"),
    "S161": ("#SBATCH --array=1-4 --output=train-%A.log\n", "#SBATCH --array=1-4 --output=train-%A_%a.log\n"),
    "S162": ("#SBATCH --output=train-J.out\n", "#SBATCH --output=train-J1-%j.out\n"),
    "S163": ("#SBATCH --output=logs/%j.out\n", "#SBATCH --output=/data/logs/%j.out\n"),
    "S164": ("#SBATCH --output=logs/%j.out\nmkdir -p logs\n", "#SBATCH --output=logs/%j.out\nmkdir -p results\n"),
    "S165": (
        "#SBATCH --output=train-%j.out\ntail slurm-$SLURM_JOB_ID.out\n",
        "#SBATCH --output=slurm-%j.out\ntail slurm-$SLURM_JOB_ID.out\n",
    ),
    "S201": ("cd data\nls\npython -u train.py\n", "set -euo pipefail\ncd data\nls\npython -u train.py\n"),
    "S202": ("python -u train.py\necho done\n", "echo begin\npython -u train.py\n"),
    "S203": ("python -u train.py &\necho started\n", "python -u train.py &\nwait\n"),
    "S204": ("LR = 0.1\npython -u train.py\n", 'LR=0.1\n[ "$LR" = 0.1 ] && python -u train.py\n'),
    "S205": ("python train.py\n", "export PYTHONUNBUFFERED=1\npython train.py\n"),
    "S206": ("cd /home/ada/projects/train\n", "cd $HOME/projects/train\n"),
    "S301": ("conda activate torch\n", 'eval "$(conda shell.bash hook)"\nconda activate torch\n'),
    "S302": ("module load anaconda3\nconda activate torch\n", "module load anaconda3\nsource torch/bin/activate\n"),
    "S303": ("source ~/.bashrc\nconda activate torch\n", "source ~/.bashrc\nsource torch/bin/activate\n"),
    "S304": (
        "set -euo pipefail\nsource conda.sh\nconda activate torch\n",
        "set -euo pipefail\nsource conda.sh\nset +u\nconda activate torch\nset -u\n",
    ),
    "S305": ("conda init bash\n", "conda info\n"),
    "S306": ("source activate torch\n", "source torch/bin/activate\n"),
    "S307": ("pip install --user torch\n", "pip install --no-index torch\n"),
    "S308": (
        "#SBATCH --gres=gpu:1 -c 4\napptainer exec image.sif python train.py\n",
        "#SBATCH --gres=gpu:1 -c 4\napptainer exec --nv image.sif python train.py\n",
    ),
    "S309": ("apptainer pull docker://python\n", "export APPTAINER_CACHEDIR=/data/c\napptainer pull docker://python\n"),
    "S401": ("#SBATCH --nodes=2\npython -u train.py\n", "#SBATCH --nodes=2\nsrun python -u train.py\n"),
    "S402": ("#SBATCH --ntasks=4\npython -u train.py\n", "#SBATCH --ntasks=4\nsrun python -u train.py\n"),
    "S403": (
        "#SBATCH --gres=gpu:4 -c 8\ntorchrun --nproc_per_node=2 train.py\n",
        "#SBATCH --gres=gpu:4 -c 8\ntorchrun --nproc_per_node=4 train.py\n",
    ),
    "S404": (
        "#SBATCH --gres=gpu:4 -c 8\npython -u train.py\n",
        "#SBATCH --gres=gpu:4 -c 8\npython -u train.py --strategy ddp\n",
    ),
    "S405": (
        "#SBATCH --gres=gpu:4 -c 8\nsrun -c 8 python -u train.py\n",
        "#SBATCH --gres=gpu:4 -c 8 --ntasks-per-node=4\nsrun -c 8 python -u train.py\n",
    ),
    "S406": ("export MASTER_PORT=29500\n", "export MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))\n"),
    "S407": (
        "#SBATCH --nodes=2\nexport MASTER_ADDR=localhost\n" + _TRAIN,
        "#SBATCH --nodes=1\nexport MASTER_ADDR=localhost\n" + _TRAIN,
    ),
    "S408": ("#SBATCH -c 8\n" + _TRAIN, "#SBATCH -c 8\nsrun -c $SLURM_CPUS_PER_TASK python -u train.py\n"),
    "S409": (
        "horovodrun -np 4 python train.py --num_workers 4\n",
        "horovodrun --gloo -np 4 python train.py --num_workers 4\n",
    ),
    "S410": (
        "#SBATCH --gres=gpu:2 -c 4 --ntasks-per-node=2\nsrun -c 4 torchrun --nproc_per_node=2 train.py\n",
        "#SBATCH --gres=gpu:2 -c 4 --ntasks-per-node=2\nsrun -c 4 -n 1 torchrun --nproc_per_node=2 train.py\n",
    ),
    "S501": ("python -m torch.distributed.launch train.py\n", "python -m torch.distributed.run train.py\n"),
    "S502": ("export NCCL_BLOCKING_WAIT=1\n", "export TORCH_NCCL_BLOCKING_WAIT=1\n"),
    "S503": ("export TORCH_NCCL_ASYNC_HANDLING=1\n", "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1\n"),
    "S504": ("export NCCL_IB_DISABLE=1\n", "export NCCL_IB_DISABLE=0\n"),
    "S505": ("CUDA_LAUNCH_BLOCKING=1 python -u train.py\n", "CUDA_LAUNCH_BLOCKING=0 python -u train.py\n"),
    "S506": (
        "#SBATCH -c 6\npython -u train.py --num_workers 14\n",
        "#SBATCH -c 6\npython -u train.py --num_workers 6\n",
    ),
    "S507": ("export CUDA_VISIBLE_DEVICES=0,1\n", "echo $CUDA_VISIBLE_DEVICES\n"),
    "S601": ("wget https://data.org/set.tar\n", "tar xf set.tar\n"),
    "S602": ("wandb login\n", "export WANDB_MODE=offline\nwandb --version\n"),
    "S603": (
        "export HF_TOKEN=hf_" + "aB3" * 11 + "\n",
        "export HF_TOKEN=$(cat ~/.token)\n",
    ),
}
_FOUR = "#SBATCH --gres=gpu:4 -c 8\n"
_LOGS = "#SBATCH --output=logs/%j.out\n"
# What people met later: (code, trips it, near miss).
MORE: tuple[tuple[str, str, str], ...] = (
    ("S109", "#SBTACH --nodes=2\nhostname\n", "#SEARCH --nodes=2\nhostname\n"),
    ("S109", "#SBACTH -N 2\nhostname\n", "# BATCH -size matters\nhostname\n"),
    ("S109", "#SBATH --nodes=2\nhostname\n", "#PATCH --nodes=2\nhostname\n"),
    ("S109", "# sbatch --nodes=2\nhostname\n", "#   sbatch --array=<list> test_job.sh\nhostname\n"),
    ("S109", "#sbatch --nodes=2\nhostname\n", "# sbatch --test-only\nhostname\n"),
    ("S112", "#!/bin/sh –l\nhostname\n", "#!/bin/sh -l\nhostname\n"),
    ("S115", "#SBATCH --partition=\n", "#SBATCH --constraint=\n"),
    ("S117", "#SBATCH --mail-user=a\n#SBATCH --mail-user=b\n", "#SBATCH --mail-type=END\n#SBATCH --mail-type=FAIL\n"),
    ("S121", "#SBATCH -tasks-per-node=5\n", "#SBATCH --tasks-per-node=5\n"),
    ("S125", "#SBATCH --container-writable x\n", "#SBATCH --container-image x.sqsh\n"),
    (
        "S130",
        "#SBATCH --gpus=4 --gpus-per-task=4 --nodes=1 --ntasks-per-node=2\n",
        "#SBATCH --gpus=8 --gpus-per-task=4 --nodes=1 --ntasks-per-node=2\n",
    ),
    ("S130", "#SBATCH --gpus-per-task=1 --nodes=1-2\n", "#SBATCH --gpus-per-task=1 --nodes=1\n"),
    ("S130", "#SBATCH --gres=gpu:4 --gpus-per-task=3 -n 1\n", "#SBATCH --gres=gpu:4 --gpus-per-task=2 -n 2\n"),
    *(("S132", f"#SBATCH --array={bad}\n", "#SBATCH --array=[1-3],5%2\n") for bad in ("1-", "5-2", "1:3", "1-3:0")),
    ("S150", "#SBATCH --mail-type=ARRAY_TASKS,FAILED\n", "#SBATCH --mail-type=ARRAY_TASKS,FAIL\n"),
    ("S163", "#SBATCH --output=/data/%j/log.out\n", "#SBATCH --output=/data/%u/log-%j.out\n"),
    (
        "S164",
        _LOGS + "[ -d logs ] || mkdir -p logs\n",
        _LOGS + 'if [ -z "$SLURM_JOB_ID" ]; then\n  mkdir -p logs\n  sbatch "$0"\n  exit\nfi\nhostname\n',
    ),
    (
        "S165",
        "#SBATCH --output=x-%j.out\n# look into slurm-%j.out\nhostname\n",
        "# Default is slurm-%j.out\n#SBATCH --output=x-%j.out\nhostname\n",
    ),
    ("S202", "python -u train.py\necho done\nexit\n", "python -u train.py\nexit\n"),
    ("S202", "python -u train.py\npwd\n", "python -u train.py\n# pwd\n"),
    ("S202", "python -u train.py\nexit 0\n", "python -u train.py || exit 1\nexit 0\n"),
    (
        "S404",
        _FOUR + "source /opt/conda/etc/profile.d/conda.sh\n./env/bin/python -u train.py\n",
        _FOUR + "source launch.sh\n./env/bin/python -u train.py\n",
    ),
    (
        "S404",
        _FOUR + "if [ -f last ]; then python -u train.py --resume; else python -u train.py; fi\n",
        _FOUR + "python -u train.py 0 &\npython -u train.py 1 &\nwait\n",
    ),
    (
        "S405",
        _FOUR + "srun -c 8 python3 -m trainer\n",
        _FOUR + "srun -c 8 python3 -m torch.distributed.run --nproc_per_node=4 train.py\n",
    ),
    (
        "S406",
        "RDZV_PORT=29400\ntorchrun --rdzv_endpoint=$HOST:$RDZV_PORT train.py\n",
        "DB_PORT=29400\ntorchrun train.py\n",
    ),
    (
        "S408",
        "#SBATCH -c 8\nsrun --cpu-bind=cores python -u train.py\n",
        "#SBATCH -c 8\nsrun --cpu-bind=mask_cpu:0xff python -u train.py\n",
    ),
)
# How loud: an error is what certainly fails. (code, script, how)
LOUDNESS: tuple[tuple[str, str, str], ...] = (
    ("S109", "# sbatch --nodes=2\nhostname\n", "warning"),
    ("S109", "#SBTACH --nodes=2\nhostname\n", "error"),
    ("S115", "#SBATCH --partition=\n", "error"),
    ("S115", "#SBATCH --account=\n", "warning"),
    ("S119", "#SBATCH --container-image x\n#SBATCH --container-mounts=a:b\n", "advice"),
    ("S144", "#!/bin/bash\n#SBATCH --time=1:00:00\n", "advice"),
    ("S163", "#SBATCH --output=logs/%j/log.out\n", "error"),
    ("S163", "#SBATCH --output=logs/%j.out\n", "warning"),
    ("S165", "#SBATCH --output=x-%j.out\n# look into slurm-%j.out\nhostname\n", "advice"),
    ("S402", "#SBATCH --ntasks=4\npython -u train.py\n", "advice"),
    ("S402", "#SBATCH --ntasks=4 --gres=gpu:4 -c 2\npython -u train.py\n", "warning"),
)
# Rules that only speak for a centre: code -> (trips it, near miss) at the one that test_rules.py makes for it.
AT_A_CENTRE: dict[str, tuple[str, str]] = {
    "S310": ("module load gcc\n", "python -u train.py\n"),
    "S311": ("module load PyTorch\n", "module load Stages/2025 PyTorch\n"),
    "S604": ("#SBATCH --chdir=/home/ada\nhostname\n", "#SBATCH --chdir=/data/ada\nhostname\n"),
}


def make_script(example: str | bytes) -> bytes:
    if isinstance(example, bytes):
        return example
    return (example if example.startswith("#!") else _HEAD + example).encode()
