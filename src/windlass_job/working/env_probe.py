"""Run by the Python of a new environment: what it is, as one object of JSON. Any Python 3 will do; stdlib only."""

import json
import os
import platform
import subprocess
import sys
from typing import Any, Dict, List, Optional

# A framework is asked in a process of its own: an import that crashes or hangs must not spoil the rest.
_ASK_TORCH = """
import json, torch
flags = torch._C._cuda_getArchFlags() if hasattr(torch._C, "_cuda_getArchFlags") else None
made = [(one, getattr(torch.version, one, None)) for one in ("cuda", "hip", "xpu")]
made = " ".join(str(word) for pair in made for word in pair if pair[1])
print("windlass:" + json.dumps({"code": (flags or "").split(), "made_for": made}))
"""
_ASK_TENSORFLOW = """
import json, tensorflow
told = tensorflow.sysconfig.get_build_info()
made = " ".join(one for one in ("cuda", "rocm") if told.get("is_%s_build" % one)) if "is_cuda_build" in told else None
print("windlass:" + json.dumps({"code": list(told.get("cuda_compute_capabilities") or []), "made_for": made}))
"""
# It tells only what it finds on a node with a GPU: its library is read instead. What PyPI calls jaxlib is for
# processors, and plugins bring the rest; others, who put both into one, mark their builds with a +.
_ASK_JAX = """
import glob, importlib, importlib.util, json, os, re, sys
sys.path.insert(0, os.environ["WINDLASS_PROBE_FOLDER"])
reader = importlib.import_module(os.environ["WINDLASS_PROBE_READER"])
found = importlib.util.find_spec("jax_plugins")
folders = list(found.submodule_search_locations or []) if found else []
paths = [path for one in folders for path in sorted(glob.glob(os.path.join(one, "xla_cuda*", "xla_cuda_plugin.so")))]
made = None
try:
    from importlib.metadata import distribution, distributions
    jaxlib = distribution("jaxlib")
    names = [re.sub("[-_.]+", "-", str(one.metadata["Name"])).lower() for one in distributions()]
    others = [one for one in names if re.match(r"jax-(cuda|rocm|metal)|libtpu", one)]
    is_plain = (jaxlib.read_text("INSTALLER") or "").strip() in ("pip", "uv") and "+" not in jaxlib.version
    made = "" if is_plain and not others and not paths else None
except ImportError:
    pass
print("windlass:" + json.dumps({"code": reader.read_library(paths[0]) if paths else [], "made_for": made}))
"""
_FRAMEWORKS = {"torch": _ASK_TORCH, "tensorflow": _ASK_TENSORFLOW, "jax": _ASK_JAX}
_READERS = ("windlass_gpu_code", "gpu_code")  # as it is laid beside this file, and as it is called in the package
_LONGEST_S = 120


def main() -> None:
    packages = list_packages()
    answers = ask_frameworks(packages)
    told = {
        "python": platform.python_version(),
        "glibc": platform.libc_ver()[1] or None,
        "platform": platform.machine(),
        "packages": packages,
        "outer": find_outer(packages),
        "gpu_code": {name: one["code"] for name, one in answers.items() if one["code"]},
        # "cuda 12.4", "hip 6.0"; empty: it was asked, and can use no GPU
        "made_for": {name: one["made_for"] for name, one in answers.items() if one["made_for"] is not None},
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


def ask_frameworks(packages: "Dict[str, str]") -> "Dict[str, Dict[str, Any]]":
    """Those that are there and answer."""
    asked = {name: _ask(question) for name, question in _FRAMEWORKS.items() if name in packages}
    return {name: answer for name, answer in asked.items() if answer is not None}


def _ask(question: str) -> "Optional[Dict[str, Any]]":
    for line in _run(["-c", question]).splitlines():
        if line.startswith("windlass:"):
            told = json.loads(line[len("windlass:") :])
            return {"code": [str(one) for one in told["code"]], "made_for": told["made_for"]}
    return None


def _run(words: "List[str]") -> str:
    """What this Python says to it; nothing where it fails."""
    env = dict(os.environ, CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
    here = os.path.dirname(os.path.abspath(__file__))
    reader = next((one for one in _READERS if os.path.exists(os.path.join(here, one + ".py"))), "")
    env.update(WINDLASS_PROBE_FOLDER=here, WINDLASS_PROBE_READER=reader)
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
