"""Before the command of several nodes starts: nodes that cannot talk are named and, where allowed, left behind."""

import signal
from typing import Any, Dict, Mapping, MutableMapping, NamedTuple, Optional

from windlass_job import claims, slurm, wire
from windlass_job.bounded import describe, say
from windlass_job.events import Recorder
from windlass_job.network import checking, successor
from windlass_job.network.judgement import Verdict
from windlass_job.signals import Signals

MOST_PRETENDED = 16  # of pocket's nodes, which are one machine: more would only be a load

# How the link ends instead of running the command: the arguments of the agent's last word.
Leaving = NamedTuple("Leaving", [("outcome", str), ("exit_code", int), ("values", Dict[str, Any])])


def check_nodes(
    folder: Optional[str], env: MutableMapping[str, str], *, may_replace: bool, recorder: Recorder, signals: Signals
) -> Optional[Leaving]:
    """None: the command may start. To be called from the main thread."""
    count = len(checking.list_hosts(env))
    if folder is None or count < 2 or (checking.is_pretended(env) and count > MOST_PRETENDED):
        return None
    verdict = _test(folder, env, recorder, signals)
    if verdict is None:
        return None
    if verdict.is_well:
        env[wire.ENV_NETWORK_TESTED] = "1"  # tasks need not meet once more
        return None
    if not may_replace or not verdict.sick:
        return _fail(verdict, _advise(env, verdict))
    try:
        made = successor.submit_rest(folder, env, verdict.sick, verdict.sentence)
    except (successor.NotMoved, OSError) as problem:
        return _fail(
            verdict,
            "not submitted again without {}: {}; {}".format(_name(verdict), describe(problem), _advise(env, verdict)),
        )
    if claims.has_stop(folder, made["replaces"]) and made["job_id"]:
        slurm.cancel(made["job_id"])
        return Leaving(wire.TERMINATED, 128 + signal.SIGTERM, {})
    reason = "{}: submitted again without {} as {}".format(
        verdict.sentence, _name(verdict), _tell_job(made, env, verdict)
    )
    recorder.note(reason)
    return Leaving(wire.MOVED, wire.EXIT_MOVED, {"reason": reason, "successors": successor.list_successors(folder)})


def _tell_job(made: Mapping[str, Any], env: Mapping[str, str], verdict: Verdict) -> str:
    if made["job_id"]:
        return "job {}".format(made["job_id"])
    return "a job of which Slurm gave no number: windlass ps finds out, else {}".format(_advise(env, verdict))


def _test(folder: str, env: Mapping[str, str], recorder: Recorder, signals: Signals) -> Optional[Verdict]:
    """None where it could not be made: that is no reason to keep the training from starting."""
    attempt = slurm.read_number(env, wire.ENV_ATTEMPT, 1)
    try:
        verdict = checking.test_network(folder, attempt, env, lambda: signals.is_cancelled)
    except (checking.CannotTest, OSError) as problem:
        recorder.note("the network was not tested: {}".format(describe(problem)))
        return None
    say("network test: {}".format(verdict.sentence))
    recorder.event(
        wire.NETWORK_TESTED,
        is_well=verdict.is_well,
        sentence=verdict.sentence,
        sick=list(verdict.sick),
        figures=verdict.figures,
    )
    for warning in verdict.warnings:
        recorder.note("network test: {}".format(warning))
    return verdict


def _fail(verdict: Verdict, words: str) -> Leaving:
    reason = "{}; {}".format(verdict.sentence, words)
    say(reason)
    return Leaving(wire.FAILED, wire.EXIT_NETWORK, {"reason": reason, "exit_code": wire.EXIT_NETWORK})


def _advise(env: Mapping[str, str], verdict: Verdict) -> str:
    run_id = env.get(wire.ENV_RUN_ID, "RUN")
    if verdict.sick:
        return "windlass resume {} --exclude {}".format(run_id, ",".join(verdict.sick))
    return "network_test = false under [run] starts it all the same"


def _name(verdict: Verdict) -> str:
    return "it" if len(verdict.sick) == 1 else "them"
