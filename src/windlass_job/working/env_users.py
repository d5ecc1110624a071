"""Which runs use an environment: their plans name it, and they wait or run."""

import os
import time
from typing import Any, Dict, List

from windlass_job import disk, wire

_FRESH_S = 600  # an agent that has said nothing for so long is dead


def find_users(root: bytes, request: "Dict[str, Any]") -> "List[str]":
    """Runs whose plan names it, and that wait or run: by the laptop's word, or by that of their agent."""
    runs = os.path.join(root, disk.as_path(wire.RUNS))
    users = []
    for name in sorted(os.listdir(runs)) if os.path.isdir(runs) else []:
        plan = disk.read_json(os.path.join(runs, name, disk.as_path(wire.PLAN_JSON))) or {}
        is_known = disk.as_text(name) in (request.get("runs") or ())
        if _is_user(plan, request) and (is_known or _is_running(os.path.join(runs, name))):
            users.append(disk.as_text(name))
    return users


def _is_user(plan: "Dict[str, Any]", request: "Dict[str, Any]") -> bool:
    """Of what was built; or of the wheels alone, from which its nodes make the environment themselves."""
    wheels = "/{}/{}".format(wire.WHEELS, request["id"])
    if any(wheels in str(line) for line in plan.get("activate") or ()):
        return True
    return plan.get("environment") == request["id"] and not request.get("only_wheels")


def _is_running(run: bytes) -> bool:
    path = os.path.join(run, disk.as_path(wire.STATUS))
    status = disk.read_json(path) or {}
    return status.get("state") == wire.RUNNING and time.time() - os.stat(path).st_mtime < _FRESH_S
