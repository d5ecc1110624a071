"""Starts srun with the --mpi= that works: what Slurm offers here and the program's MPI understands.

A wrong one is the classical failure: MPI_Init breaks down, or every process believes to be rank 0 of 1 and does the
whole work alone. So two processes of the program's own Python try it first, where that has mpi4py.
"""

import argparse
import os
import re
import shutil
import subprocess
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

from windlass_job import slurm, wire
from windlass_job.bounded import describe, say

LIST_S = 20.0
TRY_S = 30.0
END_S = 10.0
NONE = ("none", "openmpi")  # they leave MPI to itself
# In this order where nothing is known of the program's MPI.
USUAL = ("pmix", "pmi2", "cray_shasta")
# Whose MPI a loaded module brings, by a variable of its own, and what that understands.
OF_MODULES = (("CRAY_MPICH_VERSION", "cray_shasta"), ("I_MPI_ROOT", "pmi2"))
SUM_UP = "from mpi4py import MPI; print('windlass sums up', MPI.COMM_WORLD.allreduce(1), flush=True)"
SUM = "windlass sums up {}"
NO_MPI4PY = "No module named 'mpi4py'"

Verdict = NamedTuple("Verdict", [("works", Optional[bool]), ("words", str)])  # None: it cannot be tried


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--processes", type=int, required=True, help="of all nodes together")
    parser.add_argument("--try-with", help="the Python whose mpi4py says whether it works")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="srun and its words")


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    made = dict(env)
    try:
        argv = _choose(options, made)
    except LookupError as error:
        say(str(error.args[0]))
        return wire.EXIT_NOT_STARTED
    try:
        os.execvpe(argv[0], argv, made)
    except OSError as error:
        say("cannot start {}: {}".format(argv[0], describe(error)))
        return wire.EXIT_NOT_STARTED


def _choose(options: argparse.Namespace, env: Dict[str, str]) -> List[str]:
    """LookupError where nothing works."""
    if env.get("SLURM_MPI_TYPE"):
        return list(options.command)  # the user's or the site's own word
    kinds = order_kinds(_fetch_kinds(env), env)
    if not options.try_with or options.processes < 2:
        return _with_kind(options.command, kinds[0]) if kinds else _use_mpirun(options, env, "srun offers no MPI")
    failures = []
    for kind in kinds:
        verdict = try_kind(kind, options.try_with, env)
        if verdict.works is not False:
            return _with_kind(options.command, kind)
        failures.append("--mpi={}: {}".format(kind, verdict.words))
    return _use_mpirun(options, env, "; ".join(failures) or "srun offers no MPI")


def read_kinds(text: str) -> List[str]:
    """What `srun --mpi=list` prints, a heading and a word a line; older versions begin each line with `srun:`."""
    words = [line.replace("srun:", "").strip() for line in text.splitlines()]
    return [word for word in words if re.match(r"[a-z]\w*$", word)]


def order_kinds(kinds: List[str], env: Mapping[str, str]) -> List[str]:
    """The most likely first; without those that do nothing."""
    wanted = [kind for variable, kind in OF_MODULES if env.get(variable)]
    first = [kind for kind in wanted + list(USUAL) if kind in kinds]
    rest = [kind for kind in kinds if kind not in NONE and not kind.startswith("pmix_")]
    return list(dict.fromkeys(first + rest))


def _fetch_kinds(env: Mapping[str, str]) -> List[str]:
    return read_kinds(_ask(["srun", "--mpi=list"], env, LIST_S)[1])


def try_kind(kind: str, python: str, env: Mapping[str, str]) -> Verdict:
    """Whether two processes, on two nodes where there are two, find each other."""
    nodes = min(2, slurm.read_number(env, "SLURM_JOB_NUM_NODES", 1))
    argv = ["srun", "--mpi=" + kind, "--nodes={}".format(nodes), "--ntasks=2", "--kill-on-bad-exit=1", "--quiet"]
    code, text = _ask(argv + [python, "-c", SUM_UP], env, TRY_S)
    if code == 0 and SUM.format(2) in text:
        return Verdict(True, "")
    if SUM.format(1) in text:
        return Verdict(False, "every process believes to be rank 0 of 1")
    if code is None:
        return Verdict(False, "no answer within {:g} s. {}".format(TRY_S, _shorten(text)).strip())
    if NO_MPI4PY in text:
        return Verdict(None, "")
    return Verdict(False, _shorten(text) or "exit code {}".format(code))


def _ask(argv: List[str], env: Mapping[str, str], limit_s: float) -> Tuple[Optional[int], str]:
    """Exit code, None where the time was over, and all that was said."""
    clean = {name: value for name, value in env.items() if name != "SLURM_NTASKS_PER_NODE"}
    try:
        child = subprocess.Popen(
            argv, env=clean, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except OSError as error:
        return 127, describe(error)
    try:
        text, _ = child.communicate(timeout=limit_s)
        return child.returncode, text.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        child.terminate()  # at which srun kills its tasks
    try:
        text, _ = child.communicate(timeout=END_S)
    except subprocess.TimeoutExpired:
        text = b""
    return None, text.decode("utf-8", "replace")


def _shorten(text: str) -> str:
    lines = [line.strip(" *-\t") for line in text.splitlines() if "srun:" not in line]
    return next((line for line in lines if line), "")[:200]


def _with_kind(command: List[str], kind: str) -> List[str]:
    return [command[0], "--mpi=" + kind] + command[1:]


def _use_mpirun(options: argparse.Namespace, env: Dict[str, str], why: str) -> List[str]:
    """mpirun of the program's own MPI knows how to start processes in a job of Slurm."""
    folder = os.path.dirname(options.try_with or "")
    program = shutil.which("mpirun", path=folder) if folder else None
    program = program or shutil.which("mpirun", path=env.get("PATH"))
    if program is None:
        raise LookupError(
            "the program's MPI and srun do not understand each other ({}), and there is no mpirun: "
            "load the site's own MPI module, or set SLURM_MPI_TYPE in [run.env]".format(why)
        )
    say("MPI is started by {}: {}".format(program, why))
    if env.get(wire.ENV_POCKET_JOB) or env.get("SLURM_JOB_NUM_NODES", "1") == "1":
        env.update(_stay_here(env))
    words = list(options.command)
    ours = next(at for at, word in enumerate(words) if at and not word.startswith("-"))
    return [program, "-n", str(options.processes)] + words[ours:]


def _stay_here(env: Mapping[str, str]) -> Dict[str, str]:
    """So that Open MPI starts processes itself, as many as asked for: all nodes are this one."""
    wishes = {
        "OMPI_MCA_ras": "^slurm",
        "OMPI_MCA_plm": "isolated",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_ras": "^slurm",
        "PRTE_MCA_plm": "^slurm",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    if os.geteuid() == 0:
        wishes.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    return {name: value for name, value in wishes.items() if name not in env}
