"""Submit exactly once: an intent before, a receipt after, and no late child in between.

Whoever dies when (client, ssh, deputy, at any instruction), the files tell what may have happened:

- no intent: nothing was started.
- a receipt: it is over, and this was the answer.
- an intent alone: unclear. When it is no longer in flight the laptop asks Slurm for the token, and then settles
  the submission or forgets the intent.

The order itself may come late: its laptop is gone, but it still lies in a pipe, or its deputy sleeps. So before the
laptop says "not submitted" it closes the submission: an intent of ours, or a file where the run folder would be,
stands in the way of any deputy that comes after.

"Not in flight" is final: no sbatch of that intent runs, or will. Two rules make it so. The child first writes its
process id, then looks for a seal, and only then becomes sbatch; who finds no living process first sets the seal,
then looks for the child: one of the two always sees the other. And the child carries an alarm clock that rings
through exec and without the deputy, so that another login node needs only to wait until the intent's time is up.
"""

import os
import time

from windlass_job import disk, wire
from windlass_job.deputy_processes import describe_process, is_alive, is_same_boot, wait_for_group
from windlass_job.faults import pass_point
from windlass_job.sbatch_words import is_unclear, read_receipt_job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

    from windlass_job.deputy import Answer, Call

DEFAULT_TIMEOUT_S = 90
_ALARM_S = 5.0  # after the deputy's own limit, which ends a wrapper script and what it started together
_MARGIN_S = 30  # clocks of login nodes differ, a file server's clock too
_LIMIT = 1 << 20  # of sbatch's words; they are one line

_INTENT = disk.as_path(wire.INTENT)
_RECEIPT = disk.as_path(wire.RECEIPT)
_OUT = disk.as_path(wire.SUBMIT_OUT)
_ERR = disk.as_path(wire.SUBMIT_ERR)
_CHILD = b"child."  # child.NONCE: the process that becomes sbatch
_ENDED = b"ended."  # ended.NONCE: the child is over, and what it did is not known
_SEAL = b"seal."  # seal.NONCE: no child of this intent may start any more
_NOTHING = {"intent": None, "receipt": None, "out": "", "err": "", "in_flight": False}


def submit(call: "Call") -> "Answer":
    arguments = call.arguments
    place = _find_place(arguments)
    if not os.path.isdir(disk.as_path(arguments["folder"])):
        raise disk.Refused("not-found", "there is no run folder %s" % arguments["folder"])
    os.makedirs(place, exist_ok=True)
    found = _look(place)
    if found["receipt"] is None and found["intent"] is None:
        arguments = dict(arguments, argv=_make_argv(arguments))
        pass_point("before-intent")
        intent = _make_intent(arguments)
        if not _claim(place, intent):
            found = _look(place)  # another deputy was faster
        else:
            pass_point("after-intent")
            return dict(_run_submission(place, intent, arguments), existed=False), b""
    if found["receipt"] is None:
        return dict(_tell_unclear(found), existed=True), b""
    return dict(_tell_receipt(found["receipt"]), existed=True), b""


def _make_argv(arguments: "Dict[str, Any]") -> "List[str]":
    """after: the number of the submission whose end this one waits for, however it ends."""
    argv = list(arguments["argv"])
    if arguments.get("after") is None:
        return argv
    before = _look(_find_place(dict(arguments, number=arguments["after"])))["receipt"] or {}
    job_id = read_receipt_job(before)
    if job_id is None:
        raise disk.Refused("no-job", "submission %s has no job that could be waited for" % arguments["after"])
    return argv[:1] + ["--dependency=afterany:" + job_id] + argv[1:]


def look_at_submission(call: "Call") -> "Answer":
    if not os.path.isdir(disk.as_path(call.arguments["folder"])):
        return dict(_NOTHING, folder_gone=True), b""
    return dict(_look(_find_place(call.arguments)), folder_gone=False), b""


