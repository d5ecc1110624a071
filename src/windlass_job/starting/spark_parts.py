"""The parts of a Spark cluster on one node: where Spark is, its settings, its daemons, and who has come."""

import http.client
import json
import os
import shutil
import subprocess
from collections import Counter
from typing import Dict, List, Mapping, NamedTuple, Optional

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
KEPT_MB = 2048  # of a node: for master, worker and driver
HEAP = 0.6  # of the rest: what Python takes beside the executor is not counted by Spark
LEAST_MB = 512
STOP_S = 10.0
ASK_S = 5.0

Share = NamedTuple("Share", [("cores", int), ("worker_mb", int), ("executor_mb", int)])


def make_share(cores: int, memory_mb: int) -> Share:
    rest = max(LEAST_MB, memory_mb - KEPT_MB)
    return Share(cores=cores, worker_mb=rest, executor_mb=max(LEAST_MB, int(rest * HEAP)))


def load_memory_mb(env: Mapping[str, str]) -> int:
    """Of this node, for the job: what was asked for, or all there is."""
    if env.get("SLURM_MEM_PER_NODE", "").isdigit() and int(env["SLURM_MEM_PER_NODE"]):
        return int(env["SLURM_MEM_PER_NODE"])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20


def find_spark_class(env: Mapping[str, str], beside: Optional[str]) -> Optional[str]:
    """On the PATH, beside the program that the command names, or under SPARK_HOME."""
    home = env.get("SPARK_HOME")
    folders = [beside, os.path.join(home, "bin") if home else None]
    found = (shutil.which("spark-class", path=folder) for folder in folders if folder)
    return next((one for one in found if one), None) or shutil.which("spark-class", path=env.get("PATH"))


def has_java(env: Mapping[str, str]) -> bool:
    home = env.get("JAVA_HOME")
    return bool(home and os.path.exists(os.path.join(home, "bin", "java"))) or bool(
        shutil.which("java", path=env.get("PATH"))
    )


def save_settings(folder: str, own: Mapping[str, str], defaults: Mapping[str, str], env: Mapping[str, str]) -> str:
    """A folder for SPARK_CONF_DIR: the user's with what must be so, and ours where he says nothing. The file's name."""
    source = env.get("SPARK_CONF_DIR") or os.path.join(env.get("SPARK_HOME", ""), "conf")
    if os.path.isabs(source) and os.path.isdir(source):
        shutil.copytree(source, folder)
    else:
        os.mkdir(folder)
    path = os.path.join(folder, "spark-defaults.conf")
    users = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            users = file.read()
        os.remove(path)
    # The last line for a key counts.
    text = _format(defaults) + users + "\n" + _format(own)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _format(settings: Mapping[str, str]) -> str:
    return "".join("{} {}\n".format(key, value.replace("\\", "\\\\")) for key, value in sorted(settings.items()))


class Daemon:
    """A master or a worker; what it says goes into a file."""

    def __init__(self, name: str, argv: List[str], env: Mapping[str, str], log: str) -> None:
        """May raise OSError."""
        self.name = name
        self.log = log
        with open(log, "ab") as file:
            self._child = subprocess.Popen(
                argv, env=dict(env), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
            )

    @property
    def is_alive(self) -> bool:
        return self._child.poll() is None

    def tell_end(self) -> str:
        return "ended with {}; the end of {}: {}".format(self._child.poll(), self.log, _load_last_line(self.log))

    def stop(self) -> None:
        if not self.is_alive:
            return
        self._child.terminate()
        try:
            self._child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


def _load_last_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file if line.strip()]
    except OSError:
        lines = []
    return lines[-1][:300] if lines else "nothing"


def fetch_workers(port: int) -> List[str]:
    """The host of each worker that the master of this node knows and hears. May raise OSError, while it starts."""
    asking = http.client.HTTPConnection("127.0.0.1", port, timeout=ASK_S)
    try:
        asking.request("GET", "/json/")
        answer: Dict[str, List[Dict[str, str]]] = json.loads(asking.getresponse().read().decode("utf-8"))
    except (http.client.HTTPException, ValueError) as error:
        raise OSError(str(error))
    finally:
        asking.close()
    return [one["host"] for one in answer.get("workers", []) if one.get("state") == "ALIVE"]


def name_missing(hosts: List[str], here: List[str]) -> str:
    return ", ".join((Counter(hosts) - Counter(here)).elements()) or "none"
