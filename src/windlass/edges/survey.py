"""Read a site's live facts in one round trip. What cannot be read stays unknown."""

from collections.abc import Mapping
from dataclasses import dataclass

from windlass.core.facts import Association, Facts, SeenQos
from windlass.core.site import Site
from windlass.edges.cluster import TIMEOUT_S, make_unavailable_error
from windlass.edges.host import Completed, Host, Reply, Request, make_command, read_completed
from windlass.schedulers.slurm import survey
from windlass.schedulers.slurm.job_ids import count_tasks
from windlass.schedulers.slurm.queue import make_queue_command, read_queue
from windlass.schedulers.slurm.refusals import read_unavailable

_COMMANDS = {
    "partitions": survey.make_partitions_command(),
    "nodes": survey.make_nodes_command(),
    "config": survey.make_config_command(),
    "version": survey.make_version_command(),
    "associations": survey.make_associations_command(),
    "default_account": survey.make_default_account_command(),
    "qos": survey.make_qos_command(),
    "queue": make_queue_command(),
}


def take_survey(host: Host, site: Site, now: float) -> Facts:
    """Raises ClusterUnavailable when the controller is silent, SiteNotReady when there is no Slurm."""
    commands = [
        make_command(argv, timeout_s=TIMEOUT_S, path_prefix=site.software.slurm_path, idempotent=True)
        for argv in _COMMANDS.values()
    ]
    machine, *replies = host.ask([Request(operation="facts", arguments={"root": site.root}), *commands])
    told = _Told(done=dict(zip(_COMMANDS, map(read_completed, replies), strict=True)))
    told.raise_if_unavailable(site)
    return _make_facts(machine, told, now)


@dataclass(frozen=True)
class _Told:
    done: dict[str, Completed]

    def get(self, name: str) -> str | None:
        """What a command said, None when it failed."""
        done = self.done[name]
        return done.out if done.exit_code == 0 and not done.timed_out else None

    def raise_if_unavailable(self, site: Site) -> None:
        done = self.done["partitions"]
        problem = read_unavailable(done.out, done.err, done.exit_code, timed_out=done.timed_out)
        if problem is not None:
            raise make_unavailable_error(problem, site)


def _make_facts(machine: Reply, told: _Told, now: float) -> Facts:
    seen = machine.values if machine.ok else {}
    config = survey.read_config(told.get("config") or "")
    partitions, queue = told.get("partitions"), told.get("queue")
    return Facts(
        user=seen.get("user"),
        home=seen.get("home"),
        root=seen.get("root"),
        python_version=seen.get("python_version"),
        free_mb=seen.get("free_mb"),
        scheduler_version=survey.read_version(told.get("version") or ""),
        partitions=None if partitions is None else survey.read_partitions(partitions, told.get("nodes") or ""),
        associations=_read_associations(told, config),
        qos=_read_qos(told, config),
        max_array=survey.read_max_array(config),
        has_accounting=survey.read_has_accounting(config),
        jobs_in_queue=None if queue is None else _count_live_jobs(queue),
        taken_at=now,
    )


def _read_associations(told: _Told, config: Mapping[str, str]) -> tuple[Association, ...] | None:
    text = told.get("associations")
    if text is None or _is_foreign(config):
        return None
    default = survey.read_default_account(told.get("default_account") or "")
    return survey.read_associations(text, default_account=default, cluster=config.get("ClusterName"))


def _read_qos(told: _Told, config: Mapping[str, str]) -> tuple[SeenQos, ...] | None:
    text = told.get("qos")
    return None if text is None or _is_foreign(config) else survey.read_qos(text)


def _is_foreign(config: Mapping[str, str]) -> bool:
    """This Slurm has no database, so the sacctmgr that answered is another's: pocket beside a real Slurm."""
    return bool(config) and not survey.read_has_accounting(config)


def _count_live_jobs(text: str) -> int:
    """As Slurm counts for its limits: every task of an array is a job."""
    return sum(count_tasks(job.job_id) for job in read_queue(text) if job.state.is_live)
