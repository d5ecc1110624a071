"""Run by the Python of a new environment: what it is, as one object of JSON. Any Python 3 will do; stdlib only."""

import json
import os
import platform
import subprocess
import sys
from typing import Dict, List

# A framework is asked in a process of its own: an import that crashes or hangs must not spoil the rest.
_ASK_TORCH = """
import json, torch
flags = torch._C._cuda_getArchFlags() if hasattr(torch._C, "_cuda_getArchFlags") else None
print("windlass:" + json.dumps((flags or "").split()))
"""
_ASK_TENSORFLOW = """
import json, tensorflow
print("windlass:" + json.dumps(list(tensorflow.sysconfig.get_build_info().get("cuda_compute_capabilities") or [])))
"""
_FRAMEWORKS = {"torch": _ASK_TORCH, "tensorflow": _ASK_TENSORFLOW}
_LONGEST_S = 120


def main() -> None:
    packages = list_packages()
    told = {
        "python": platform.python_version(),
        "glibc": platform.libc_ver()[1] or None,
        "platform": platform.machine(),
        "packages": packages,
        "outer": find_outer(packages),
        "gpu_code": find_gpu_code(packages),
    }
    sys.stdout.write(json.dumps(told, sort_keys=True) + "\n")


def list_packages() -> "Dict[str, str]":
    """Names as PyPI writes them: small, with hyphens."""
    try:
        from importlib.metadata import distributions  # novm: older ones go the other way
    except ImportError:  # Python 3.7 and older
        return _list_by_pip()
    found = {}  # type: Dict[str, str]
    for one in distributions():
        name = one.metadata["Name"]
        if name and one.version:
            found.setdefault(_normalize(name), one.version)  # the first on the path is the one that is imported
    return found


def find_outer(packages: "Dict[str, str]") -> "List[str]":
    """Those that lie elsewhere: modules bring them, or the system."""
    try:
        from importlib.metadata import distributions  # novm: older ones go the other way
    except ImportError:
        return sorted(set(packages) - set(_list_by_pip("--local")))
    inside = os.path.realpath(sys.prefix) + os.sep
    places = {}  # type: Dict[str, str]
    for one in distributions():
        if one.metadata["Name"]:
            places.setdefault(_normalize(one.metadata["Name"]), os.path.realpath(str(one.locate_file(""))))
    return sorted(name for name, place in places.items() if name in packages and not place.startswith(inside))


def _list_by_pip(*more: str) -> "Dict[str, str]":
    said = _run(["-m", "pip", "list", "--format=json", "--disable-pip-version-check", *more])
    try:
        return {_normalize(one["name"]): one["version"] for one in json.loads(said)}
    except ValueError:  # no pip
        return {}


def _normalize(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def find_gpu_code(packages: "Dict[str, str]") -> "Dict[str, List[str]]":
    found = {}
    for name, question in _FRAMEWORKS.items():
        answer = _ask(question) if name in packages else []
        if answer:
            found[name] = answer
    return found


def _ask(question: str) -> "List[str]":
    for line in _run(["-c", question]).splitlines():
        if line.startswith("windlass:"):
            return [str(one) for one in json.loads(line[len("windlass:") :])]
    return []


def _run(words: "List[str]") -> str:
    """What this Python says to it; nothing where it fails."""
    env = dict(os.environ, CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
    try:
        done = subprocess.run(
            [sys.executable, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_LONGEST_S,
            env=env,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")


if __name__ == "__main__":
    main()
