"""The rest of a run, submitted again from inside its own job, without the nodes that cannot talk.

One more submission like that of `windlass resume`: the same script with another number, sent exactly once by the same
code. The laptop learns of it by the status, and the run folder tells it to whoever comes later.
"""

import os
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from windlass_job import disk, slurm, submission, wire
from windlass_job.sbatch_words import read_receipt_job

MOST = 3  # of one run: after that somebody has to look
SBATCH_S = 60.0
_PLACE = ("job-name", "account", "partition", "qos", "reservation", "constraint")  # above --exclude in the script

Call = NamedTuple("Call", [("arguments", Dict[str, Any])])


class NotMoved(Exception):
    """The run stays with this job; the text says why."""


def submit_rest(folder: str, env: Mapping[str, str], sick: Sequence[str], why: str) -> Dict[str, Any]:
    """The new submission; its `job_id` is None where sbatch left it open, and the laptop will find out.

    To be called from the main thread. May raise NotMoved and OSError.
    """
    made = list_successors(folder)
    if len(made) >= MOST:
        raise NotMoved("that was done {} times already".format(MOST))
    change = _make_change(folder, env, sick)
    script = os.path.join(folder, wire.SCRIPT.format(number=change["number"]))
    own = os.path.join(folder, wire.SCRIPT.format(number=change["replaces"]))
    text = rewrite_script(disk.read_bytes(os.fsencode(own)).decode("utf-8"), change)
    disk.replace(os.fsencode(script), text.encode("utf-8"), 0o777)
    answer = _submit(folder, script, change, why)
    if answer["state"] == "refused":
        # The next submission, by `windlass resume`, has the same number.
        place = {"folder": folder, "number": change["number"], "refused": True}
        submission.forget_intent(Call(place))  # type: ignore[arg-type]  # the part of deputy.Call that it reads
        raise NotMoved("Slurm refused it: {}".format(_get_reason(answer)))
    _rewrite_plan(os.fsencode(os.path.join(folder, wire.PLAN_JSON)), change)
    return _describe(change["number"], change["token"], change, read_receipt_job(answer))


def list_successors(folder: str) -> List[Dict[str, Any]]:
    """Those made so far, by the run folder; the last one has taken the rest of the run."""
    found = []
    for number in list_numbers(folder):
        place = os.path.join(folder, wire.SUBMISSIONS, str(number))
        intent = disk.read_json(os.fsencode(os.path.join(place, wire.INTENT))) or {}
        about = intent.get("about") or {}
        if about.get("replaces"):
            receipt = disk.read_json(os.fsencode(os.path.join(place, wire.RECEIPT))) or {}
            found.append(_describe(number, str(intent.get("token")), about, read_receipt_job(receipt)))
    return found


def list_numbers(folder: str) -> List[int]:
    try:
        names = os.listdir(os.path.join(folder, wire.SUBMISSIONS))
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in names if name.isdigit())


def _describe(number: int, token: str, about: Mapping[str, Any], job_id: Optional[str]) -> Dict[str, Any]:
    told = {name: about.get(name) for name in ("first_link", "links", "replaces", "exclude")}
    return dict(told, number=number, token=token, job_id=job_id)


def _make_change(folder: str, env: Mapping[str, str], sick: Sequence[str]) -> Dict[str, Any]:
    """What is different from our own submission."""
    own = slurm.read_number(env, wire.ENV_NUMBER, 1)
    link = slurm.read_number(env, wire.ENV_LINK, 1)
    number = max(list_numbers(folder) + [own]) + 1
    plan = disk.read_json(os.fsencode(os.path.join(folder, wire.PLAN_JSON))) or {}
    kept = [plan["exclude"]] if plan.get("exclude") else []
    return {
        "number": number,
        "replaces": own,
        "token": wire.TOKEN.format(run_id=env.get(wire.ENV_RUN_ID, ""), number=number),
        "first_link": link,
        "links": max(1, slurm.read_number(env, wire.ENV_LINKS, link) - link + 1),
        "exclude": ",".join(kept + list(sick)),
        # Links by dependency would be as many submissions, each fencing off the one before.
        "chain": "requeue" if env.get(wire.ENV_CHAIN) == "requeue" else "array",
    }


