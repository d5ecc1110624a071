"""The agent's part in the network test: start it on every node, gather the reports, and have them judged.

Never the reason why a job does not start: where the test itself cannot be made, that is told and the command runs.
"""

import os
import re
import signal
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Mapping, Optional

from windlass_job import claims, disk, slurm, wire
from windlass_job.bounded import describe
from windlass_job.network.judgement import Reports, Verdict, find_launch_failure, judge
from windlass_job.network.testing import PLAN
from windlass_job.starting.hostlist import read_hosts
from windlass_job.starting.ports import get_first_port

LONGEST_S = 30.0  # for all of it
REPORTS_S = 3.0  # for reports to show up on a file server that is slow to tell
LOOK_S = 0.02
LOG = "srun.log"


class CannotTest(Exception):
    """The test itself could not be made; the network may be well."""


def list_hosts(env: Mapping[str, str]) -> List[str]:
    return read_hosts(env.get("SLURM_JOB_NODELIST") or env.get("SLURM_NODELIST") or "")


def is_pretended(env: Mapping[str, str]) -> bool:
    return bool(env.get(wire.ENV_POCKET_JOB))


def test_network(folder: str, attempt: int, env: Mapping[str, str], is_stopped: Callable[[], bool]) -> Verdict:
    """May raise CannotTest and OSError. `env` is the agent's, with the job's ports."""
    hosts = list_hosts(env)
    place = os.path.join(folder, wire.NETWORK_TEST, "{}.{}".format(slurm.get_job(env), attempt))
    plan = os.path.join(place, PLAN)
    _make_place(place)
    disk.write_new(os.fsencode(plan), disk.make_json(_make_plan(hosts, env)), 0o600)
    try:
        with open(os.path.join(place, LOG), "wb") as log:
            _run_step(_make_argv(folder, place, len(hosts)), env, log, is_stopped)
        said = _read_text(os.path.join(place, LOG))
        if "unrecognized option" in said:
            raise CannotTest(_get_last_line(said))
        reports = _gather(place, hosts)
    finally:
        disk.remove_if_there(os.fsencode(plan))  # the word in it is worth nothing any more
    if is_stopped():
        raise CannotTest("the job was told to stop")
    return _judge(hosts, reports, said)


def _make_place(place: str) -> None:
    """Its own user's only: the word by which the nodes know each other lies there."""
    for path, mode in ((os.path.dirname(place), 0o777), (place, 0o700)):
        try:
            os.mkdir(path, mode)
        except FileExistsError:
            pass


def _make_plan(hosts: List[str], env: Mapping[str, str]) -> Dict[str, Any]:
    job = slurm.read_number(env, "SLURM_JOB_ID", 0)
    block = slurm.read_number(env, wire.ENV_PORTS, get_first_port(job))
    return {
        "hosts": hosts,
        "suffix": env.get(wire.ENV_HOST_SUFFIX, ""),
        # Pretended nodes are one machine and need not have names: each listens on a loopback address of its own.
        "addresses": ["127.0.0.{}".format(at) for at in range(1, len(hosts) + 1)] if is_pretended(env) else None,
        "block": block,
        "rendezvous": slurm.read_number(env, "MASTER_PORT", block + wire.MASTER_PLACE),
        "interface": _find_interface(env),
        "word": os.urandom(32).hex(),
    }


def _find_interface(env: Mapping[str, str]) -> Optional[str]:
    """Only a plain name says which one it is: NCCL takes beginnings of names too, and names not to be used."""
    for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        value = env.get(name, "")
        if re.match(r"=?[\w.-]+\d(,[\w.-]+\d)*\Z", value):
            return value
    return None


def _make_argv(folder: str, place: str, count: int) -> List[str]:
    return [
        "srun",
        "--nodes={}".format(count),
        "--ntasks={}".format(count),
        "--ntasks-per-node=1",
        "--kill-on-bad-exit=0",
        "--mpi=none",
        "--label",
        sys.executable,
        "-I",
        os.path.join(folder, wire.JOB_ZIP),
        wire.NETWORK_TASK,
        place,
    ]


def _run_step(argv: List[str], env: Mapping[str, str], log: Any, is_stopped: Callable[[], bool]) -> None:
    try:
        step = subprocess.Popen(
            argv, env=dict(env), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    except OSError as error:
        raise CannotTest("srun: {}".format(describe(error))) from None
    deadline = time.monotonic() + LONGEST_S
    while step.poll() is None and time.monotonic() < deadline and not is_stopped():
        time.sleep(LOOK_S)
    if step.poll() is None:
        _end_step(step)


def _end_step(step: "subprocess.Popen[bytes]") -> None:
    """On TERM srun ends its tasks too."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        os.killpg(step.pid, number)
        try:
            step.wait(2.0)
            return
        except subprocess.TimeoutExpired:
            pass


def _gather(place: str, hosts: List[str]) -> Reports:
    deadline = time.monotonic() + REPORTS_S
    while True:
        claims.refresh_folder(os.fsencode(place))
        found = {host: _load_report(place, host) for host in hosts}
        reports = {host: report for host, report in found.items() if report is not None}
        if len(reports) == len(hosts) or not reports or time.monotonic() > deadline:
            return reports
        time.sleep(0.1)


def _load_report(place: str, host: str) -> Optional[Dict[str, Any]]:
    return disk.read_json(os.fsencode(os.path.join(place, host + ".json")))


def _judge(hosts: List[str], found: Reports, said: str) -> Verdict:
    reports = {host: report for host, report in found.items() if report.get("ended")}
    failure = find_launch_failure(said)
    if failure is not None and failure[0] in hosts and failure[0] not in reports:
        return judge(hosts, reports, {failure[0]: failure[1]})
    if not reports:
        raise CannotTest(_get_last_line(said) or "no node left a report within {:g} s".format(LONGEST_S))
    return judge(hosts, reports, {host: _tell_silence(host, hosts, found, said) for host in set(hosts) - set(reports)})


def _tell_silence(host: str, hosts: List[str], found: Reports, said: str) -> str:
    """What its task said last, else what srun said of it."""
    own = re.findall(r"^ *{}: (.+)$".format(hosts.index(host)), said, re.MULTILINE)
    about = re.findall(r"^srun: .*\b{}\b.*$".format(re.escape(host)), said, re.MULTILINE)
    words = own or about
    if words:
        return str(words[-1])[:300]
    if host in found:
        return "its part of the test did not come to its end"
    return "it left no report; does it see {}?".format(wire.NETWORK_TEST)


def _get_last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:300] if lines else ""


def _read_text(path: str) -> str:
    with open(path, "rb") as file:
        return file.read(1 << 20).decode("utf-8", "replace")
