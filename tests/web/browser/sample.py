"""A dashboard as somebody has it on an ordinary day: what the tests look at and the pictures in the docs show."""

import json
import math
import random
from dataclasses import replace

from tests.builders import PLAN
from tests.web.browser.sample_gauges import make_gauges
from tests.web.browser.sample_site import fill_site, fill_why
from tests.web.house import House, make_run
from windlass.core.codec import to_json
from windlass.core.record import RunRecord, RunState, Submission
from windlass.core.size import Size
from windlass.core.sweep.drawing import draw
from windlass.core.sweep.seen import SweepSeen
from windlass.core.sweep.trials import Trial, TrialState
from windlass.core.sweep.values import Value
from windlass.core.sweep.wish import Method, Sweep, list_dimensions
from windlass.core.watching.looks import Look
from windlass.edges.sweep_files import save_seen

H = 3600.0
SITE = "juwels-booster"
MAIN = "resnet50-k3f9w"  # the run that has everything
EARLIER = "resnet50-h8d2q"  # of the same training, with another rate
BROKEN = "diffusion-m2m4x"
WAITING = "sweep-lr-3-bb21k"
HOSTILE = "evil-xx00x"
SWEEP = "tune-s4w2p"  # a sweep with trials of all kinds
_COMMAND = "python train.py --epochs 90 --lr 0.1"
NASTY = '"><script>alert("windlass")</script><img src="http://evil.example/x.png" onerror="alert(1)">'


def fill(house: House) -> None:
    now = house.session.clock()
    house.add(*_make_runs(house, now), _make_hostile(now))
    house.set_look(Look(seen=now - 12, tried=now - 13, ended=now - 12), SITE)
    house.set_look(Look(seen=now - 3), "here")
    away = "the login node narval.example does not answer"
    hint = "windlass login narval"
    house.set_look(Look(seen=now - 1500, problem=away, failing_since=now - 1400, hint=hint, failures=3), "narval")
    house.put(MAIN, {**_make_files(now), **make_gauges(now - 5 * H + 180, now)}, asked=now - 4)
    house.put(EARLIER, _make_earlier_files(now), asked=now - 4)
    nan = b'{"step":1,"t":%d,"loss":"nan"}\n' % now
    house.put("gpt-mini-a7x1m", {"metrics/1.0.jsonl": nan, "logs/45_1.out": b"step 1 loss nan\n"}, asked=now)
    house.put("vit-large-p0q2z", {"logs/45_1.out": b"loading the model\n"}, asked=now - 2400)
    fill_sweeps(house)
    fill_site(house, SITE)
    fill_why(house, house.session.store.load(BROKEN))
    house.put(HOSTILE, _make_hostile_files(now), asked=now)


def fill_sweeps(house: House) -> None:
    """One as it is halfway, and one whose every word is somebody else's."""
    save_seen(house.session.folders, make_sweep(house.session.clock() - 30))
    values: dict[str, Value] = {NASTY: NASTY}
    evil = [Trial(number=0, values=values, state=TrialState.FAILED, code=1, last_line=NASTY)]
    evil.append(Trial(number=1, values=values, state=TrialState.DONE, metric=1.0))
    wish = Sweep(command=NASTY, space={"x": "1"}, metric=NASTY, method=Method.GRID)
    seen = SweepSeen(sweep_id=HOSTILE, site=NASTY, sweep=wish, trials=tuple(evil), asked=1.0, told=(NASTY,))
    save_seen(house.session.folders, seen)


def make_sweep(asked: float) -> SweepSeen:
    luck = random.Random(5)
    wish = Sweep(
        command="python train.py --lr {lr} --depth {depth} --optimizer {optimizer}",
        space={"lr": "log:1e-05..0.1", "depth": "2,4,8", "optimizer": "adam,sgd"},
        method=Method.OPTUNA,
        trials=60,
        seed=1,
    )
    trials = []
    for number in range(48):
        values = draw(list_dimensions(wish), seed=1, trial=number)
        loss = 0.2 + (math.log10(float(values["lr"])) + 3) ** 2 / 8 + 0.4 / int(values["depth"]) + 0.05 * luck.random()
        if values["optimizer"] == "sgd" and number % 7 == 0:
            line = f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {2 + number}.00 GiB"
            trials.append(Trial(number=number, values=values, state=TrialState.FAILED, code=1, last_line=line))
        elif number >= 44:
            trials.append(Trial(number=number, values=values, state=TrialState.RUNNING))
        else:
            state = TrialState.STOPPED if loss > 0.9 else TrialState.DONE
            trials.append(
                Trial(number=number, values=values, state=state, metric=loss, seconds=840 + 60 * luck.random())
            )
    shares = (("lr", 0.81), ("depth", 0.15), ("optimizer", 0.04))
    return SweepSeen(
        sweep_id=SWEEP,
        site=SITE,
        sweep=wish,
        trials=tuple(trials),
        asked=asked,
        importance=shares,
        importance_by="PED-ANOVA of Optuna 5.0.0",
        told=("loss",),
    )


