"""The forty ways in which trainings fail on Slurm, each by the words a person sees: which diagnosis comes first."""

from dataclasses import replace

import pytest

from tests.builders import PLAN
from tests.diagnoses.ends import FAILED, RUNNING, TIMED_OUT, after, refused, waits
from windlass.core.ending.symptoms import JobFacts, Symptoms, WaitingKind
from windlass.core.events import Event
from windlass.core.gauges.series import NodeGauges
from windlass.core.jobs import JobState
from windlass.diagnoses import diagnose

SUBMISSION = "sbatch: error: Batch job submission failed: "
POLICY = SUBMISSION + "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
NODE = SUBMISSION + "Requested node configuration is not available"
POOL = (
    "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='{}', port=443): Max retries exceeded with url: /x"
)
WATCHDOG = (
    "[rank3]:[E1119 13:21:12.512781555 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout:"
    " WorkNCCL(SeqNum=1, OpType=BROADCAST, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800000 milliseconds"
    " before timing out."
)
BUS_ERROR = (
    "RuntimeError: DataLoader worker (pid 46794) is killed by signal: Bus error. It is possible that dataloader's"
    " workers are out of shared memory. Please try to raise your shared memory limit."
)
LISTEN = (
    "RuntimeError: The server socket has failed to listen on any local network address. port: 12341, useIpv6: 0,"
    " code: -98, name: EADDRINUSE, message: address already in use"
)
NO_SRUN = (
    "The 'srun' command is available on your system but is not used. HINT: If your intention is to run Lightning on"
    " SLURM, prepend your python command with 'srun'"
)
SIF = (
    "FATAL:   While making image from oci registry: error fetching image to cache: while building SIF from layers:"
    " conveyor failed to get: writing blob: write /tmp/bundle-temp-2094984273/oci-put-blob1495208066:"
    " no space left on device"
)
LOADER = (
    "UserWarning: This DataLoader will create 10 worker processes in total. Our suggested max number of worker in"
    " current system is 1"
)
GPUS = "MisconfigurationException('You requested gpu: [0, 1, 2, 3, 4, 5, 6, 7]\n But your machine only has: [0]"
OOM_EVENTS = (
    "slurmstepd: error: Detected 1 oom_kill event in StepId=11300781.0. Some of the step tasks have been OOM Killed.",
    "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=37205392.0. Some of your processes may have been killed"
    " by the cgroup out-of-memory handler.",
    "RuntimeError: DataLoader worker (pid 164244) is killed by signal: Killed.",
)
TIME_LIMIT = "slurmstepd: error: *** STEP 55595933.0 ON m-3017 CANCELLED AT 2025-01-10T15:27:25 DUE TO TIME LIMIT ***"