def settle(call: "Call") -> "Answer":
    """Write the receipt that was missing: found by its token, or known for certain not to be there."""
    arguments = call.arguments
    place = _find_place(arguments)
    found = _look(place)
    if found["receipt"] is not None:
        raise disk.Refused("exists", "submission %s has its receipt already" % arguments["number"])
    if arguments.get("refused") and found["in_flight"]:
        raise disk.Refused("in-flight", "submission %s is still under way" % arguments["number"])
    receipt = {
        "job_id": arguments.get("job_id"),
        "exit_code": None,
        "refused": bool(arguments.get("refused")),
        "out": arguments.get("out") or found["out"],
        "err": found["err"],
        "token": (found["intent"] or {}).get("token"),
        "nonce": (found["intent"] or {}).get("nonce"),
        "time": time.time(),
        "settled": True,
    }
    _publish(place, receipt)
    return dict(_tell_receipt(receipt), existed=False), b""


def close_submission(call: "Call") -> "Answer":
    """Where nothing was begun: from now on nothing can be, not even by a deputy that has its order already."""
    number = call.arguments["number"]
    folder, place = disk.as_path(call.arguments["folder"]), _find_place(call.arguments)
    if not os.path.isdir(folder):
        return _close_folder(folder), b""
    os.makedirs(place, exist_ok=True)
    found = _look(place)
    intent = found["intent"]
    if found["receipt"] is not None and not (intent or {}).get("closed"):
        raise disk.Refused("exists", "submission %s has a receipt" % number)
    if not (intent or {}).get("closed"):
        intent = dict(_make_intent(dict(call.arguments, argv=[])), closed=True)
        if not _claim(place, intent):
            raise disk.Refused("in-flight", "submission %s was begun a moment ago" % number)
    if found["receipt"] is None:
        words = "closed: the command that was to send it had ended before"
        receipt = {"job_id": None, "exit_code": None, "refused": True, "out": "", "err": words}
        _publish(place, dict(receipt, token=intent["token"], nonce=intent["nonce"], time=time.time()))
    return {"closed": True}, b""


def forget_intent(call: "Call") -> "Answer":
    """Put away an intent that certainly led to nothing, so that `submit` may run again.

    refused: also one that Slurm refused, for the next try with the same number.
    """
    number = call.arguments["number"]
    place = _find_place(call.arguments)
    found = _look(place)
    if found["receipt"] is not None:
        if not (call.arguments.get("refused") and found["receipt"].get("refused")):
            raise disk.Refused("exists", "submission %s has a receipt: there is nothing to forget" % number)
        _put_away(place, _RECEIPT)
    if found["in_flight"]:
        raise disk.Refused("in-flight", "submission %s is still under way" % number)
    if found["intent"] is None:
        return {"forgotten": False}, b""
    _put_away(place, _INTENT)
    return {"forgotten": True}, b""


def _find_place(arguments: "Dict[str, Any]") -> bytes:
    return os.path.join(
        disk.as_path(arguments["folder"]), disk.as_path(wire.SUBMISSIONS), b"%d" % int(arguments["number"])
    )


