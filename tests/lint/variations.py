"""Directives in many spellings, with right and wrong values, for a real sbatch to judge.

Left out is what depends on the machine: files that are named, clusters, kinds of resources beside GPUs, the clock.
"""

from collections.abc import Iterator

from windlass.core.sbatch.options import SBATCH

_COUNTS = ("1", "0", "-1", "x", "1.5", "1k", "' 2'", "+2", "2x", "1-2", "")
_MEMORY = ("0", "1", "1G", "1gb", "1GiB", "1M", "1K", "1T", "1P", "1.5G", "-1", "x", "'1 G'", "1B", "4,000", "")
_TIMES = (
    *("0", "1", "-1", "1:", "1:2", "1:2:3", "1:2:3:4", "1-", "1-2", "1-2:3", "1-2:3:4", "unlimited", "INFINITE"),
    *("unlim", "1d", "1h", "60m", "1.5", "' 5'", "99:99:99", "x", "5::", "0-0:30", "+5", "1-2-3", "1:2:", "1-:5"),
)
_MOMENTS = (
    *("now", "now+1hour", "now+60", "now+2weeks", "now+x", "now+1min", "16:00", "25:00", "4pm", "4:00pm", "x"),
    *("2035-01-01", "2035-01-01T10:00:00", "2035-13-01", "2035-1-1", "01/01/35", "0101", "tomorrow", "teatime"),
)
_GPUS = ("1", "a100", "a100:2", "0", "x:y:2", "gpu:2", "a100:x", "1k", "a100:", "2x", "a100:1,v100:1")
VALUES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("ntasks", "cpus-per-task", "ntasks-per-node", "mincpus", "threads-per-core"), _COUNTS),
    "nodes": (*_COUNTS, "2-1", "1-", "-2", "1-3k", "${N}", "1,2", "1-0"),
    **dict.fromkeys(("mem", "mem-per-cpu", "tmp"), _MEMORY),
    **dict.fromkeys(("time", "time-min"), _TIMES),
    "begin": _MOMENTS,
    **dict.fromkeys(("gpus", "gpus-per-node"), _GPUS),
    "gres": (
        *("gpu", "gpu:1", "gpu:a100", "gpu:a100:1", "gpu:", "gpu::1", "gpu=1", "GPU:1", "gpu:x:y:1", "none", "gpus:1"),
        *("gpu:1,gpu:1", "gpu:a100:1,gpu:1", "gpu:a100:x", "gpu/1", "gpu:2:a100", "gpu:a100:1a", "gpu:$N", "vram:24G"),
    ),
    "signal": (
        *("USR1", "USR1@60", "B:USR1@60", "RB:USR1@60", "10@60", "SIGUSR1@60", "usr1", "FOO", "B:", "USR1@x", "USR1@"),
        *("USR1@65536", "@60", "0@60", "B@60", "b:USR1", "USR1:60", "CHLD", "B:TERM@2m", ""),
    ),
    "mail-type": (
        "ALL",
        "all",
        "BEGIN,END",
        "BEGIN;END",
        "FOO",
        "END,FOO",
        "",
        "ENDS",
        "TIME_LIMIT_80",
        "ABORT",
        "END,",
    ),
    "exclusive": ("user", "mcs", "", "true", "yes", "topo"),
    "open-mode": ("append", "truncate", "a", "APPEND", "x", ""),
    "kill-on-invalid-dep": ("yes", "NO", "1", "y"),
    "hint": ("nomultithread", "compute_bound", "x", "none"),
    "distribution": ("block", "cyclic", "plane=2", "plane", "block:cyclic", "x", "block:x", "arbitrary"),
    "gres-flags": ("enforce-binding", "x"),
    "gpu-bind": ("closest", "none", "x", "map_gpu:0,1", "single:2"),
    "profile": ("all", "none", "task,energy", "x"),
    "propagate": ("ALL", "STACK,NOFILE", "x", "stack"),
    "nice": ("5", "x", "99999999999"),
    "no-kill": ("", "off", "on"),
    "wait-all-nodes": ("0", "1", "2", "yes"),
    "switches": ("1", "1@10", "0", "x"),
    "array": ("1-3", "1-3%1", "x", "5-1", "[1-3]", ""),
    "dependency": ("singleton", "afterok:1", "foo:1", "x"),
    "job-name": ("x", "'a b'", "a b", "a#b", "a\\#b", '"a\'b"', "'a", "é", ""),
    "account": ("x", "<project>", ""),
    "output": ("x-%j.out", "$HOME/x", "~/x", "none", ""),
    "hold": ("1",),
    "requeue": ("yes",),
    "uid": ("0",),
}
# What the controller judges, not sbatch.
ARRAYS = (
    *("SRR8652107,SRR8", "a,b", "1-", "5-2", "1:3", "1-3", "1-3:2", "1-3:0", "1-3%0", "1-3%2", "1-3%", "[1-3]"),
    *("1,3,5-7", "1,,2", "1,", ",1", "-1", "1-3:2%1", "1%3", "1-5,7%2", "1-3:", "1-3%x", "1.5", "5", "0", "1-3:1:1"),
    *("1-3%2,5", "01-03", "+1", "1-a", "1-3:x", "[1-3", "1-3]", "1,1", "3,1", "[1-3]%2", "0x10", "2-2", "1-3:5", "0-"),
    *("1-5-7", "'1-3 '", "' 1-3'", "[1-3],[5]", "[1,2-3]", "%1", "a[1-3]", "1_000", "1-$N", "", "[]", "1]-3", "[[1"),
    *("'1, 2-3'", "1-+3", "99999999", "1-3:-1", "-0", "1-3:2]", "[1-3:2]", "' '"),
)
LINES = (
    *("#SBATCH--nodes=2", "#SBATCHx --nodes=2", "#SBATCH\t--nodes=2", "#SBATCH --nodes 2 --ntasks 3", "#SBATCH"),
    *("#SBATCH # --foo", "#SBATCH --nodes=2#c", "#SBATCH --nodes = 2", "#SBATCH --nodes= 2", "#SBATCH --nodes=2 --"),
    *(
        "#SBATCH -- --nodes=2",
        "#SBATCH x --foo",
        "#SBATCH '' --foo",
        "#SBATCH :",
        "#SBATCH --job-name=x :y",
        "#SBATCH -",
    ),
    *("#SBATCH --qos\n#SBATCH --nodes=2", "#SBATCH --nodes=2 \\\n#SBATCH --ntasks=4", "#SBATCH --job-name=a\\ b"),
    *("#SLURM --nodes=2", "#SLURM x", "# SLURM x", "#Slurm x", "#PBS -l nodes=2", "#PBS -x foo", "#PBS foo", "#PBS"),
    *("#PBS -l walltime=xx", "#BSUB -n 4", "#BSUB -n x", "#BSUB -R x", "#SBATCH --ignore-pbs\n#PBS --foo"),
    *(
        "#SBATCH hetjob",
        "#SBATCH -N1\n#SBATCH hetjob\n#SBATCH --foo",
        "#SBATCH hetjob --nodes=2",
        "#SBATCH -N1 packjob",
    ),
    *("#SBATCH -nodes=2", "#SBATCH -mem=4G", "#SBATCH -output=x", "#SBATCH ---nodes=2", "#SBATCH --Nodes=2"),
    *("#SBATCH --mem=1 --mem-per-cpu=1", "#SBATCH --mem=1G --mem=2G", "#SBATCH -S 2 --thread-spec=2", "#SBATCH -Hn4"),
    *("#SBATCH --gpus-per-task=1", "#SBATCH --gpus-per-task=1 -n 2", "#SBATCH -G 3 --gpus-per-node=2", "#SBATCH -kx"),
    *("#SBATCH -G 4 --gpus-per-node=2 -N 3", "#SBATCH -G 2 -N 4", "#SBATCH -G 5 --gpus-per-task=2", "#SBATCH -W1"),
    *("#SBATCH -G a100:2 --gres=gpu:2", "#SBATCH --gpus-per-socket=1", "#SBATCH --mem-per-gpu=1G", "#SBATCH -n4 -c2"),
    *("#SBATCH --cpus-per-gpu=2 -c 3", "#SBATCH --ntasks-per-gpu=2 --gpus-per-task=1", "#SBATCH --ntasks-per-gpu=2"),
    *(
        "#SBATCH --ntasks-per-gpu=2 -n 3",
        "#SBATCH --ntasks-per-gpu=2 -n 4",
        "#SBATCH -w node[1-2] -N 1",
        "#SBATCH -P x",
    ),
    *("#SBATCH -G 4 --gpus-per-task=4 -N 1 --ntasks-per-node=2", "#SBATCH -G 4 --gpus-per-task=4 -N 2"),
    *("#SBATCH -G 4 --gpus-per-task=4 --ntasks-per-node=2", "#SBATCH -G 4 --gpus-per-task=4 -N 1-2"),
    *("#SBATCH -G 8 --gpus-per-task=4 --ntasks-per-node=2", "#SBATCH -G 4 --gpus-per-task=4 -N 2-2"),
    *("#SBATCH --gres=gpu:4 --gpus-per-task=4 -N1 --ntasks-per-node=2", "#SBATCH --gres=gpu:4 --gpus-per-task=3 -n1"),
    *("#SBATCH --gres=gpu:4 --gpus-per-task=2 -N1 --ntasks-per-node=2", "#SBATCH --gpus-per-node=4 --gpus-per-task=1"),
    *("#SBATCH --gpus-per-node=4 --gpus-per-task=1 -N1", "#SBATCH --gpus-per-node=4 --gpus-per-task=2 -n4 -N2"),
    *("#SBATCH --gpus-per-task=1 -N1", "#SBATCH --gpus-per-task=1 -N1-2", "#SBATCH --gpus-per-task=1 -N2"),
    *("#SBATCH --gpus-per-task=1 --ntasks-per-node=2", "#SBATCH --gpus-per-task=1 -N1-2 --ntasks-per-node=2"),
    *("#SBATCH --nodes=2\u00a0-n2", "#SBATCH —nodes=2", "#SBATCH --job-name=“x”", "#SBATCH\u00a0--nodes=2"),
)


def make_variations() -> Iterator[str]:
    """Texts of directives, each a script of its own."""
    short = {name: letter for letter, name in SBATCH.short.items()}
    for name, values in VALUES.items():
        for value in values:
            yield f"#SBATCH --{name}={value}"
        first = values[0]
        yield f"#SBATCH --{name} {first}"
        yield f"#SBATCH --{name}"
        yield f"#SBATCH --{name[:-1]}={first}"
        yield f"#SBATCH --{name.replace('-', '_')}s={first}"
        if name in short:
            letter = short[name]
            yield from (f"#SBATCH -{letter} {first}", f"#SBATCH -{letter}{first}", f"#SBATCH -{letter}={first}")
    for name in SBATCH.names:
        for length in range(1, len(name)):
            yield f"#SBATCH --{name[:length]}"
    yield from LINES
