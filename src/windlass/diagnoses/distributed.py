"""Several processes: how they find each other, how they talk, and what happens to all when one dies."""

import re
from collections.abc import Iterator

from windlass.core.ending.symptoms import Symptoms, set_to
from windlass.core.finding import Diagnosis
from windlass.core.record import RunState

_PORT = re.compile(
    r"server socket has failed to (?:listen on any local network address|bind to)"
    r"(?:(?!server socket)[^\n])*(?:EADDRINUSE|errno: 98|(?:Address|address) already in use)|"
    r"OSError: \[Errno 98\] Address already in use"
)
_UNREACHABLE = re.compile(
    r"client socket has timed out after \d+ ?ms while trying to connect to|"
    r"client socket has failed to connect to|"
    r"The IPv[46] network addresses of \([^()\n]*\) cannot be retrieved|RendezvousConnectionError|"
    r"Timed out after \d+ seconds waiting for clients|"
    r"windlass: \S+ cannot reach \S+, where all nodes meet|windlass: (?:(?!windlass: )[^\n])* did not come within \d+ s"
)
_NO_NAME = re.compile(r"socket\.gaierror: \[Errno -2\] Name or service not known")
_OF_THE_WEB = re.compile(r"urlopen error|HTTPSConnectionPool|requests\.exceptions|urllib3|httpx|aiohttp")
_NCCL_TIMEOUT = re.compile(
    r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(?P<number>\d+), OpType=(?P<what>\w+)|"
    r"watchdog got stuck for \d+ seconds without making progress|"
    r"Some NCCL operations have failed or timed out"
)
_NCCL = re.compile(
    r"NCCL WARN (?!Call to ibv_reg_mr)(?:(?!NCCL WARN )[^\n])*(?:fail|error|[Nn]o route|refused|timeout)|"
    r"ncclUnhandledCudaError|ncclSystemError|ncclRemoteError|ncclInternalError|NCCL error (?:in|:)"
)
_LOCKED_MEMORY = re.compile(
    r"ibv_reg_mr(?:(?!ibv_reg_mr)[^\n])*Cannot allocate memory|"
    r"You may want to (?:adjust|increase)(?:(?!You may want)[^\n])*(?:locked memory|memlock)|"
    r"UCX +ERROR(?:(?!UCX )[^\n])*(?:memlock|max locked memory)"
)
_NO_SRUN = re.compile(r"The [`']srun[`'] command is available on your system but is not used")
_MEMBER = re.compile(r"Initializing distributed: GLOBAL_RANK: (?P<rank>\d+), MEMBER: (?P<member>\d+)/(?P<world>\d+)")
_LAYOUT = re.compile(
    r"You set [`']--?ntasks(?:-per-node)?=\d+[`'] in your SLURM|"
    r"You set [`']devices=\d+[`'] in Lightning, but the number of tasks per node configured in SLURM"
)
_ALL_THERE = re.compile(
    r"All distributed processes registered|distributed_backend=nccl\b[^\n=]*\n[^\n]*All distributed"
)
_PMI = re.compile(
    r'appears to have been direct launched using "(?:srun|aprun)"|'
    r"OMPI was not built with SLURM(?:'s)? PMI support|PMI2?_Init failed|"
    r"MPI plugin type (?:(?!MPI plugin)[^\n])* not found"
)
_STEP = re.compile(r"srun: Job \d+ step creation (?:temporarily disabled, retrying|still disabled, retrying)")
_ONE_DIED = re.compile(
    r"torch\.distributed\.elastic\.multiprocessing\.errors\.ChildFailedError|Connection closed by peer \[|"
    r"Connection reset by peer \[|recvValue failed on SocketImpl|"
    r"srun: error: [\w.\[\],-]+: tasks? [\d,-]+: Exited with exit code \d+|"
    r"Rank \d+ successfully reached monitoredBarrier, but received errors"
)
_AT_ITS_END = re.compile(r"terminate called without an active exception")
_GLOO = re.compile(r"\bgloo\b|exitcode *: *-6|Signal 6|SIGABRT|Aborted", re.IGNORECASE)
_FEW_LINES = 20