def _close_folder(folder: bytes) -> "Dict[str, Any]":
    """A file of its name: `prepare_run` refuses to replace it, and without a folder nothing is submitted."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    try:
        disk.write_new(folder, b"")
    except FileExistsError:
        if os.path.isdir(folder):
            raise disk.Refused("in-flight", "the run folder was made a moment ago") from None
    disk.flush(os.path.dirname(folder))
    return {"closed": True}


def _put_away(place: bytes, name: bytes) -> None:
    stem = name.partition(b".")[0] + b"."
    count = sum(other.startswith(stem) and other.endswith(b".void") for other in os.listdir(place))
    os.rename(os.path.join(place, name), os.path.join(place, b"%s%d.void" % (stem, count + 1)))
    disk.flush(place)


def _make_intent(arguments: "Dict[str, Any]") -> "Dict[str, Any]":
    return dict(
        describe_process(),
        token=arguments["token"],
        argv=arguments["argv"],
        about=arguments.get("about"),  # which links: for whoever reads the folder without the laptop
        nonce=disk.make_suffix().decode(),
        time=time.time(),
        timeout_s=float(arguments.get("timeout_s") or DEFAULT_TIMEOUT_S),
    )


def _claim(place: bytes, intent: "Dict[str, Any]") -> bool:
    path = os.path.join(place, _INTENT)
    try:
        disk.publish(path, disk.make_json(intent), also=os.path.dirname(place))
    except FileExistsError:
        return False
    except OSError:  # no space: nothing was started, and nobody need wonder
        disk.remove_if_there(path)
        raise
    return True


def _run_submission(place: bytes, intent: "Dict[str, Any]", arguments: "Dict[str, Any]") -> "Dict[str, Any]":
    import signal

    # The laptop may go, its ssh too: what was begun is brought to its end and written down.
    quiet = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in quiet}
    try:
        exit_code, problem = _run_child(place, intent, arguments)
        pass_point("after-sbatch")
        out, err = _read_words(place)
        err = err or problem
        if is_unclear(exit_code, out, err, arguments.get("unclear_words")):
            found = _look(place)
            if not found["in_flight"]:
                _mark_ended(place, intent)
            return dict(_tell_unclear(found), exit_code=exit_code, err=err)
        receipt = {
            "job_id": out.strip(),
            "exit_code": exit_code,
            "refused": exit_code != 0,
            "out": out,
            "err": err,
            "token": intent["token"],
            "nonce": intent["nonce"],
            "time": time.time(),
        }
        pass_point("before-receipt")
        try:
            _publish(place, receipt)
        except OSError as error:  # no space left: the answer stands all the same, and the token finds the job again
            return dict(_tell_receipt(receipt), unrecorded=error.strerror)
        pass_point("after-receipt")
        return _tell_receipt(receipt)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _publish(place: bytes, receipt: "Dict[str, Any]") -> None:
    """Never over another receipt, but for one of an intent that was forgotten: its deputy had been asleep."""
    path = os.path.join(place, _RECEIPT)
    try:
        disk.publish(path, disk.make_json(receipt))
    except FileExistsError:
        if (disk.read_json(path) or {}).get("nonce") == receipt["nonce"]:
            raise
        disk.replace(path, disk.make_json(receipt))


def _run_child(place: bytes, intent: "Dict[str, Any]", arguments: "Dict[str, Any]") -> "Tuple[Optional[int], str]":
    """sbatch's exit code; None when it was stopped, or kept from starting, by its clock or a seal."""
    import subprocess

    from windlass_job import deputy_commands as commands

    deadline = time.monotonic() + intent["timeout_s"]
    try:
        with open(os.path.join(place, _OUT), "wb") as out, open(os.path.join(place, _ERR), "wb") as err:
            process = subprocess.Popen(
                [disk.as_path(word) for word in arguments["argv"]],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=disk.as_path(arguments.get("cwd") or arguments["folder"]),
                env=commands.make_env(arguments.get("path_prefix"), arguments.get("env")),
                start_new_session=True,
                preexec_fn=lambda: _prepare_child(place, intent, deadline),
            )
    except OSError as error:  # raised before or at exec: nothing was submitted
        return 127, "%s: %s" % (arguments["argv"][0], error.strerror)
    except subprocess.SubprocessError:  # raised by _prepare_child in the child, which has ended
        return None, "sbatch was not started: its time was up or its intent was sealed"
    pass_point("after-spawn")
    try:
        exit_code, problem = process.wait(max(0.0, deadline - time.monotonic())), ""
    except subprocess.TimeoutExpired:
        exit_code, problem = None, "no answer within %d s" % intent["timeout_s"]
    if exit_code is None or exit_code < 0:  # nothing that a wrapper script started may go on without it
        commands.kill_group(process)
        process.wait()
        wait_for_group(process.pid, limit_s=2.0)
    return exit_code, problem


