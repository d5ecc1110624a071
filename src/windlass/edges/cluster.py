"""A host and a dialect together: what Slurm says about all my jobs, in one round trip."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from windlass.core.jobs import JobSeen
from windlass.core.site import Site
from windlass.edges.host import (
    Completed,
    Host,
    Reply,
    Request,
    make_command,
    make_commands,
    read_all_completed,
    read_completed,
)
from windlass.errors import ClusterRefused, ClusterUnavailable, SiteNotReady, WindlassError
from windlass.schedulers import SCHEDULERS
from windlass.schedulers.answers import AccountingUnavailable, ExpectedStart, Refusal, Unavailable
from windlass.schedulers.slurm.dialect import Slurm
from windlass.schedulers.slurm.history import read_accounting_problem
from windlass.schedulers.slurm.job_ids import pick_valid_ids
from windlass.schedulers.slurm.merge import merge_jobs
from windlass.schedulers.slurm.one_job import make_job_command, read_jobs
from windlass.schedulers.slurm.refusals import keep_lines, read_unavailable
from windlass.schedulers.slurm.submit import (
    make_cancel_command,
    make_estimate_command,
    read_cancel,
    read_estimate,
)

# squeue takes 9.4 s to say that the controller is down, and a busy one answers late.
TIMEOUT_S = 60.0
ESTIMATE_S = 15.0  # a guess is not worth a minute
_MOST_RETRIES = 10  # sacct names one refused field at a time
_MOST_SINGLE_QUESTIONS = 20
_MOST_IDS = 1000  # in one `sacct -j`: far below any limit of a command line


@dataclass(frozen=True, kw_only=True)
class Look:
    """What one look at the site showed. A job that is missing here is not "failed": it is unknown."""

    jobs: tuple[JobSeen, ...]
    history_unavailable: AccountingUnavailable | None = None
    refused_fields: tuple[str, ...] = ()  # to be given to the next `Cluster` of this site
    extra: tuple[Reply, ...] = ()  # answers to what was asked `also`, in the same round trip

    def by_base_id(self) -> dict[str, list[JobSeen]]:
        found: dict[str, list[JobSeen]] = {}
        for job in self.jobs:
            found.setdefault(job.base_id, []).append(job)
        return found


class Cluster:
    """Real Slurm or pocket: the site's `slurm_path` decides which programs answer.

    A path such as "@pocket" or one with variables must have been filled in before.
    """

    def __init__(self, host: Host, site: Site, refused_fields: Iterable[str] = ()) -> None:
        self.host = host
        self.site = site
        self.dialect: Slurm = SCHEDULERS[site.scheduler].without(refused_fields)

    def look(self, job_ids: Iterable[str] = (), *, also: Sequence[Request] = ()) -> Look:
        """All my jobs in the queue, and what became of these numbers where the queue has forgotten them."""
        wanted = pick_valid_ids(job_ids)
        batches = [wanted[start : start + _MOST_IDS] for start in range(0, len(wanted), _MOST_IDS)]
        told = self._ask(lambda dialect: [dialect.make_history_command(batch) for batch in batches], also)
        old = self._ask_singly(told.queue, wanted) if told.problem else told.history
        return replace(self._make_look(merge_jobs(told.queue, old), told.problem), extra=told.extra)

    def look_by_name(self, name: str, since: float) -> Look:
        """All my jobs in the queue, and those of this name in the history."""
        told = self._ask(lambda dialect: [dialect.make_history_by_name_command(name, since)])
        return self._make_look(merge_jobs(told.queue, told.history), told.problem)

    def cancel(self, job_ids: Iterable[str], *, before: Sequence[Request] = ()) -> None:
        """Fine for jobs that ended or never were. Refused only where one is not yours."""
        wanted = pick_valid_ids(job_ids)
        if not wanted:
            return
        replies = self.host.ask([*before, self.make_request(make_cancel_command(wanted))])
        raise_if_not_cancelled(read_completed(replies[-1]), self.site)

    def look_at_known(self, job_ids: Iterable[str]) -> tuple[JobSeen, ...]:
        """What the controller itself still knows of these numbers: it forgets jobs some minutes after their end."""
        wanted = pick_valid_ids(job_ids)[:_MOST_SINGLE_QUESTIONS]
        answers = self.run([make_job_command(job_id) for job_id in wanted])
        for done in answers[:1]:
            raise_if_unavailable(done, self.site)
        return tuple(job for done in answers for job in read_jobs(done.out))

    def estimate_starts(self, texts: Sequence[str]) -> list[ExpectedStart | Refusal]:
        """Of several scripts that lie nowhere yet, in one round trip: sbatch reads them from its input.

        Submits nothing; a refusal here would be one of the real submission too.
        """
        asked = [
            make_command(
                make_estimate_command(),
                stdin=text.encode(),
                timeout_s=ESTIMATE_S,
                path_prefix=self.site.software.slurm_path,
                idempotent=True,
            )
            for text in texts
        ]
        answers = [read_completed(reply) for reply in self.host.ask(asked)]
        for done in answers[:1]:
            raise_if_unavailable(done, self.site)
        return [read_estimate(done.out, done.err, done.exit_code) for done in answers]

    def run(self, commands: Sequence[Sequence[str]]) -> list[Completed]:
        """These commands of Slurm's in one round trip, side by side and together no longer than one may take."""
        if not commands:
            return []
        asked = [self.make_request(argv) for argv in commands]
        [reply] = self.host.ask([make_commands(asked, limit_s=TIMEOUT_S)])
        return read_all_completed(reply, len(asked))

    def make_request(self, argv: Sequence[str]) -> Request:
        return make_command(argv, timeout_s=TIMEOUT_S, path_prefix=self.site.software.slurm_path, idempotent=True)

    def _ask(self, make_histories: Callable[[Slurm], list[list[str]]], also: Sequence[Request] = ()) -> "_Told":
        """All questions in one round trip; again only when this Slurm does not know a field."""
        for _ in range(_MOST_RETRIES):
            commands = [self.dialect.make_queue_command(), *make_histories(self.dialect)]
            replies = self.host.ask([*(self.make_request(argv) for argv in commands), *also])
            queue, *histories = [read_completed(reply) for reply in replies[: len(commands)]]
            history_err = "".join(history.err for history in histories)
            newer = self.dialect.without_refused(queue_err=queue.err, history_err=history_err)
            if newer == self.dialect:
                break
            self.dialect = newer
        raise_if_unavailable(queue, self.site)
        return self._read(queue, histories, tuple(replies[len(commands) :]))

    def _read(self, queue: Completed, histories: Sequence[Completed], extra: tuple[Reply, ...]) -> "_Told":
        if queue.exit_code != 0:
            said = keep_lines(queue.err or queue.out)
            raise ClusterUnavailable(f"squeue at {self.site.name} failed (exit code {queue.exit_code})", said=said)
        problem = next((found for history in histories if (found := _find_problem(history))), None)
        old = [job for history in histories for job in self.dialect.read_history(history.out)] if not problem else []
        return _Told(queue=self.dialect.read_queue(queue.out), history=old, problem=problem, extra=extra)

    def _ask_singly(self, queue: Sequence[JobSeen], wanted: Sequence[str]) -> list[JobSeen]:
        """Without accounting, exit codes of jobs that just ended are only in `scontrol show job`."""
        ended = {job.base_id for job in queue if job.state.is_final}
        asked = [job_id for job_id in wanted if job_id in ended][:_MOST_SINGLE_QUESTIONS]
        if not asked:
            return []
        return [job for done in self.run([make_job_command(job_id) for job_id in asked]) for job in read_jobs(done.out)]

    def _make_look(self, jobs: Iterable[JobSeen], problem: AccountingUnavailable | None) -> Look:
        return Look(jobs=tuple(jobs), history_unavailable=problem, refused_fields=self.dialect.refused)