def _submit(folder: str, script: str, change: Dict[str, Any], why: str) -> Dict[str, Any]:
    about = {name: change[name] for name in ("first_link", "links", "replaces", "exclude")}
    arguments = {
        "folder": folder,
        "number": change["number"],
        "token": change["token"],
        "argv": ["sbatch", "--parsable", script],
        "cwd": folder,
        "timeout_s": SBATCH_S,
        "about": dict(about, why=why),
    }
    answer, _ = submission.submit(Call(arguments))  # type: ignore[arg-type]  # as above
    return answer


def _get_reason(answer: Mapping[str, Any]) -> str:
    lines = str(answer.get("err") or answer.get("out") or "").strip().splitlines()
    return lines[-1][:300] if lines else "sbatch ended with {}".format(answer.get("exit_code"))


# ---- the papers: as the laptop would have written them --------------------------------------------------------------


def rewrite_script(script: str, change: Mapping[str, Any]) -> str:
    """The script of the new submission. Refused where it is not the one that the laptop wrote."""
    is_array = change["chain"] == "array" and change["links"] > 1
    head, begin, body = script.partition("\nset -euo pipefail\n")
    settings, blank, rest = body.partition("\n\n")
    for name in ("dependency", "array", "exclude"):
        head = re.sub(r"^#SBATCH --{}=.*\n".format(name), "", head, flags=re.MULTILINE)
    head = _set(head, r"^#SBATCH --comment=(.*)$", change["token"])
    head = _add_line(head, _PLACE, "#SBATCH --exclude=" + change["exclude"])
    if is_array:
        head = _add_line(head, ["signal"], "#SBATCH --array=1-{}%1".format(change["links"]))
    head = _set(head, r"^#SBATCH --output=.*/(%A_%a|%j)\.out", "%A_%a" if is_array else "%j")
    head = _set(head, r"^# Run [^:]*: (.*) of at most ", _tell_jobs(change))
    for name, value in _list_variables(change, is_array):
        settings = _set(settings, r"\b{}=(\$\(\(.*?\)\)|\S+)".format(name), value)
    return head + begin + settings + blank + rest


def _list_variables(change: Mapping[str, Any], is_array: bool) -> List[Tuple[str, str]]:
    first, links = change["first_link"], change["links"]
    link = str(first)
    if is_array:
        link = "$(({} + SLURM_ARRAY_TASK_ID))".format(first - 1)
    elif links > 1:
        link = "$(({} + ${{SLURM_RESTART_COUNT:-0}}))".format(first)
    return [
        (wire.ENV_LINK, link),
        (wire.ENV_LINKS, str(first - 1 + links)),
        (wire.ENV_NUMBER, str(change["number"])),
        (wire.ENV_CHAIN, change["chain"]),
        (wire.ENV_CHAIN_FIRST, str(change["number"])),
        (wire.ENV_TOKEN, change["token"]),
    ]


def _tell_jobs(change: Mapping[str, Any]) -> str:
    if change["links"] == 1:
        return "one job"
    if change["chain"] == "requeue":
        return "one job that is queued again, {} times in all,".format(change["links"])
    return "{} jobs one after another".format(change["links"])


def _set(text: str, pattern: str, value: str) -> str:
    """The one place that the pattern's group matches, changed."""
    found = list(re.finditer(pattern, text, re.MULTILINE))
    if len(found) != 1:
        raise NotMoved("{} is not as Windlass wrote it: {} times {}".format(wire.SCRIPT, len(found), pattern))
    return text[: found[0].start(1)] + value + text[found[0].end(1) :]


def _add_line(head: str, options: Sequence[str], line: str) -> str:
    """Below the last of these options."""
    found = list(re.finditer(r"^#SBATCH --({})=.*$".format("|".join(options)), head, re.MULTILINE))
    if not found:
        raise NotMoved("{} is not as Windlass wrote it: no --{}".format(wire.SCRIPT, options[0]))
    return head[: found[-1].end()] + "\n" + line + head[found[-1].end() :]


def _rewrite_plan(path: bytes, change: Mapping[str, Any]) -> None:
    """`windlass resume` goes on from this one."""
    plan = disk.read_json(path)
    if plan is None:
        return
    names = ("number", "first_link", "links", "exclude", "chain")
    plan.update({name: change[name] for name in names}, dependency=None)
    plan.update({name: 0 for name in ("links_before", "links_after") if name in plan})
    disk.replace(path, disk.make_json(plan))
