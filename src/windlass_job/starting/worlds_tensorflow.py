"""TensorFlow's MultiWorkerMirroredStrategy: TF_CONFIG, every worker's address in the order of the ranks.

TensorFlow's own SlurmClusterResolver sorts hosts as text (n10 before n2), so that rank 0 takes another's address, and
gives every job the port 8888.
"""

import json
from typing import Dict, List, Mapping

from windlass_job.starting.steps import Step, read_step


def make_tensorflow(env: Mapping[str, str]) -> Dict[str, str]:
    step = read_step(env)
    workers = list_workers(step)
    made = {"TF_CONFIG": json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": step.rank}})}
    # gRPC goes through the proxy of the environment, also to a neighbour, unless it is told not to.
    made["no_grpc_proxy"] = ",".join(dict.fromkeys(step.hosts))
    made.update(_share_gpus(step, env.get("CUDA_VISIBLE_DEVICES", "")))
    return made


def list_workers(step: Step) -> List[str]:
    """One address a rank; on one node each has a port of its own."""
    places = [(host, local) for host, count in zip(step.hosts, step.counts) for local in range(count)]
    numbers = range(len(places)) if step.is_one_machine else [local for _, local in places]
    return ["{}:{}".format(host, step.first_port + number) for (host, _), number in zip(places, numbers)]


def _share_gpus(step: Step, visible: str) -> Dict[str, str]:
    """A worker takes all GPUs that it sees: several on a node must see different ones."""
    gpus = [one for one in visible.split(",") if one]
    ranks = step.counts[step.node] if step.node < len(step.counts) else 1
    each = len(gpus) // ranks
    if ranks == 1 or each == 0:
        return {}
    return {"CUDA_VISIBLE_DEVICES": ",".join(gpus[step.local_rank * each : (step.local_rank + 1) * each])}
