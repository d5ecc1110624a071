"""The options of sbatch, srun and salloc, and the environment variables that stand for them."""

from windlass.core.sbatch import options as sbatch_options
from windlass.pocket.getopt import Grammar, make_grammar

# Marks: `name=X` needs a value (short form -X), `name?` may have one, `name.` has none. sbatch's table is in core.
_SHARED = """
account=A acctg-freq= bb= bbf= begin=b chdir=D cluster-constraint= clusters=M comment= constraint=C
container= contiguous. core-spec=S cores-per-socket= cpu-freq= cpus-per-gpu= cpus-per-task=c deadline=
delay-boot= dependency=d exclude=x exclusive? extra-node-info=B get-user-env? gid= gpu-bind= gpu-freq= gpus=G
gpus-per-node= gpus-per-socket= gpus-per-task= gres= gres-flags= help.h hint= hold.H job-name=J
kill-on-invalid-dep= licenses=L mail-type= mail-user= mcs-label= mem= mem-bind= mem-per-cpu= mem-per-gpu=
mincpus= network= nice? no-kill?k nodefile=F nodelist=w nodes=N ntasks=n ntasks-per-core= ntasks-per-gpu=
ntasks-per-node= ntasks-per-socket= overcommit.O oversubscribe.s partition=p power= prefer= priority= profile=
qos=q quiet.Q reboot. reservation= signal= sockets-per-node= spread-job. switches= thread-spec=
threads-per-core= tasks-per-node>ntasks-per-node
time=t time-min= tmp= uid= usage. use-min-nodes. verbose.v version.V wait-all-nodes= wckey=
"""
_SRUN = """
accel-bind= bcast? compress? cpu-bind= disable-status.X distribution=m epilog= error=e exact. export= het-group=
immediate?I input=i interactive. jobid= kill-on-bad-exit?K label.l mpi= msg-timeout= multi-prog. no-allocate.Z
open-mode= output=o overlap. preserve-env.E prolog= propagate? pty. relative=r resv-ports? send-libs?
slurmd-debug= task-epilog= task-prolog= test-only. threads=T unbuffered.u wait=W whole.
"""
_SALLOC = "bell. no-bell. no-shell. immediate?I wait="

SBATCH: Grammar = Grammar(options=sbatch_options.SBATCH)
SRUN: Grammar = make_grammar("srun", _SHARED + _SRUN)
SALLOC: Grammar = make_grammar("salloc", _SHARED + _SALLOC)

_EVERYWHERE = {
    "ACCOUNT": "account",
    "CLUSTERS": "clusters",
    "CONSTRAINT": "constraint",
    "EXCLUSIVE": "exclusive",
    "GPUS": "gpus",
    "GPUS_PER_NODE": "gpus-per-node",
    "GPUS_PER_TASK": "gpus-per-task",
    "GRES": "gres",
    "HINT": "hint",
    "PARTITION": "partition",
    "QOS": "qos",
    "RESERVATION": "reservation",
    "SIGNAL": "signal",
    "TIMELIMIT": "time",
}
SBATCH_ENV = {f"SBATCH_{word}": option for word, option in _EVERYWHERE.items()} | {
    "SBATCH_ARRAY_INX": "array",
    "SBATCH_EXPORT": "export",
    "SBATCH_JOB_NAME": "job-name",
    "SBATCH_MEM_PER_CPU": "mem-per-cpu",
    "SBATCH_MEM_PER_GPU": "mem-per-gpu",
    "SBATCH_MEM_PER_NODE": "mem",
    "SBATCH_NO_REQUEUE": "no-requeue",
    "SBATCH_OPEN_MODE": "open-mode",
    "SBATCH_REQUEUE": "requeue",
    "SBATCH_WAIT": "wait",
}
SALLOC_ENV = {f"SALLOC_{word}": option for word, option in _EVERYWHERE.items()} | {
    "SALLOC_MEM_PER_CPU": "mem-per-cpu",
    "SALLOC_MEM_PER_GPU": "mem-per-gpu",
    "SALLOC_MEM_PER_NODE": "mem",
}
# srun reads what a job around it was given, so that a bare `srun` uses the whole allocation.
SRUN_STEP_ENV = {
    "SLURM_DISTRIBUTION": "distribution",
    "SLURM_EXACT": "exact",
    "SLURM_GPUS_PER_TASK": "gpus-per-task",
    "SLURM_JOB_NUM_NODES": "nodes",
    "SLURM_KILL_BAD_EXIT": "kill-on-bad-exit",
    "SLURM_LABELIO": "label",
    "SLURM_NNODES": "nodes",
    "SLURM_NPROCS": "ntasks",
    "SLURM_NTASKS": "ntasks",
    "SLURM_NTASKS_PER_NODE": "ntasks-per-node",
    "SLURM_OPEN_MODE": "open-mode",
    "SLURM_OVERCOMMIT": "overcommit",
    "SLURM_OVERLAP": "overlap",
    "SLURM_STDERRMODE": "error",
    "SLURM_STDINMODE": "input",
    "SLURM_STDOUTMODE": "output",
    "SLURM_UNBUFFEREDIO": "unbuffered",
    # Since 22.05 srun no longer takes SLURM_CPUS_PER_TASK, only this one.
    "SRUN_CPUS_PER_TASK": "cpus-per-task",
    "SRUN_EXPORT_ENV": "export",
}
SRUN_ALLOCATION_ENV = {f"SLURM_{word}": option for word, option in _EVERYWHERE.items()} | {
    "SLURM_JOB_NAME": "job-name",
    "SLURM_MEM_PER_CPU": "mem-per-cpu",
    "SLURM_MEM_PER_GPU": "mem-per-gpu",
    "SLURM_MEM_PER_NODE": "mem",
}
FLAG_VALUES_OFF = ("0", "no", "false")


def read_environment(
    names: dict[str, str], environment: dict[str, str], grammar: Grammar
) -> tuple[tuple[str, str], ...]:
    """The options that environment variables ask for."""
    found: list[tuple[str, str]] = []
    for variable, option in names.items():
        value = environment.get(variable)
        if value is None or option not in grammar.long:
            continue
        if grammar.long[option].value == 0 and value.lower() in FLAG_VALUES_OFF:
            continue
        found.append((option, "" if grammar.long[option].value == 0 else value))
    return tuple(found)