def _mark_ended(place: bytes, intent: "Dict[str, Any]") -> None:
    """So that nobody waits for this deputy, which may live on at the end of a connection that is dead."""
    try:
        disk.write_new(os.path.join(place, _ENDED + intent["nonce"].encode()), b"")
    except OSError:  # no space: then they wait
        pass


def _prepare_child(place: bytes, intent: "Dict[str, Any]", deadline: float) -> None:
    """Runs in the child, before it becomes sbatch."""
    import signal

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    left_s = min(deadline - time.monotonic(), intent["time"] + intent["timeout_s"] - time.time())
    if left_s <= 0:
        raise RuntimeError("too late")
    signal.setitimer(signal.ITIMER_REAL, left_s + _ALARM_S)
    record = os.path.join(place, _CHILD + intent["nonce"].encode())
    # Not flushed: it is for others on this host since its last start, and they see it at once.
    disk.write_new(record, disk.make_json(describe_process()))
    if os.path.lexists(os.path.join(place, _SEAL + intent["nonce"].encode())):
        raise RuntimeError("sealed")


def _look(place: bytes) -> "Dict[str, Any]":
    path = os.path.join(place, _INTENT)
    intent: "Optional[Dict[str, Any]]" = None
    if os.path.lexists(path):
        intent = disk.read_json(path) or {}  # cut short: it counts all the same
    receipt = _load_receipt(place, intent)
    in_flight = False
    if intent is not None and receipt is None:
        in_flight = _is_in_flight(place, path, intent)
        # Again: whoever was in flight a moment ago may have written it meanwhile.
        receipt = _load_receipt(place, intent)
    out, err = _read_words(place)
    return {
        "intent": intent,
        "receipt": receipt,
        "out": out,
        "err": err,
        "in_flight": in_flight and receipt is None,
    }


def _load_receipt(place: bytes, intent: "Optional[Dict[str, Any]]") -> "Optional[Dict[str, Any]]":
    receipt = disk.read_json(os.path.join(place, _RECEIPT))
    if receipt is None or intent is None or receipt.get("nonce") == intent.get("nonce"):
        return receipt
    return None


def _is_in_flight(place: bytes, path: bytes, intent: "Dict[str, Any]") -> bool:
    nonce = str(intent.get("nonce")).encode()
    if os.path.lexists(os.path.join(place, _ENDED + nonce)):
        return False
    if not is_same_boot(intent):
        # Another login node, or this one before it was restarted: by then the child's alarm clock has rung.
        limit_s = float(intent.get("timeout_s") or DEFAULT_TIMEOUT_S) + _MARGIN_S
        return _get_age_s(path, intent) < max(120.0, limit_s)
    if intent["pid"] != os.getpid() and is_alive(intent):
        return True
    try:
        disk.write_new(os.path.join(place, _SEAL + nonce), b"")
    except FileExistsError:
        pass
    child = disk.read_json(os.path.join(place, _CHILD + nonce))
    return child is not None and is_alive(child, with_group=True)


def _get_age_s(path: bytes, intent: "Dict[str, Any]") -> float:
    """The younger of what the file and its writer say: a clock that is off makes us wait longer."""
    return time.time() - max(os.lstat(path).st_mtime, float(intent.get("time") or 0))


def _read_words(place: bytes) -> "Tuple[str, str]":
    words = []
    for name in (_OUT, _ERR):
        try:
            with open(os.path.join(place, name), "rb") as file:
                words.append(file.read(_LIMIT).decode("utf-8", "replace"))
        except FileNotFoundError:
            words.append("")
    return words[0], words[1]


def _tell_unclear(found: "Dict[str, Any]") -> "Dict[str, Any]":
    told = {name: found[name] for name in ("in_flight", "out", "err", "intent")}
    return dict(told, state="unclear", exit_code=None, job_id=None)


def _tell_receipt(receipt: "Dict[str, Any]") -> "Dict[str, Any]":
    told = {name: receipt.get(name) for name in ("out", "err", "exit_code", "job_id")}
    return dict(told, state="refused" if receipt.get("refused") else "submitted", in_flight=False)