def _make_runs(house: House, now: float) -> list[RunRecord]:
    booster, narval = SITE, "narval"
    return [
        make_run(
            MAIN,
            site=booster,
            state=RunState.RUNNING,
            started=now - 5 * H,
            created=now - 9 * H,
            progress_done=42,
            progress_of=90,
            progress_unit="epoch",
            expected_end=now + 6 * H,
            link=2,
            links=3,
            nodes="jwb[0101-0102]",
            size=Size(nodes=2, cores=96, gpus=8),
            spent_s=8.2 * H,
            commit="4f2a91c07e",
            command=_COMMAND,
            submissions=(Submission(number=1, token="t", job_id="8812345", links=3),),
        ),
        make_run(
            "vit-large-p0q2z",
            site=booster,
            state=RunState.RUNNING,
            started=now - 2 * H,
            created=now - 2.5 * H,
            progress_done=1200,
            progress_of=10000,
            progress_unit="step",
            expected_end=now + 15 * H,
            links_needed=5,
            link=1,
            links=2,
        ),
        make_run("gpt-mini-a7x1m", site=narval, state=RunState.RUNNING, started=now - 600, created=now - 1200),
        make_run(
            WAITING,
            site=narval,
            state=RunState.WAITING,
            reason="Priority",
            created=now - 2 * H,
            expected_start=now + 3 * H,
        ),
        make_run(
            "sweep-lr-4-cc9fd",
            site=narval,
            state=RunState.WAITING,
            reason="AssocMaxJobsLimit",
            created=now - 1.9 * H,
        ),
        make_run(
            EARLIER,
            site=booster,
            state=RunState.DONE,
            started=now - 60 * H,
            ended=now - 50 * H,
            created=now - 62 * H,
            command="python train.py --epochs 90 --lr 0.4",
        ),
        make_run("digits-zz81q", site="here", state=RunState.DONE, ended=now - 1800, created=now - 3 * H),
        make_run(
            BROKEN,
            site=narval,
            project=str(house.session.folders.state),
            state=RunState.FAILED,
            reason="the command ended with exit code 1",
            ended=now - 4 * H,
            created=now - 12 * H,
        ),
        make_run(
            "bert-base-qq0ce",
            site=booster,
            state=RunState.OUT_OF_TIME,
            reason="all links are used; it was not finished",
            ended=now - 5 * H,
            created=now - 40 * H,
            link=3,
            links=3,
        ),
        make_run(
            "old-cancelled-aa11b",
            site=narval,
            state=RunState.CANCELLED,
            reason="cancelled",
            ended=now - 6 * H,
            created=now - 50 * H,
        ),
    ]


def _make_files(now: float) -> dict[str, bytes]:
    plan = replace(PLAN, run_id=MAIN, nodes=2, gpus_per_node=4, cpus_per_task=12, partition="booster", account="hai")
    plan = replace(plan, command=_COMMAND, environment="venv-3f2a9c1b7d")
    script = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gres=gpu:4\nsrun python train.py\n"
    return {
        "events.jsonl": _make_events(now),
        "metrics/1.0.jsonl": _make_metrics(now - 8.4 * H, now),
        "logs/8812345_2.out": _make_log(),
        "streams/8812345_2.out": _make_streams(_make_log()),
        "plan.json": to_json(plan),
        "job-1.sh": script.encode(),
        "changes.diff": b"diff --git a/train.py b/train.py\n-lr = 0.2\n+lr = 0.1\n",
    }


def _make_earlier_files(now: float) -> dict[str, bytes]:
    plan = replace(PLAN, run_id=EARLIER, nodes=4, gpus_per_node=4, cpus_per_task=12, partition="booster", account="hai")
    return {
        "metrics/1.0.jsonl": _make_metrics(now - 60 * H, now - 50 * H, rate=0.4, floor=0.62),
        "plan.json": to_json(replace(plan, command="python train.py --epochs 90 --lr 0.4")),
    }


