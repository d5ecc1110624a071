"""D4 to D9: distributed, files, environment, site, the program itself: an end that trips each, and a near miss."""

from dataclasses import replace

from tests.builders import PLAN, SITE
from tests.diagnoses.ends import (
    FAILED,
    PLANNED,
    RUNNING,
    Example,
    after,
)
from windlass.core.ending.symptoms import JobFacts, Symptoms
from windlass.core.facts import Facts
from windlass.core.jobs import JobState
from windlass.core.record import RunState

EXAMPLES: dict[str, Example] = {
    "D401": Example(
        trips=replace(
            after(
                FAILED,
                "[W socket.cpp:436] [c10d] The server socket has failed to bind to [::]:12211 "
                "(errno: 98 - Address already in use).",
            ),
            plan=replace(PLANNED, launcher="srun", tasks_per_node=4, command="torchrun train.py"),
        ),
        passes=after(FAILED, "The server socket has failed to bind to [::]:80 (errno: 13 - Permission denied)."),
        says="the port where the ranks meet was already in use",
        sets=(("run.launcher", '"torchrun"'),),
    ),
    "D402": Example(
        trips=after(
            FAILED,
            "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to "
            "connect to (node017, 29500).",
        ),
        # a download: D203's
        passes=after(FAILED, "socket.gaierror: [Errno -2] Name or service not known", "URLError: <urlopen error x>"),
        says="a rank could not find or reach the node where all meet (MASTER_ADDR)",
    ),
    "D403": Example(
        trips=after(
            RUNNING, "srun: Job 748536 step creation temporarily disabled, retrying (Requested nodes are busy)"
        ),
        passes=after(RUNNING, "srun: job 116 queued and waiting for resources"),
        says="srun waits for what another step of the job holds",
    ),
    "D404": Example(
        trips=replace(
            after(RUNNING, "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8"), now=1200.0, plan=PLANNED
        ),
        passes=replace(
            after(RUNNING, "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8", "Epoch 1: 3 %"), now=1200.0
        ),
        says="Lightning's processes and Slurm's tasks do not match: some wait for others that never come",
        sets=(("run.launcher", '"lightning"'),),
    ),
    "D405": Example(
        trips=after(FAILED, 'The application appears to have been direct launched using "srun",'),
        passes=after(FAILED, "mpi4py was imported"),
        says="the program's MPI and srun do not speak the same language (PMI)",
        sets=(("run.env.SLURM_MPI_TYPE", '"pmix"'),),
    ),
    "D406": Example(
        trips=after(
            FAILED,
            "misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory",
        ),
        passes=after(FAILED, "OSError: [Errno 12] Cannot allocate memory"),
        says="the limit on locked memory is too small for InfiniBand",
        sets=(("run.env.SLURM_PROPAGATE", '"NONE"'),),
    ),
    "D407": Example(
        trips=replace(
            after(
                FAILED,
                "[rank3]:[E1119 13:21:12.512781555 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective "
                "operation timeout: WorkNCCL(SeqNum=1, OpType=BROADCAST, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) "
                "ran for 1800000 milliseconds before timing out.",
            ),
            site=replace(SITE, network=replace(SITE.network, interface="ib0")),
        ),
        passes=after(FAILED, "I1119 ProcessGroupNCCL.cpp: [Rank 3] ProcessGroupNCCL watchdog thread started!"),
        says="the ranks waited for each other in vain (the first one: the network, its interface or a bad node)",
        sets=(("run.env.NCCL_DEBUG", '"INFO"'), ("run.env.NCCL_SOCKET_IFNAME", '"ib0"')),
    ),
    "D408": Example(
        trips=after(FAILED, "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:275, unhandled system"),
        passes=after(FAILED, "NCCL version 2.21.5+cuda12.4"),
        says="NCCL could not talk between the GPUs",
        sets=(("run.env.NCCL_DEBUG", '"INFO"'),),
    ),
    "D409": Example(
        trips=after(FAILED, "srun: error: node2: task 3: Exited with exit code 1"),
        passes=after(FAILED, "srun: error: Unable to allocate resources: Invalid partition name specified"),
        says="one process died, and the others ended because of it",
    ),
    "D410": Example(
        trips=after(
            FAILED,
            "terminate called without an active exception",
            "srun: error: node2: task 1: Aborted (core dumped)",
        ),
        passes=after(FAILED, "terminate called after throwing an instance of 'std::bad_alloc'", "Aborted"),
        says="a process of PyTorch gave up at its very end, when threads of Gloo were still running",
    ),
    "D411": Example(
        trips=after(
            FAILED,
            "Traceback (most recent call last):",
            '  File "train.py", line 9, in <module>',
            "ValueError: Attempt to convert a value (PerReplica:{",
        ),
        passes=after(FAILED, "ValueError: Attempt to convert a value (None) with an unsupported type"),
        says="Keras 3 cannot train with MultiWorkerMirroredStrategy",
        sets=(("run.env.TF_USE_LEGACY_KERAS", '"1"'),),
    ),
    "D412": Example(
        trips=after(
            FAILED,
            "Traceback (most recent call last):",
            '  File "/venv/tensorflow/python/distribute/cluster_resolver/slurm_cluster_resolver.py", line 323, in x',
            "ValueError: range() arg 3 must not be zero",
        ),
        passes=after(FAILED, "ValueError: range() arg 3 must not be zero"),
        says="TensorFlow's SlurmClusterResolver cannot tell which workers there are",
        sets=(("run.launcher", '"tensorflow"'),),
    ),
    "D413": Example(
        trips=replace(
            after(RUNNING, *["rank 0 of 1 on node1"] * 4),
            plan=replace(PLANNED, launcher="srun", nodes=2, processes_per_node=2),
        ),
        passes=replace(
            after(RUNNING, *["rank 0 of 1 on node1"] * 4), plan=replace(PLANNED, nodes=1, processes_per_node=1)
        ),
        says="each of the 4 processes believes to be alone: its MPI and srun do not match",
        sets=(("run.launcher", '"mpi"'),),
    ),
    "D414": Example(
        trips=after(
            replace(FAILED, exit_code=122, reason="node3 is mute; windlass resume digits --exclude node3"),
            "windlass: network test: node3 cannot be reached by the 3 others: connection timed out (10.0.0.3:15234)",
        ),
        passes=after(FAILED, "windlass: network test: 4 nodes talk to each other", "RuntimeError: shapes differ"),
        says="node3 cannot be reached by the 3 others: connection timed out (10.0.0.3:15234)",
    ),
    "D501": Example(
        trips=Symptoms(
            record=replace(FAILED, exit_code=181),
            job=JobFacts(state=JobState.FAILED, signal=53, output="/scratch/logs/x.out"),
        ),
        passes=Symptoms(record=FAILED, job=JobFacts(state=JobState.FAILED, signal=9)),
        says="the node could not open the job's output file or folder",
    ),
    "D502": Example(
        trips=after(
            FAILED, "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory"
        ),
        passes=after(FAILED, "EOFError: said without a file"),
        says="a checkpoint or file it reads was only half written",
    ),
    "D503": Example(
        trips=after(FAILED, "OSError: [Errno 37] No locks available"),
        passes=after(FAILED, "OSError: [Errno 11] Resource temporarily unavailable"),
        says="the file system does not lock files, and the program wants to",
        sets=(("run.env.HF_HUB_OFFLINE", '"1"'), ("run.env.HF_DATASETS_OFFLINE", '"1"')),
    ),
    "D504": Example(
        trips=after(FAILED, "sqlite3.OperationalError: database is locked"),
        passes=after(FAILED, "sqlite3.OperationalError: no such table: runs"),
        says="a SQLite file on a shared file system was locked or damaged",
    ),
    "D505": Example(
        trips=after(FAILED, "OSError: [Errno 116] Stale file handle: 'data/0.tar'"),
        passes=after(FAILED, "FileNotFoundError: [Errno 2] No such file or directory: 'data/0.tar'"),
        says="the site's file system failed for a moment",
    ),
    "D506": Example(
        trips=after(FAILED, "OSError: [Errno 30] Read-only file system: '/home/alice/.cache'"),
        passes=after(FAILED, "PermissionError: [Errno 13] Permission denied: '/home/alice/.cache'"),
        says="the program wrote /home/alice/.cache, which is read-only there",
    ),
    "D507": Example(
        trips=after(FAILED, "OSError: [Errno 24] Too many open files: 'x.png'"),
        passes=after(FAILED, "opened too many open filesets"),
        says="the program had too many files open",
    ),
    "D508": Example(
        trips=Symptoms(record=replace(RUNNING, folder="/scratch/runs/digits-k3f9w"), is_folder_gone=True),
        passes=Symptoms(record=replace(RUNNING, state=RunState.LOST), is_folder_gone=True),
        says="its run folder is gone: /scratch/runs/digits-k3f9w is not there any more; "
        "what it prints and saves there is kept nowhere",
    ),
    "D601": Example(
        trips=replace(
            after(FAILED, "CondaError: Run 'conda init' before 'conda activate'"),
            plan=replace(PLAN, activate=("conda activate torch",)),
        ),
        passes=after(FAILED, "conda 24.1 is active"),
        says="conda is not set up in the job's shell",
        sets=(
            (
                "environment.activate",
                '"source \\"$(conda info --base)/etc/profile.d/conda.sh\\" && conda activate torch"',
            ),
        ),
    ),
    "D602": Example(
        trips=after(FAILED, "Lmod has detected the following error: The following module(s) are unknown:", '"cuda/99"'),
        passes=after(FAILED, "Lmod has detected the following warning: the module torch is old"),
        says="the module cuda/99 could not be loaded",
    ),
    "D603": Example(
        trips=after(FAILED, "setup.sh: line 1: cd: $'/tmp\\r': No such file or directory"),
        passes=after(FAILED, "bash: line 1: /tmp/r: No such file or directory"),
        says="a script has Windows line ends (CR LF)",
    ),
    "D604": Example(
        trips=after(
            FAILED,
            "ImportError: /lib64/libm.so.6: version 'GLIBC_2.27' not found (required by torch/libcurand.so.10)",
        ),
        passes=after(FAILED, "ImportError: libGL.so.1: file too short"),
        says="a package wants GLIBC_2.27, which the node's system lacks",
    ),
    "D605": Example(
        trips=replace(
            after(
                FAILED,
                "FATAL:   While making image from oci registry: error fetching image to cache: while building SIF "
                "from layers: conveyor failed to get: writing blob: write /tmp/bundle-temp-20/oci-put-blob1: "
                "no space left on device",
            ),
            site=replace(SITE, software=replace(SITE.software, container_cache="/scratch/$USER/sif")),
            facts=Facts(user="alice"),
        ),
        passes=after(FAILED, "OSError: [Errno 28] No space left on device"),
        says="the container's image did not fit into the folder where it is unpacked",
        sets=(
            ("run.env.APPTAINER_CACHEDIR", '"/scratch/alice/sif"'),
            ("run.env.APPTAINER_TMPDIR", '"/scratch/alice/sif"'),
        ),
    ),
    "D606": Example(
        trips=after(RUNNING, "wandb: Network error (ConnectTimeout), entering retry loop."),
        passes=after(RUNNING, "wandb: Tracking run with wandb version 0.18.0"),
        says="Weights & Biases tries to reach its server from a node without internet",
        sets=(("run.env.WANDB_MODE", '"offline"'),),
    ),
    "D607": Example(
        trips=after(RUNNING, "Retrying in 8s [Retry 5/5]. huggingface.co"),
        passes=after(RUNNING, "Downloading shards: 40 %"),
        says="it tries a download again and again, and the node has no internet",
        sets=(
            ("run.env.HF_HUB_OFFLINE", '"1"'),
            ("run.env.TRANSFORMERS_OFFLINE", '"1"'),
            ("run.env.HF_DATASETS_OFFLINE", '"1"'),
            ("run.env.HF_EVALUATE_OFFLINE", '"1"'),
        ),
    ),
    "D608": Example(
        trips=after(FAILED, "FileNotFoundError: [Errno 2] No such file or directory: 'scontrol'"),
        passes=after(FAILED, "FileNotFoundError: [Errno 2] No such file or directory: 'control'"),
        says="the program called scontrol, which is not there inside the container or on the node",
    ),
    "D609": Example(
        trips=after(FAILED, "bash: line 1: ./trainer: cannot execute binary file: Exec format error"),
        passes=after(FAILED, "ValueError: format error"),
        says="a program was built for another kind of processor than the node has",
    ),
    "D610": Example(
        trips=after(FAILED, "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory"),
        passes=after(FAILED, "FileNotFoundError: libcudart.so.12"),
        says="the library libcudart.so.12 was not found",
    ),
    "D612": Example(
        trips=after(FAILED, "windlass: the environment was built for Python 3.11, and this job has Python 3.9"),
        passes=after(FAILED, "windlass: the environment is built"),
        says="the environment was built for Python 3.11, and this job has Python 3.9",
    ),
    "D613": Example(
        trips=after(
            FAILED,
            "huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-6)",
            "Cannot access gated repo for url https://huggingface.co/meta/llama/resolve/main/config.json.",
        ),
        passes=after(FAILED, "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://api.x"),
        says="Hugging Face's hub did not let the program in: it is gated, private or not there",
    ),
    "D701": Example(
        trips=Symptoms(record=RUNNING, trouble="sacct: error: Problem talking to the database: Connection refused"),
        passes=after(FAILED, "psycopg2.OperationalError: connection to the database failed"),
        says="Slurm's accounting does not answer, or the site keeps none",
    ),
    "D702": Example(
        trips=Symptoms(record=RUNNING, trouble="kex_exchange_identification: Connection closed by remote host"),
        passes=Symptoms(record=RUNNING, trouble="ssh: Could not resolve hostname login"),
        says="the login node refuses connections: too many in a short time, or an old shared one",
    ),
    "D703": Example(
        trips=Symptoms(record=RUNNING, trouble="bash: line 1: salloc: command not found"),
        passes=after(FAILED, "bash: line 1: sbatchman: command not found"),
        says="Slurm's commands were not found in that shell",
    ),
    "D704": Example(
        trips=Symptoms(record=RUNNING, trouble="squeue: error: Unable to contact slurm controller (connect failure)"),
        passes=after(FAILED, "the controller did not answer"),
        says="Slurm's controller did not answer",
    ),
    "D801": Example(
        trips=after(FAILED, "Traceback (most recent call last):", "NameError: name 'x' is not defined"),
        passes=after(FAILED, "NameError: said without a traceback"),
        says="the program raised NameError: name 'x' is not defined",
    ),
    "D900": Example(
        trips=after(FAILED, "ValueError: 7"),
        passes=after(FAILED, "ModuleNotFoundError: No module named 'torch'"),  # a rule knows it
        says="the command ended with exit code 1, for a reason no rule here knows",
    ),
}