# (which of the forty, the code that must come first, what was left)
CASES: list[tuple[str, str, Symptoms]] = [
    ("F01", "D104", refused(SUBMISSION + "Invalid account or account/partition combination specified")),
    ("F02", "D105", refused("sbatch: error: QOSMaxSubmitJobPerUserLimit", POLICY)),
    ("F02", "D105", refused(POLICY)),
    ("F03", "D107", refused(SUBMISSION + "Requested time limit is invalid (missing or exceeds some limit)")),
    ("F03", "D107", refused("sbatch: error: QOSMaxWallDurationPerJobLimit", POLICY)),
    ("F04", "D108", refused(NODE)),
    ("F04", "D108", refused(SUBMISSION + "Invalid generic resource (gres) specification")),
    ("F04", "D108", refused(SUBMISSION + "Requested GRES option unsupported by configured SelectType plugin")),
    (
        "F04",
        "D108",
        refused(
            "sbatch: error: Cannot find GPU specification, you may not submit a job not requesting GPUs in a GPU "
            "partition"
        ),
    ),
    ("F05", "D109", refused(SUBMISSION + "Invalid job array specification")),
    ("F06", "D106", refused("sbatch: error: Memory specification can not be satisfied", NODE)),
    (
        "F06",
        "D106",
        after(
            FAILED,
            "srun: fatal: SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.",
        ),
    ),
    (
        "F06",
        "D106",
        after(
            FAILED,
            "srun: error: Unable to create step for job 29986033: Memory required by task is not available",
        ),
    ),
    ("F07", "D110", refused(SUBMISSION + "Socket timed out on send/recv operation")),
    ("F08", "D111", refused("sbatch: error: Batch script contains DOS line breaks (\\r\\n)")),
    (
        "F09",
        "D501",
        after(
            FAILED,
            "slurmstepd: error: couldn't chdir to '/home/me/run': No such file or directory: going to /tmp instead",
        ),
    ),
    ("F09", "D501", Symptoms(record=FAILED, job=JobFacts(state=JobState.FAILED, signal=53))),
    ("F10", "D003", waits("ReqNodeNotAvail, Reserved for maintenance", WaitingKind.NODES)),
    ("F11", "D004", waits("AssocGrpBillingMinutes", WaitingKind.BUDGET)),
    (
        "F12",
        "D203",
        after(
            FAILED,
            "OSError: We couldn't connect to 'https://huggingface.co' to load this file, couldn't find it in the "
            "cached files",
        ),
    ),
    ("F12", "D203", after(FAILED, POOL.format("huggingface.co"))),
    ("F12", "D203", after(FAILED, "urllib.error.URLError: <urlopen error [Errno 101] Network is unreachable>")),
    ("F12", "D203", after(FAILED, "socket.gaierror: [Errno -3] Temporary failure in name resolution")),
    ("F13", "D606", after(RUNNING, "wandb: Network error (ConnectTimeout), entering retry loop.")),
    ("F13", "D606", after(FAILED, "wandb: ERROR Run initialization has timed out after 90.0 sec.")),
    ("F13", "D606", after(FAILED, POOL.format("api.wandb.ai"))),
    (
        "F14",
        "D601",
        after(
            FAILED,
            "CommandNotFoundError: Your shell has not been properly configured to use 'conda activate'.",
        ),
    ),
    ("F14", "D601", after(FAILED, "CondaError: Run 'conda init' before 'conda activate'")),
    ("F14", "D205", after(FAILED, "ModuleNotFoundError: No module named 'torch'")),
    ("F15", "D204", after(FAILED, "OSError: [Errno 122] Disk quota exceeded")),
    ("F16", "D605", after(FAILED, SIF)),
    (
        "F17",
        "D207",
        after(FAILED, "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
    ),
    ("F17", "D207", after(FAILED, "    PyTorch no longer supports this GPU because it is too old.")),
    ("F18", "D209", after(FAILED, "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).")),
    (
        "F19",
        "D604",
        after(
            FAILED,
            "ImportError: /lib64/libm.so.6: version 'GLIBC_2.27' not found (required by "
            "torch/lib/../../../../libcurand.so.10)",
        ),
    ),
    ("F20", "D215", after(RUNNING, LOADER)),
    ("F21", "D210", after(FAILED, "RuntimeError: CUDA error: invalid device ordinal")),
    ("F21", "D210", after(FAILED, GPUS)),
    ("F22", "D404", replace(after(RUNNING, "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8"), now=9999.0)),
    ("F22", "D404", after(RUNNING, NO_SRUN)),
    ("F23", "D401", after(FAILED, LISTEN)),
    (
        "F23",
        "D401",
        after(
            FAILED,
            "[W socket.cpp:436] [c10d] The server socket has failed to bind to [::]:12211 (errno: 98 - Address "
            "already in use).",
        ),
    ),
    (
        "F24",
        "D402",
        after(
            FAILED,
            "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to "
            "connect to (node017, 29500).",
        ),
    ),
    ("F24", "D402", after(FAILED, "socket.gaierror: [Errno -2] Name or service not known")),
    ("F25", "D407", after(FAILED, WATCHDOG)),
    ("F25", "D407", after(FAILED, "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress")),
    *(("F26", "D201", after(FAILED, text)) for text in OOM_EVENTS),
    ("F27", "D208", after(FAILED, BUS_ERROR)),
    (
        "F27",
        "D208",
        after(
            FAILED,
            "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory "
            "(shm).",
        ),
    ),
    (
        "F28",
        "D304",
        replace(after(TIMED_OUT, TIME_LIMIT), events=(Event(kind="stop_requested", time=1, text="notice"),)),
    ),
    ("F28", "D301", after(TIMED_OUT, TIME_LIMIT)),
    (
        "F29",
        "D502",
        after(FAILED, "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory"),
    ),
    (
        "F29",
        "D502",
        after(FAILED, "RuntimeError: unexpected EOF, expected 8 more bytes. The file might be corrupted."),
    ),
    (
        "F30",
        "D213",
        Symptoms(record=RUNNING, gauges=(NodeGauges(node="n1", seconds=900, gpu_utilisation=1.0, gpus=4),)),
    ),
    ("F31", "D503", after(FAILED, "OSError: [Errno 38] Function not implemented")),
    ("F31", "D503", after(FAILED, "OSError: [Errno 37] No locks available")),
    ("F32", "D504", after(FAILED, "sqlite3.OperationalError: database is locked")),
    ("F32", "D504", after(FAILED, "(sqlite3.DatabaseError) database disk image is malformed")),
    (
        "F33",
        "D403",
        after(RUNNING, "srun: Job 748536 step creation temporarily disabled, retrying (Requested nodes are busy)"),
    ),
    ("F34", "D701", Symptoms(record=RUNNING, trouble="Slurm accounting storage is disabled")),
    (
        "F34",
        "D701",
        Symptoms(record=RUNNING, trouble="sacct: error: Problem talking to the database: Connection refused"),
    ),
    (
        "F35",
        "D702",
        Symptoms(
            record=RUNNING,
            trouble="mux_client_request_session: session request failed: Session open refused by peer",
        ),
    ),
    ("F35", "D702", Symptoms(record=RUNNING, trouble="kex_exchange_identification: Connection closed by remote host")),
    (
        "F35",
        "D702",
        Symptoms(record=RUNNING, trouble="ssh_exchange_identification: read: Connection reset by peer"),
    ),
    ("F36", "D703", Symptoms(record=RUNNING, trouble="bash: line 1: salloc: command not found")),
    ("F36", "D703", after(replace(FAILED, exit_code=127), "sh: sbatch: command not found")),
    ("F37", "D608", after(FAILED, "/bin/sh: 1: scontrol: not found")),
    ("F37", "D608", after(FAILED, "FileNotFoundError: [Errno 2] No such file or directory: 'scontrol'")),
    ("F38", "D405", after(FAILED, 'The application appears to have been direct launched using "srun",')),
    (
        "F39",
        "D406",
        after(
            FAILED, "misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory"
        ),
    ),
    ("F40", "D305", Symptoms(record=RUNNING, events=(Event(kind="link_started", restart=2),))),
]


def test_all_forty_are_here() -> None:
    assert sorted({name for name, _, _ in CASES}) == [f"F{number:02}" for number in range(1, 41)]


@pytest.mark.parametrize(("name", "code", "symptoms"), CASES)
def test_the_words_are_known(name: str, code: str, symptoms: Symptoms) -> None:
    assert diagnose(symptoms)[0].code == code


NORMAL = (
    "Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/4",
    "distributed_backend=nccl",
    "All distributed processes registered. Starting with 4 processes",
    "NCCL INFO Bootstrap : Using ib0:10.0.0.1<0>",
    "NCCL version 2.21.5+cuda12.4",
    "wandb: Tracking run with wandb version 0.18.0; offline",
    "Downloading https://huggingface.co/bert: 100%",
    "slurmstepd: info: task/cgroup: memory limit is 64 GB",
    "INFO: Mounting image with FUSE. /tmp/rootfs-1",
    "/usr/lib/python3.11/random.py:12: UserWarning: TypedStorage is deprecated",
    "GPU memory used: 30 GB of 40 GB; out of memory errors so far: 0",
    "database is locked by nobody; checked 3 quotas",
)


@pytest.mark.parametrize("line", NORMAL)
def test_a_normal_line_raises_no_alarm(line: str) -> None:
    running = replace(after(RUNNING, line, "epoch 2: loss 0.3"), now=9999.0, plan=replace(PLAN, tasks_per_node=4))

    assert diagnose(running) == ()
    assert diagnose(after(FAILED, line, "epoch 2: loss 0.3"))[0].code == "D900"
