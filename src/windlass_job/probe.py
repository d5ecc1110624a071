"""What a compute node is like, told once by a short test job: `windlass site check NAME --deep`.

Every part stands alone: what cannot be seen is None, and nothing here can hang for longer than its patience.
"""

import argparse
import json
import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple
from urllib.parse import urlsplit

from windlass_job.bounded import within

PATIENCE_S = 5.0
# Any of them answers where there is internet; an address without a name tells a missing name service apart.
OUTSIDE = (("pypi.org", 443), ("huggingface.co", 443), ("github.com", 443), ("1.1.1.1", 443))
PROGRAMS = ("scontrol", "srun", "nvidia-smi", "rocm-smi", "apptainer", "singularity", "enroot", "module", "ldd")
_NVIDIA = ("name", "driver_version", "memory.total", "compute_cap")
_GPU_WORDS = ("name", "driver", "memory_mb", "capability")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", action="append", default=[], help="is it there, and can it be written to")
    parser.add_argument("--output", help="write here (aside, then renamed) instead of to stdout")


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    text = json.dumps(take_probe(options.folder, env), indent=1, sort_keys=True) + "\n"
    if options.output is None:
        sys.stdout.write(text)
        return 0
    aside = options.output + ".new"
    with open(aside, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.rename(aside, options.output)
    return 0


def take_probe(folders: Sequence[str], env: Mapping[str, str]) -> Dict[str, Any]:
    parts: Dict[str, Callable[[], Any]] = {
        "host": socket.gethostname,
        "time": time.time,
        "job": lambda: env.get("SLURM_JOB_ID"),
        "architecture": platform.machine,
        "kernel": platform.release,
        "glibc": read_glibc,
        "python": platform.python_version,
        "cpus": lambda: len(os.sched_getaffinity(0)),
        "locked_memory_kb": read_locked_memory,
        "gpus": load_gpus,
        "cuda": load_cuda,
        "shared_memory": lambda: load_disk("/dev/shm"),
        "local_disk": lambda: load_local_disk(env),
        "home": lambda: load_folder(os.path.expanduser("~")),
        "folders": lambda: {folder: load_folder(folder) for folder in folders},
        "internet": lambda: try_internet(env),
        "programs": lambda: {name: find_program(name, env) for name in PROGRAMS},
    }
    return {name: _try(part) for name, part in parts.items()}


def _try(part: Callable[[], Any]) -> Any:
    try:
        return within(len(OUTSIDE) * PATIENCE_S + PATIENCE_S, part)
    except (OSError, ValueError, AttributeError, subprocess.SubprocessError):
        return None


def read_glibc() -> Optional[str]:
    """None with another C library."""
    try:
        word = os.confstr("CS_GNU_LIBC_VERSION")
    except ValueError:
        return None
    return word.split()[-1] if word else None


def read_locked_memory() -> Optional[int]:
    """None: no limit, as InfiniBand needs it."""
    soft = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    return None if soft == resource.RLIM_INFINITY else soft // 1024


def load_gpus() -> Optional[List[Dict[str, Any]]]:
    """An old driver does not know `compute_cap`: then it is left out."""
    for fields in (_NVIDIA, _NVIDIA[:-1]):
        told = _ask(("nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits"))
        if told is not None:
            rows = [[word.strip() for word in line.split(",")] for line in told.splitlines() if line.strip()]
            return [{name: row[i] for i, name in enumerate(_GPU_WORDS[: len(row)])} for row in rows]
    return None


def load_cuda() -> Optional[str]:
    """The newest CUDA the driver can serve, from the head of nvidia-smi's table."""
    told = _ask(("nvidia-smi",))
    _, found, rest = (told or "").partition("CUDA Version:")
    return rest.split()[0] if found and rest.split() else None


def _ask(argv: Sequence[str]) -> Optional[str]:
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def load_local_disk(env: Mapping[str, str]) -> Optional[Dict[str, Any]]:
    """The first that is there of the places where a node's own disk is usually found."""
    for name in ("SLURM_TMPDIR", "TMPDIR"):
        if env.get(name) and os.path.isdir(env[name]):
            return dict(load_disk(env[name]), variable=name)
    return dict(load_disk("/tmp"), variable=None)


def load_disk(path: str) -> Dict[str, Any]:
    seen = os.statvfs(path)
    return {
        "path": path,
        "kind": find_file_system(path),
        "size_mb": seen.f_blocks * seen.f_frsize // 1000000,
        "free_mb": seen.f_bavail * seen.f_frsize // 1000000,
    }


def find_file_system(path: str) -> Optional[str]:
    """The kind of the longest mount point above it: "tmpfs", "lustre", "ext4"."""
    real = os.path.realpath(path)
    best: Tuple[int, Optional[str]] = (-1, None)
    with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
        for line in file:
            words = line.split()
            point = words[1].replace("\\040", " ") if len(words) > 2 else ""
            inside = real == point or real.startswith(point.rstrip("/") + "/")
            if point and inside and len(point) >= best[0]:
                best = (len(point), words[2])
    return best[1]


def load_folder(path: str) -> Dict[str, Any]:
    there = os.path.isdir(path)
    return {"path": path, "is_there": there, "is_writable": there and os.access(path, os.W_OK | os.X_OK)}


def find_program(name: str, env: Mapping[str, str]) -> Optional[str]:
    """`module` is a function of the shell, and not inherited as such: Lmod and Tcl leave these behind."""
    if name == "module":
        return env.get("LMOD_CMD") or env.get("MODULESHOME")
    return shutil.which(name, path=env.get("PATH"))


def try_internet(env: Mapping[str, str]) -> Dict[str, Any]:
    """Direct connections, and the proxy where one is named."""
    reached = [host for host, port in OUTSIDE if can_connect(host, port)]
    proxy = env.get("https_proxy") or env.get("HTTPS_PROXY")
    return {"reached": reached, "tried": [host for host, _ in OUTSIDE], "proxy": _try_proxy(proxy)}


def _try_proxy(address: Optional[str]) -> Optional[bool]:
    if not address:
        return None
    parts = urlsplit(address if "//" in address else "//" + address)
    return can_connect(parts.hostname or "", parts.port or 3128)


def can_connect(host: str, port: int) -> bool:
    """The name service has no time limit of its own, so the whole is bounded."""
    try:
        within(PATIENCE_S, _connect, host, port)
    except (OSError, ValueError):
        return False
    return True


def _connect(host: str, port: int) -> None:
    socket.create_connection((host, port), timeout=PATIENCE_S).close()
