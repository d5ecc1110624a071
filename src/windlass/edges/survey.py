"""Read a site's live facts in one round trip. What cannot be read stays unknown."""

from collections.abc import Mapping
from dataclasses import dataclass

from windlass.core.facts import Association, Facts, Reservation, SeenPartition, SeenQos
from windlass.core.site import Site
from windlass.edges.cluster import make_unavailable_error
from windlass.edges.host import Completed, Host, Reply, Request, make_command, make_commands, read_all_completed
from windlass.edges.numbers import add_numbers, make_number_requests
from windlass.errors import ClusterUnavailable
from windlass.schedulers.slurm import limits, survey
from windlass.schedulers.slurm.queue_counts import make_count_command, read_counts
from windlass.schedulers.slurm.refusals import keep_lines, read_unavailable
from windlass.schedulers.slurm.reservations import make_reservations_command, read_reservations

_COMMANDS = {
    "partitions": survey.make_partitions_command(),
    "nodes": survey.make_nodes_command(),
    "config": survey.make_config_command(),
    "version": survey.make_version_command(),
    "associations": limits.make_associations_command(),
    "accounts": limits.make_accounts_command(),
    "default_account": limits.make_default_account_command(),
    "qos": limits.make_qos_command(),
    "queue": make_count_command(),
    "reservations": make_reservations_command(),
}
# What the deputy sees of the host it is on: named alike there and in Facts.
_OF_THE_MACHINE = (
    *("user", "home", "root", "python_version", "free_mb", "free_files"),
    *("inside_job", "architecture", "glibc"),
)
# A controller that is down takes 10 s to be told so; who waits for a plan does not wait for a sick Slurm much longer.
_ONE_ANSWER_S = 30.0
_ALL_ANSWERS_S = 45.0
# More lines than any site has: such an answer is no answer, and nothing that follows was made for it.
_MOST_LINES = {"partitions": 2_000, "qos": 5_000, "reservations": 2_000, "config": 5_000}
_MOST_OTHER_LINES = 200_000
_OF_THE_CONTROLLER = ("partitions", "nodes", "config", "queue")


def take_survey(host: Host, site: Site, now: float, *, limit_s: float = _ALL_ANSWERS_S) -> Facts:
    """Raises ClusterUnavailable when Slurm is silent or tells nothing, SiteNotReady when there is none."""
    commands = [
        make_command(argv, timeout_s=_ONE_ANSWER_S, path_prefix=site.software.slurm_path, idempotent=True)
        for argv in _COMMANDS.values()
    ]
    commands += make_number_requests(site, now)
    look = Request(operation="facts", arguments={"root": site.root})
    machine, answers = host.ask([look, make_commands(commands, limit_s=limit_s)])
    done = read_all_completed(answers, len(commands))
    told = _Told(done=dict(zip(_COMMANDS, done, strict=False)))
    told.raise_if_unavailable(site)
    return add_numbers(_make_facts(machine, told, now), site, done[len(_COMMANDS) :])


@dataclass(frozen=True)
class _Told:
    done: dict[str, Completed]

    def get(self, name: str) -> str | None:
        """What a command said, None when it failed or said what no site can have to say."""
        done = self.done[name]
        if done.exit_code != 0 or done.timed_out:
            return None
        return done.out if done.out.count("\n") <= _MOST_LINES.get(name, _MOST_OTHER_LINES) else None

    def raise_if_unavailable(self, site: Site) -> None:
        done = self.done["partitions"]
        problem = read_unavailable(done.out, done.err, done.exit_code, timed_out=done.timed_out)
        if problem is not None:
            raise make_unavailable_error(problem, site)
        if all(self.get(name) is None for name in _OF_THE_CONTROLLER):
            raise ClusterUnavailable(
                f"{site.name}: Slurm could not be asked: {_tell_end(done)}",
                said=keep_lines(done.err) or None,
                hint="try it there by hand: scontrol show partition",
            )


def _tell_end(done: Completed) -> str:
    if done.timed_out:
        return "scontrol did not answer in time"
    if done.exit_code < 0 and (said := keep_lines(done.err)):
        return said.splitlines()[-1]
    if done.exit_code:
        return f"scontrol ended with exit code {done.exit_code}"
    return "what scontrol says is too long to be true"


def _make_facts(machine: Reply, told: _Told, now: float) -> Facts:
    seen = machine.values if machine.ok else {}
    config = survey.read_config(told.get("config") or "")
    version = survey.read_version(told.get("version") or "")
    queue = told.get("queue")
    queued = None if queue is None else read_counts(queue)
    return Facts(
        **{name: seen.get(name) for name in _OF_THE_MACHINE},
        groups=tuple(seen["groups"]) if seen.get("groups") else None,
        scheduler_version=version,
        allows_children=survey.read_allows_children(version),
        partitions=_read_partitions(told, config),
        associations=_read_associations(told, config),
        qos=_read_qos(told, config),
        reservations=_read_reservations(told),
        max_array=survey.read_max_array(config),
        enforces_partition_limits=survey.read_enforces_partition_limits(config),
        enforces_limits=survey.read_enforces_limits(config),
        starts_only_what_is_paid=survey.read_starts_only_what_is_paid(config),
        memory_is_counted=survey.read_memory_is_counted(config),
        bills_the_largest=survey.read_bills_the_largest(config),
        has_accounting=survey.read_has_accounting(config),
        jobs_in_queue=None if queued is None else queued.all,
        jobs_by_account=None if queued is None else queued.by_account,
        jobs_by_qos=None if queued is None else queued.by_qos,
        taken_at=now,
    )


def _read_partitions(told: _Told, config: Mapping[str, str]) -> tuple[SeenPartition, ...] | None:
    text = told.get("partitions")
    return None if text is None else survey.read_partitions(text, told.get("nodes") or "", config=config)


def _read_associations(told: _Told, config: Mapping[str, str]) -> tuple[Association, ...] | None:
    text, cluster = told.get("associations"), config.get("ClusterName")
    if text is None or _is_foreign(config):
        return None
    default = limits.read_default_account(told.get("default_account") or "")
    mine = limits.read_associations(text, default_account=default, cluster=cluster)
    return limits.add_parents(mine, told.get("accounts") or "", cluster=cluster)


def _read_qos(told: _Told, config: Mapping[str, str]) -> tuple[SeenQos, ...] | None:
    text = told.get("qos")
    return None if text is None or _is_foreign(config) else limits.read_qos(text)


def _read_reservations(told: _Told) -> tuple[Reservation, ...] | None:
    text = told.get("reservations")
    return None if text is None else read_reservations(text, told.get("partitions") or "")


def _is_foreign(config: Mapping[str, str]) -> bool:
    """This Slurm has no database, so the sacctmgr that answered is another's: pocket beside a real Slurm."""
    return bool(config) and not survey.read_has_accounting(config)
