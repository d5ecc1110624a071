"""D0 to D3: waiting, submission, memory, time and nodes: an end that trips each, and a near miss."""

from dataclasses import replace
from datetime import timedelta

from tests.builders import HOUR, PLAN, RECORD, SITE
from tests.diagnoses.ends import (
    BIG_SITE,
    FAILED,
    PLANNED,
    RUNNING,
    TIMED_OUT,
    Example,
    after,
    refused,
    waits,
)
from windlass.core.ending.symptoms import Symptoms, WaitingKind
from windlass.core.events import Event
from windlass.core.facts import Association, Facts, SeenPartition, SeenQuota
from windlass.core.gauges.series import NodeGauges
from windlass.core.jobs import JobState
from windlass.core.record import RunState


def _asked_after(seconds: float) -> tuple[Event, ...]:
    """Of a link that may last an hour."""
    started = Event(kind="link_started", time=1000, link=1)
    return started, Event(kind="stop_requested", time=1000 + seconds, link=1, text="notice")


_BROKE_DOWN = (
    Event(kind="command_started", link=1),
    Event(kind="command_ended", link=1, signal=11),
    Event(kind="command_restarted", link=1),
    Event(kind="command_ended", link=1, exit_code=3),
    Event(kind="command_restarted", link=1),
)

