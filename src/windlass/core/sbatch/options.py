"""The options of sbatch, as its own table has them, and what newer versions brought and dropped."""

from windlass.core.sbatch.getopt import Grammar, make_grammar

# Marks: `name=X` needs a value (short form -X), `name?` may have one, `name.` has none, `old>name` means it.
# The order is that of sbatch 22.05, because its complaint about an ambiguous abbreviation lists them so.
_OPTIONS = """
account=A acctg-freq= array=a batch= begin=b bb= bbf= cluster-constraint= chdir=D cluster>clusters clusters=M
comment= container= context= contiguous. constraint=C core-spec=S cores-per-socket= cpu-freq= cpus-per-gpu=
cpus-per-task=c deadline=
delay-boot= dependency=d distribution=m error=e exclude=x exclusive? export= export-file= extra-node-info=B
get-user-env? gid= gpu-bind= gpu-freq= gpus=G gpus-per-node= gpus-per-socket= gpus-per-task= gres= gres-flags=
help.h hint= hold.H ignore-pbs. input=i job-name=J kill-on-invalid-dep= licenses=L mail-type= mail-user=
mcs-label= mem= mem-bind= mem-per-cpu= mem-per-gpu= mincpus= network= nice? no-kill?k no-requeue. nodefile=F
nodelist=w nodes=N ntasks=n ntasks-per-core= ntasks-per-gpu= ntasks-per-node= ntasks-per-socket=
ntasks-per-tres= open-mode= output=o overcommit.O oversubscribe.s parsable. partition=p power= prefer= priority=
profile= propagate? qos=q quiet.Q reboot. requeue. reservation= signal= sockets-per-node= spread-job. switches=
tasks-per-node>ntasks-per-node
test-only. thread-spec= threads-per-core= time=t time-min= tmp= uid= use-min-nodes. usage. verbose.v version.V
wait.W wait-all-nodes= wckey= wrap=
"""
SBATCH: Grammar = make_grammar("sbatch", _OPTIONS)

# Measured on 24.11.5 and 26.05.5; the value is the version whose sbatch knows it.
NEWER: dict[str, str] = {
    "autocomplete": "24.11",
    "container-id": "24.11",
    "extra": "24.11",
    "oom-kill-step": "24.11",
    "resv-ports": "24.11",
    "segment": "24.11",
    "stepmgr": "24.11",
    "tres-bind": "24.11",
    "tres-per-task": "24.11",
    "consolidate-segments": "26.05",
    "container-type": "26.05",
    "external": "26.05",
    "mem-update": "26.05",
    "resources": "26.05",
    "spread-segments": "26.05",
}
GONE: dict[str, str] = {"power": "24.11"}
# Of 1,153 spellings, 24.11 and 26.05 judge ten otherwise, always more mildly: they take `--nodes=1,2`, a backslash
# before a space, `--exclusive=topo`, `--signal=CHLD`, odd counts of GPUs such as `--gres=gpu=1`, and more nodes named
# than asked for. What abbreviates one of the newer options too is ambiguous to them.

# Options of plugins that many centres have: an sbatch without the plugin knows nothing of them.
PLUGINS: dict[str, str] = {
    **dict.fromkeys(
        (
            *("container-image", "container-mounts", "container-workdir", "container-name", "container-save"),
            *("container-mount-home", "no-container-mount-home", "container-remap-root", "container-entrypoint"),
            *("no-container-remap-root", "no-container-entrypoint", "container-writable", "container-readonly"),
            "container-env",
        ),
        "pyxis",
    ),
    **dict.fromkeys(("image", "module", "volume"), "shifter"),
    **dict.fromkeys(("uenv", "view"), "uenv"),
    "environment": "container-engine",
}
# Those of them that take no value.
PLUGIN_SWITCHES = frozenset(
    {
        *("--container-mount-home", "--no-container-mount-home", "--container-remap-root", "--container-entrypoint"),
        *("--no-container-remap-root", "--no-container-entrypoint", "--container-writable", "--container-readonly"),
    }
)
# Of srun alone: sbatch refuses them.
OF_SRUN = frozenset(
    {
        *("cpu-bind", "mpi", "label", "pty", "unbuffered", "kill-on-bad-exit", "multi-prog", "overlap", "exact"),
        *(
            "accel-bind",
            "task-prolog",
            "task-epilog",
            "prolog",
            "epilog",
            "het-group",
            "bcast",
            "relative",
            "slurmd-debug",
        ),
    }
)
# What people write for it. Only names that mean one thing.
OLD_OR_WRONG: dict[str, str] = {
    "workdir": "chdir",
    "share": "oversubscribe",
    "job_name": "job-name",
    "name": "job-name",
    "jobname": "job-name",
    "walltime": "time",
    "queue": "partition",
    "memory": "mem",
    "cpus": "cpus-per-task",
    "gpu": "gpus",
    "mail": "mail-user",
    "email": "mail-user",
    "stdout": "output",
    "stderr": "error",
    "out": "output",
    "log": "output",
}

# The directives of two other batch systems, which sbatch reads too unless --ignore-pbs is given.
PBS: Grammar = make_grammar(
    "sbatch",
    "begin=a account=A c=c C=C error=e hold.h I.I j=j array=tJ k=k resources=l m=m mail-user=M job-name=N output=o "
    "nice=p partition=q r=r S=S u=u export=v V.V W=W z.z",
)
BSUB: Grammar = make_grammar(
    "sbatch",
    "chdir=c error=e nodelist=m M=M ntasks=n output=o partition=q job-name=J time=W exclusive.x",
)
# Options of theirs that mean the same as one of sbatch's; the others are read and mean something else or nothing.
SAME_AS_SBATCH = frozenset(
    [
        "account",
        "array",
        "begin",
        "chdir",
        "error",
        "exclusive",
        "export",
        "hold",
        "job-name",
        "mail-user",
        "nice",
        "nodelist",
        "ntasks",
        "output",
        "partition",
        "time",
    ]
)