def _make_events(now: float) -> bytes:
    first, second = now - 8.5 * H, now - 5 * H
    rows: list[tuple[float, str, int, dict[str, object]]] = [
        (first, "link_started", 1, {}),
        (first + 240, "command_started", 1, {}),
    ]
    rows += [_make_save(first, at, link=1, before=0) for at in range(1, 9)]
    rows.append((first + 8300, "link_ended", 1, {"outcome": "terminated"}))
    rows += [(second, "link_started", 2, {}), (second + 180, "command_started", 2, {})]
    rows += [_make_save(second, at, link=2, before=8) for at in range(1, 19)]
    told = ({"t": t, "kind": kind, "link": link, "job": f"8812345_{link}", **more} for t, kind, link, more in rows)
    return "".join(json.dumps(one) + "\n" for one in told).encode()


def _make_save(begin: float, at: int, *, link: int, before: int) -> tuple[float, str, int, dict[str, object]]:
    moment = begin + 240 + at * 900
    return moment, "saved", link, {"step": 1000 * (before + at), "seconds": 12.5, "at": moment}


def _make_metrics(begin: float, end: float, *, rate: float = 0.1, floor: float = 0.4) -> bytes:
    luck, count = random.Random(7), 4200
    lines = []
    for at in range(count):
        loss = 6 * math.exp(-at / (600 + 3000 * rate)) + floor + 0.2 * luck.random()
        accuracy = 0.76 * (1 - math.exp(-at / 1200))
        row = {"step": at * 10, "t": begin + at * (end - begin) / count, "loss": loss, "val/accuracy": accuracy}
        lines.append(json.dumps({**row, "lr": rate * 0.5 ** (at // 1400)}))
    return ("\n".join(lines) + "\n").encode()


def _make_log() -> bytes:
    lines = ["\x1b[32m[rank0]:\x1b[0m starting 8 processes on 2 nodes"]
    for at in range(700):
        loss = 6 * math.exp(-at / 150) + 0.4
        lines.append(f"[rank0]: epoch {at // 16} step {at * 60} loss {loss:.4f} lr 0.1 812.4 img/s")
        if at % 100 == 50:
            lines += ["[rank3]: \x1b[33mUserWarning: lr_scheduler.step() was called before optimizer.step()\x1b[0m"] * 6
    lines += [
        "Traceback (most recent call last):",
        '  File "train.py", line 88, in <module>',
        "    main()",
        "\x1b[1;31mRuntimeError: CUDA error: an illegal memory access was encountered\x1b[0m",
        "[rank0]: epoch 42 step 42010 loss 0.7312 lr 0.025 815.0 img/s",
    ]
    return ("\n".join(lines) + "\n").encode()


def _make_streams(log: bytes) -> bytes:
    complaints = (b"Warning", b"Traceback", b"  ", b"Error")
    letters = ("e" if any(one in line for one in complaints) else "o" for line in log.splitlines())
    lengths = (len(line) for line in log.splitlines(keepends=True))
    return (
        "@0" + "".join(f" {letter}{length}" for letter, length in zip(letters, lengths, strict=True)) + "\n"
    ).encode()


TRACEBACK = _make_log().index(b"Traceback") - 400  # a place in the log of MAIN, a little above it


def _make_hostile(now: float) -> RunRecord:
    """Everything that somebody else may have written, with markup in it."""
    return make_run(
        HOSTILE,
        name=NASTY,
        command=NASTY,
        site=NASTY,
        reason=NASTY,
        nodes=NASTY,
        state=RunState.FAILED,
        ended=now - 3 * 86_400,
        created=now - 4 * 86_400,
    )


def _make_hostile_files(now: float) -> dict[str, bytes]:
    log = (
        NASTY.encode()
        + b"\n\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07\n\x1b]0;title\x07\x1b[2J\xff\xfe\x00\xc3\n"
    )
    log += "\u202etxt.exe \u2066hidden\n".encode() + b"<svg/onload=alert(2)>\n" + b"\x1b[31m" + NASTY.encode() + b"\n"
    metrics = b'{"step":1,"t":%d,"<img src=x onerror=alert(3)>":1}\n' % now
    return {"logs/45_1.out": log, "metrics/1.0.jsonl": metrics, "job-1.sh": log, "changes.diff": log}