EXAMPLES: dict[str, Example] = {
    "D001": Example(trips=waits("Priority", WaitingKind.TURN), passes=after(RUNNING), says="told in words"),
    "D002": Example(
        trips=replace(
            waits("PartitionTimeLimit", WaitingKind.NEVER),
            plan=replace(PLANNED, link_time=48 * HOUR),
            facts=Facts(partitions=(SeenPartition(name="gpu", max_time=24 * HOUR),)),
        ),
        passes=waits("Priority", WaitingKind.TURN),
        says="told in words",
        sets=(("resources.link_time", '"1d"'),),
    ),
    "D003": Example(
        trips=waits("ReqNodeNotAvail, Reserved for maintenance", WaitingKind.NODES),
        passes=waits("Resources", WaitingKind.TURN),
        says="told in words",
    ),
    "D004": Example(
        trips=waits("AssocGrpBillingMinutes", WaitingKind.BUDGET),
        passes=waits("AssocMaxWallDurationPerJobLimit", WaitingKind.NEVER),
        says="told in words",
    ),
    "D005": Example(
        trips=waits("JobHeldUser", WaitingKind.HELD), passes=waits("BeginTime", WaitingKind.TURN), says="told in words"
    ),
    "D101": Example(
        trips=after(replace(RECORD, state=RunState.NOT_SUBMITTED, reason="Slurm said no")),
        passes=after(replace(RECORD, state=RunState.SUBMITTING)),
        says="it never reached the queue: Slurm said no",
    ),
    "D102": Example(
        trips=after(replace(RECORD, state=RunState.LOST, reason="Slurm has no record of job 45")),
        passes=after(FAILED),
        says="Slurm has no record of job 45; nothing of it can still be running under that number",
    ),
    "D103": Example(
        trips=after(replace(RECORD, state=RunState.CANCELLED)), passes=after(FAILED), says="it was cancelled"
    ),
    "D104": Example(
        trips=replace(
            refused(
                "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified"
            ),
            facts=Facts(associations=(Association(account="def-prof"), Association(account="rrg-prof"))),
        ),
        passes=refused("sbatch: error: invalid partition specified: nosuch"),
        says="the account is wrong, missing, ended, or may not use this partition",
    ),
    "D105": Example(
        trips=refused("sbatch: error: QOSMaxSubmitJobPerUserLimit"),
        passes=refused("sbatch: error: AssocMaxWallDurationPerJobLimit", "Job violates accounting/QOS policy"),
        says="you have as many jobs in the queue as you may, or ask for more than your account or QOS allows",
    ),
    "D106": Example(
        trips=refused(
            "sbatch: error: Memory specification can not be satisfied",
            "sbatch: error: Batch job submission failed: Requested node configuration is not available",
        ),
        passes=refused("sbatch: error: Batch job submission failed: Requested node configuration is not available"),
        says="Slurm cannot give the memory that was asked for",
    ),
    "D107": Example(
        trips=refused("sbatch: error: QOSMaxWallDurationPerJobLimit", "Job violates accounting/QOS policy"),
        passes=refused("sbatch: error: Invalid time-min specification (exceeds job's time or other limits)"),
        says="one job asks for more time than is allowed, or for none",
    ),
    "D108": Example(
        trips=refused("sbatch: error: Invalid generic resource (gres) specification"),
        passes=refused("sbatch: error: Invalid license specification"),
        says="no node of the partition has all that the job asks for, or GPUs are asked for in another way here",
    ),
    "D109": Example(
        trips=replace(
            refused("sbatch: error: Batch job submission failed: Invalid job array specification"),
            facts=Facts(max_array=1001),
        ),
        passes=refused("sbatch: error: Batch job submission failed: Job dependency problem"),
        says="an index of the array is beyond what this site takes (1000 is the largest)",
    ),
    "D110": Example(
        trips=refused("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"),
        passes=refused("sbatch: error: Invalid time specification"),
        says="Slurm's answer did not come: the job may have been taken all the same",
    ),
    "D111": Example(
        trips=refused("sbatch: error: Batch script contains DOS line breaks (\\r\\n)"),
        passes=refused("sbatch: error: Unable to open file nosuch.sh"),
        says="sbatch cannot read the script",
    ),
    "D201": Example(
        trips=replace(
            after(FAILED, "slurmstepd: error: Detected 1 oom_kill event in StepId=45.batch."), plan=PLANNED, site=SITE
        ),
        passes=after(FAILED, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"),
        says="it ran out of the memory it had asked for on the node",
        sets=(("resources.memory", '"96G"'),),
    ),
    "D202": Example(
        trips=replace(
            after(FAILED, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
            plan=PLANNED,
            site=BIG_SITE,
        ),
        passes=after(FAILED, "java.lang.OutOfMemoryError: Java heap space"),
        says="the GPU's memory was too small",
        sets=(("resources.gpu", '"h100"'),),
    ),
    "D203": Example(
        trips=after(FAILED, "OSError: We couldn't connect to 'https://huggingface.co' to load this file"),
        passes=after(FAILED, "ConnectionRefusedError: [Errno 111] Connection refused"),
        says="the program wanted something from the internet, and the node has none",
        sets=(
            ("run.env.HF_HUB_OFFLINE", '"1"'),
            ("run.env.TRANSFORMERS_OFFLINE", '"1"'),
            ("run.env.HF_DATASETS_OFFLINE", '"1"'),
            ("run.env.HF_EVALUATE_OFFLINE", '"1"'),
        ),
    ),
    "D204": Example(
        trips=replace(
            after(FAILED, "OSError: [Errno 122] Disk quota exceeded: 'model.pt'"),
            facts=Facts(quotas=(SeenQuota(area="home", path="/home/alice", used_files=500_000, limit_files=500_000),)),
        ),
        passes=after(FAILED, "OSError: [Errno 13] Permission denied: '/quota'"),
        says="a disk or your quota was full",
    ),
    "D205": Example(
        trips=after(FAILED, "ModuleNotFoundError: No module named 'torch'"),
        passes=after(FAILED, "ImportError: cannot import name 'x' from 'torch'"),
        says="the Python of the job has no package 'torch'",
    ),
    "D206": Example(
        trips=after(replace(FAILED, exit_code=127), "bash: line 1: trainer: command not found"),
        passes=after(FAILED, "bash: line 1: nvidia-smi: command not found"),  # and it went on
        says="the job does not have 'trainer'",
    ),
    "D207": Example(
        trips=after(FAILED, "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
        passes=after(FAILED, "RuntimeError: CUDA error: device-side assert triggered"),
        says="this build of the framework does not fit the node's GPU",
    ),
    "D208": Example(
        trips=after(FAILED, "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error."),
        passes=after(FAILED, "RuntimeError: DataLoader worker (pid 7) exited unexpectedly"),
        says="the data loader's workers ran out of shared memory",
    ),
    "D209": Example(
        trips=after(FAILED, "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."),
        passes=after(FAILED, "UserWarning: your CUDA driver is newer than the toolkit"),
        says="the node's driver is too old for this build of the framework (it knows CUDA 11.4)",
    ),
    "D210": Example(
        trips=after(FAILED, "RuntimeError: CUDA error: invalid device ordinal"),
        passes=after(FAILED, "RuntimeError: CUDA error: invalid argument"),
        says="a rank asked for a GPU that it cannot see",
    ),
    "D211": Example(
        trips=after(replace(FAILED, nodes="n7"), "RuntimeError: CUDA error: uncorrectable ECC error encountered"),
        passes=after(FAILED, "nvidia-smi: 0 correctable ECC errors"),
        says="a GPU on n7 failed: nothing is wrong with the training",
    ),
    "D212": Example(
        trips=replace(after(FAILED, "RuntimeError: No CUDA GPUs are available"), plan=PLAN),
        passes=after(FAILED, "RuntimeError: CUDA error: an illegal memory access was encountered"),
        says="the program wanted a GPU and saw none; the run asked for none",
        sets=(("resources.gpus", "1"),),
    ),
    "D213": Example(
        trips=replace(
            after(RUNNING),
            gauges=(NodeGauges(node="n1", seconds=1200, gpu_utilisation=3.0, gpus=4, idle_gpus=3, cpus_used=1.0),),
        ),
        passes=replace(after(RUNNING), gauges=(NodeGauges(node="n1", seconds=60, gpu_utilisation=0.0, gpus=4),)),
        says="the GPUs of n1 were used 3 % of the last 20 min; 3 of 4 never worked",
    ),
    "D214": Example(
        trips=replace(
            after(RUNNING),
            plan=PLANNED,
            gauges=(NodeGauges(node="n1", seconds=60, memory_mb=63_000, limit_mb=65_536),),
        ),
        passes=replace(after(RUNNING), gauges=(NodeGauges(node="n1", seconds=60, memory_mb=30_000, limit_mb=65_536),)),
        says="it uses 63000 MB of the 65536 MB it asked for on n1",
        sets=(("resources.memory", '"96G"'),),
    ),
    "D215": Example(
        trips=replace(
            after(
                RUNNING,
                "UserWarning: This DataLoader will create 10 worker processes in total. Our suggested max number of "
                "worker in current system is 1, which is smaller than what this DataLoader is going to create.",
            ),
            plan=PLANNED,
        ),
        passes=after(RUNNING, "This DataLoader has 10 worker processes"),
        says="each task has 1 CPU core for 10 data-loading workers",
        sets=(("resources.cpus", "11"),),
    ),
    "D216": Example(
        trips=replace(after(replace(FAILED, exit_code=137)), plan=PLANNED),
        passes=after(replace(FAILED, exit_code=143)),
        says="a process was killed (signal 9) without a word: most often the node's memory was full",
        sets=(("resources.memory", '"96G"'),),
    ),
    "D217": Example(
        trips=after(replace(FAILED, exit_code=139)),
        passes=after(replace(FAILED, exit_code=1), "no segmentation"),
        says="it touched memory that is not its own (segmentation fault): often two libraries that do not fit together",
        sets=(("run.env.PYTHONFAULTHANDLER", '"1"'),),
    ),
    "D218": Example(
        trips=after(replace(FAILED, exit_code=123, reason="data.x cannot be extracted on the nodes: it is too large")),
        passes=after(replace(FAILED, exit_code=123, reason="ended with 123")),
        says="data.x cannot be extracted on the nodes: it is too large",
    ),
    "D301": Example(
        trips=after(replace(RECORD, state=RunState.OUT_OF_TIME, reason="all links are used", link=3, links=3)),
        passes=after(FAILED),
        says="all links are used",
    ),
    "D302": Example(
        trips=after(replace(FAILED, reason=JobState.NODE_FAILED.value, nodes="n7")),
        passes=after(replace(FAILED, reason=JobState.FAILED.value, nodes="n7")),
        says="a node failed (n7)",
    ),
    "D303": Example(
        trips=after(replace(FAILED, reason=JobState.PREEMPTED.value)),
        passes=after(replace(FAILED, reason="the command ended with exit code 1")),
        says="a more important job took its place",
    ),
    "D304": Example(
        trips=Symptoms(
            record=TIMED_OUT,
            plan=replace(PLAN, notice=timedelta(seconds=60)),
            events=(Event(kind="stop_requested", time=5, text="notice"),),
        ),
        passes=Symptoms(
            record=TIMED_OUT,
            events=(Event(kind="stop_requested", time=5, text="notice"), Event(kind="command_ended", time=6)),
        ),
        says="it was told 1 min before the end and had not stopped when Slurm killed it",
        sets=(("checkpoint.notice", '"2m"'),),
    ),
    "D305": Example(
        trips=Symptoms(record=RUNNING, events=(Event(kind="link_started", restart=1),)),
        passes=Symptoms(record=RUNNING, events=(Event(kind="link_started", restart=0),)),
        says="Slurm has started it again once",
    ),
    "D306": Example(
        trips=Symptoms(record=replace(RUNNING, interrupted="link 2: preempted")),
        passes=Symptoms(record=RUNNING),
        says="an earlier link did not end by itself: link 2: preempted",
    ),
    "D307": Example(
        trips=Symptoms(record=replace(RUNNING, link=2, links=3, links_needed=3)),
        passes=Symptoms(record=replace(RUNNING, link=2, links=3, links_needed=1)),
        says="by its pace it needs 2 more links than it has",
    ),
    "D308": Example(
        trips=Symptoms(record=RUNNING, plan=PLAN, events=_asked_after(600)),
        passes=Symptoms(record=RUNNING, plan=PLAN, events=_asked_after(3420)),
        says="link 1 was asked to stop 50 min before its time was up",
    ),
    "D309": Example(
        trips=Symptoms(record=replace(FAILED, reason="two links in a row saved nothing", exit_code=143), plan=PLAN),
        passes=Symptoms(record=replace(FAILED, reason="the command ended with exit code 121", exit_code=121)),
        says="two links in a row saved nothing: the next one would have begun where they began, so the chain was ended",
    ),
    "D310": Example(
        trips=Symptoms(record=RUNNING, events=_BROKE_DOWN),
        passes=Symptoms(record=RUNNING, events=_BROKE_DOWN[:2]),
        says="the command died twice and was started again in the same job",
    ),
    "D311": Example(
        trips=Symptoms(record=replace(FAILED, state=RunState.OUT_OF_BUDGET, reason="its budget of 9 GPU-h is used up")),
        passes=Symptoms(record=TIMED_OUT),
        says="its budget of 9 GPU-h is used up",
    ),
}
