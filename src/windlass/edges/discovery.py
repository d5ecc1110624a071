"""Look at a machine of which nothing is written down: two round trips, nothing is left there and nothing submitted."""

from dataclasses import replace

from windlass.core.facts import Facts
from windlass.core.seen.discovery import Discovered, make_look_script, read_look
from windlass.core.site import GpuDialect, Site
from windlass.edges.host import Completed, Host, make_command, make_commands, read_all_completed
from windlass.edges.survey import take_survey
from windlass.schedulers.answers import ExpectedStart, Refusal
from windlass.schedulers.slurm.survey import make_config_command, read_config
from windlass.schedulers.slurm.trials import Trial, by_name, make_trial_command, make_trials, read_trial

_PATIENCE_S = 30.0  # for one answer: start files of a login shell can be slow
_ALL_ANSWERS_S = 60.0


def discover(host: Host, site: Site, *, day: str, now: float) -> Discovered:
    """Raises SiteNotReady where there is no Slurm, ClusterUnavailable where it is silent."""
    facts = take_survey(host, site, now)
    trials = make_trials(account=_pick_account(facts), **_pick_gpu(facts))
    prefix = site.software.slurm_path
    commands = [
        ["bash", "-c", make_look_script()],
        ["bash", "-lc", make_look_script()],
        make_config_command(),
        *(make_trial_command(trial) for trial in trials),
    ]
    requests = [make_command(argv, timeout_s=_PATIENCE_S, path_prefix=prefix, idempotent=True) for argv in commands]
    [reply] = host.ask([make_commands(requests, limit_s=_ALL_ANSWERS_S)])
    bare, login, config, *answers = read_all_completed(reply, len(requests))
    asked = tuple(replace(trial, answer=_read_answer(done)) for trial, done in zip(trials, answers, strict=True))
    seen = Discovered(
        host=site.login.host,
        user=site.login.user,
        jump=site.login.jump,
        day=day,
        facts=facts,
        cluster=read_config(config.out).get("ClusterName"),
        shell=read_look(login.out),
        bare_shell=read_look(bare.out),
    )
    return _judge(seen, asked)


def _pick_account(facts: Facts) -> str | None:
    mine = facts.associations or ()
    return next((one.account for one in mine if one.is_default), next((one.account for one in mine), None))


def _pick_gpu(facts: Facts) -> dict[str, str | None]:
    """The first partition with GPUs that is up."""
    for one in facts.partitions or ():
        if one.gpus and one.state.upper() == "UP":
            return {"gpu_partition": one.name, "gpu_kind": one.gpus[0][0] or None}
    return {"gpu_partition": None, "gpu_kind": None}


def _read_answer(done: Completed) -> ExpectedStart | Refusal | None:
    return None if done.timed_out else read_trial(done.out, done.err, done.exit_code)


def _judge(seen: Discovered, asked: tuple[Trial, ...]) -> Discovered:
    """From yes and no to rules. Where even the plainest job is refused, nothing follows."""
    trials = by_name(asked)
    if not trials["plain"].is_accepted:
        return replace(seen, said=_collect_words({"plain": trials["plain"]}))
    noes = {
        "needs_account": trials["without account"],
        "needs_time": trials["without time"],
        "memory_can_be_asked": trials["with memory"],
    }
    return replace(
        seen,
        needs_account=_is_refused(trials["without account"]),
        needs_time=_is_refused(trials["without time"]),
        memory_can_be_asked=trials["with memory"].is_accepted,
        gpu_dialect=_judge_dialect(trials.get("gres"), trials.get("gpus per node")),
        typed_gpus=trials["typed gres"].is_accepted if "typed gres" in trials else None,
        gpus_must_be_asked=_is_refused(trials["without gpu"]) if "without gpu" in trials else None,
        said=_collect_words(noes),
    )


def _is_refused(trial: Trial) -> bool | None:
    return None if trial.is_accepted is None else not trial.is_accepted


def _judge_dialect(gres: Trial | None, per_node: Trial | None) -> str | None:
    """--gres is understood nearly everywhere, so it is taken where both are."""
    if gres is not None and gres.is_accepted:
        return GpuDialect.GRES.value
    return GpuDialect.GPUS_PER_NODE.value if per_node is not None and per_node.is_accepted else None


def _collect_words(trials: dict[str, Trial]) -> dict[str, str]:
    return {key: trial.answer.said for key, trial in trials.items() if isinstance(trial.answer, Refusal)}