def port_taken(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The port where the ranks meet is used by somebody else on that node.

    A fixed port on a shared node, one that the system hands out itself (32768 and up), or torchrun started once for
    every task instead of once a node. Windlass gives every job a port of its own in MASTER_PORT.
    """
    if line := symptoms.fatal(_PORT):
        yield Diagnosis(
            code="D401",
            message="the port where the ranks meet was already in use",
            evidence=(line,),
            hint="take MASTER_PORT from the environment; torchrun once a node: [run] launcher",
            patch=(set_to("run.launcher", "torchrun"),) if _starts_torchrun_for_each_task(symptoms) else (),
        )


def master_unreachable(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A rank could not find or reach the node where all meet.

    The host name may lead to a slow or closed network (some sites want a suffix: network.host_suffix in the site
    file), a proxy may be in the way, rank variables may have been filled in by the batch shell instead of by srun, or
    the first rank died before the others came.
    """
    line = symptoms.stuck(_UNREACHABLE)
    if line is None and symptoms.fatal(_OF_THE_WEB) is None:
        line = symptoms.fatal(_NO_NAME)
    if line:
        yield Diagnosis(
            code="D402",
            message="a rank could not find or reach the node where all meet (MASTER_ADDR)",
            evidence=(line,),
            hint="take MASTER_ADDR from the environment; [network] host_suffix and interface in the site file",
        )


def step_waits(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A step of srun waits for resources that another step of the same job holds.

    Since Slurm 20.11 each srun takes its CPUs and memory for itself: `srun --exact --mem=SIZE` for steps side by side,
    `--overlap` for a monitor beside the training.
    """
    if line := symptoms.stuck(_STEP):
        yield Diagnosis(
            code="D403",
            message="srun waits for what another step of the job holds",
            evidence=(line,),
            hint="srun --exact -n1 -c… --mem=… for steps side by side, --overlap for a monitor",
        )


def layout_mismatch(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Lightning and Slurm disagree about the number of processes, so some wait for others that never come.

    Lightning wants one task of srun for each GPU, devices = tasks on a node and num_nodes = nodes. Under torchrun it
    must not take Slurm's variables for its own.
    """
    if symptoms.record.state is RunState.DONE:
        return
    line = _warned_and_silent(symptoms) or symptoms.fatal(_LAYOUT) or _hangs_at_start(symptoms)
    if line:
        plan = symptoms.plan
        is_elsewhere = plan is not None and plan.gpus > 1 and plan.launcher != "lightning"
        yield Diagnosis(
            code="D404",
            message="Lightning's processes and Slurm's tasks do not match: some wait for others that never come",
            evidence=(line,),
            hint="Trainer(devices=GPUs of a node, num_nodes=nodes), and one task a GPU: [run] launcher",
            patch=(set_to("run.launcher", "lightning"),) if is_elsewhere else (),
        )


def mpi_mismatch(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The MPI library was built without the interface (PMI) that this srun offers.

    `srun --mpi=list` shows what there is: try `--mpi=pmix`, or mpirun inside the job, or the site's own MPI module.
    """
    if line := symptoms.fatal(_PMI):
        yield Diagnosis(
            code="D405",
            message="the program's MPI and srun do not speak the same language (PMI)",
            evidence=(line,),
            hint="the site's own MPI: [environment] modules; or mpirun in run.command",
            patch=(set_to("run.env.SLURM_MPI_TYPE", "pmix"),),
        )


def locked_memory(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """InfiniBand may not lock as much memory as it needs: the limit was carried over from the login node, or is the
    site's.

    `srun --propagate=NONE` leaves the login node's limit behind.
    """
    if line := symptoms.stuck(_LOCKED_MEMORY):
        yield Diagnosis(
            code="D406",
            message="the limit on locked memory is too small for InfiniBand",
            evidence=(line,),
            hint="SLURM_PROPAGATE=NONE; if `ulimit -l` in a job is still not unlimited, ask the centre",
            patch=(set_to("run.env.SLURM_PROPAGATE", "NONE"),),
        )


def nccl_timeout(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The ranks waited for each other until the time for one collective operation was over.

    At the first operation it is the network, its interface or a bad node. Later the ranks have taken different ways:
    uneven batches, work that only rank 0 does, or one rank that died or still loads data.
    """
    if line := symptoms.stuck(_NCCL_TIMEOUT):
        found = _NCCL_TIMEOUT.search(line)
        number = int(found["number"]) if found and found["number"] else None
        interface = symptoms.site.network.interface if symptoms.site else None
        patch = [set_to("run.env.NCCL_DEBUG", "INFO")]
        if number == 1 and interface:
            patch.append(set_to("run.env.NCCL_SOCKET_IFNAME", interface))
        why = "the first one: the network, its interface or a bad node" if number == 1 else "one rank did not come"
        yield Diagnosis(
            code="D407",
            message=f"the ranks waited for each other in vain ({why})",
            evidence=(line,),
            hint="look for the rank that stopped first in the log; the next run tells more",
            patch=tuple(patch),
        )


def nccl_error(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """NCCL could not use the network or a GPU. Its own words follow `NCCL WARN`; NCCL_DEBUG=INFO brings more."""
    if line := symptoms.fatal(_NCCL):
        yield Diagnosis(
            code="D408",
            message="NCCL could not talk between the GPUs",
            evidence=(line,),
            hint="[network] interface in the site file; the next run tells more",
            patch=(set_to("run.env.NCCL_DEBUG", "INFO"),),
        )


def one_rank_died(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """One process died and took the others with it: what the others say is only the consequence."""
    if line := symptoms.fatal(_ONE_DIED):
        yield Diagnosis(
            code="D409",
            message="one process died, and the others ended because of it",
            evidence=(line, *_first_traceback(symptoms)),
            hint=f"{symptoms.read_more}   # the first traceback counts",
        )


def aborted_at_its_end(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A process of PyTorch's on Gloo gave up after its work was done, while Python was ending.

    Threads of Gloo were still running: the model in DistributedDataParallel lives on until then, although the group was
    destroyed, because it refers to itself. It happens to some runs and not to others. With a file that means "done", or
    run.done(), Windlass sees that the training was finished.
    """
    is_gloo = _GLOO.search(symptoms.text) or symptoms.fatal(_ONE_DIED)
    if (line := symptoms.fatal(_AT_ITS_END)) and is_gloo and all(one.is_secondary for one in symptoms.tracebacks):
        yield Diagnosis(
            code="D410",
            message="a process of PyTorch gave up at its very end, when threads of Gloo were still running",
            evidence=(line,),
            hint="train in a function, then gc.collect(), then dist.destroy_process_group(); or [checkpoint] done_file",
        )


def _first_traceback(symptoms: Symptoms) -> tuple[str, ...]:
    found = next((one for one in symptoms.tracebacks if not one.is_secondary), None)
    if found is None:
        return ()
    whose = f"rank {found.rank} failed first: " if found.rank is not None else "the first to fail: "
    return (whose + found.exception,)


def _warned_and_silent(symptoms: Symptoms) -> str | None:
    """Lightning says so of every job of one process too, and such a job goes on."""
    plan = symptoms.plan
    line = symptoms.stuck(_NO_SRUN)
    if line is None or symptoms.record.state is RunState.FAILED or (plan is not None and plan.gpus <= 1):
        return None
    after = symptoms.text.rpartition("command is available on your system but is not used")[2]
    return line if after.count("\n") < _FEW_LINES else None


def _hangs_at_start(symptoms: Symptoms) -> str | None:
    """Ranks that reported are fewer than the world, and nothing else came afterwards. Alone the line is normal."""
    found = list(_MEMBER.finditer(symptoms.text))
    if not found or symptoms.record.state is RunState.FAILED or _ALL_THERE.search(symptoms.text):
        return None
    reported, world = {one["rank"] for one in found}, int(found[-1]["world"])
    after = symptoms.text[found[-1].end() :].strip()
    waited = symptoms.now is None or symptoms.record.started is None or symptoms.now - symptoms.record.started > 120
    if len(reported) < world and not after and waited:
        return f"{len(reported)} of {world} ranks reported: {found[-1][0]}"
    return None


def _starts_torchrun_for_each_task(symptoms: Symptoms) -> bool:
    plan = symptoms.plan
    return plan is not None and plan.tasks_per_node > 1 and "torchrun" in plan.command