@dataclass(frozen=True, kw_only=True)
class _Told:
    queue: list[JobSeen]
    history: list[JobSeen]
    problem: AccountingUnavailable | None
    extra: tuple[Reply, ...] = ()


def raise_if_unavailable(done: Completed, site: Site) -> None:
    """Slurm did not answer at all; a refusal is an answer."""
    problem = read_unavailable(done.out, done.err, done.exit_code, timed_out=done.timed_out)
    if problem is not None:
        raise make_unavailable_error(problem, site)


def raise_if_not_cancelled(done: Completed, site: Site) -> None:
    """done: what scancel said, also where it only was to pass a signal on."""
    raise_if_unavailable(done, site)
    refusal = read_cancel(done.out, done.err, done.exit_code)
    if refusal:
        raise ClusterRefused(f"not cancelled: {refusal.cause}", said=refusal.said, hint=refusal.hint)


def make_unavailable_error(problem: Unavailable, site: Site) -> WindlassError:
    if problem.is_missing:
        hint = f"set software.slurm_path or login.login_shell for {site.name} in its site file"
        return SiteNotReady(f"{site.name}: {problem.cause}", said=problem.said or None, hint=hint)
    return ClusterUnavailable(f"{site.name}: {problem.cause}", said=problem.said or None, hint="try again in a minute")


def _find_problem(history: Completed) -> AccountingUnavailable | None:
    if history.timed_out:
        return AccountingUnavailable(cause="Slurm's accounting did not answer in time", said=history.err.strip())
    return read_accounting_problem(history.out, history.err, history.exit_code)
