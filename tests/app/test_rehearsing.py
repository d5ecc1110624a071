"""Rehearsals for real: trainings, good and bad, under the rules of the sites that come with Windlass."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.conftest import Places
from tests.job.packed import make_files, write_packed
from windlass.app.planning import Wanted
from windlass.app.rehearsing import News, Options, Rehearsal, rehearse
from windlass.app.session import Session
from windlass.core.finding import Severity
from windlass.core.job import make_script
from windlass.core.rehearsal.engine import Tempo
from windlass.core.rehearsal.evidence import LinkSeen
from windlass.core.toml.layers import Flag
from windlass.edges.folders import find_folders
from windlass.errors import ExitCode, UsageError
from windlass.pocket.processes import is_alive
from windlass.pocket.world import is_possible
from windlass_job import wire

needs_namespaces = pytest.mark.skipif(
    not is_possible(without_network=True), reason="this system gives users no namespaces"
)

GOOD = """
import os, pathlib, signal, sys, time
saved = pathlib.Path(os.environ["WINDLASS_CHECKPOINT_DIR"]) / "step"
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1)); print("listens", flush=True)
step = int(saved.read_text()) if saved.exists() else 0
while not stop:
    step += 1; print("step", step, flush=True); time.sleep(0.1)
aside = saved.with_suffix(".new"); aside.write_text(str(step)); aside.replace(saved)
"""
FROM_ZERO = GOOD.replace("int(saved.read_text()) if saved.exists() else 0", "0")
SAVES_NOTHING = "\n".join(line for line in GOOD.splitlines() if "aside" not in line)
DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN); print("listens", flush=True)
while True:
    time.sleep(1)
"""
DEAF_BUT_SAVES = """
import os, pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN); print("listens", flush=True)
saved = pathlib.Path(os.environ["WINDLASS_CHECKPOINT_DIR"]) / "step"
step = int(saved.read_text()) if saved.exists() else 0
while True:
    step += 1; print("step", step, flush=True); saved.write_text(str(step)); time.sleep(0.2)
"""
SAVES_SLOWLY = GOOD.replace('"step"\n', '("step" + os.environ["RANK"])\n', 1).replace(
    "aside =", "time.sleep(6); aside ="
)
BREAKS_ONCE = GOOD.replace(
    "while not stop:",
    """if step and os.environ["WINDLASS_TRY"] == "1":
    saved.write_text(str(step)); raise ValueError("once")
while not stop:""",
)
DOWNLOADS = """
import urllib.request
urllib.request.urlopen("http://data.example.org/images.tar")
"""
SURVIVES_WITHOUT = """
import urllib.request
try:
    urllib.request.urlopen("http://data.example.org/images.tar")
except OSError:
    print("no images today")
"""
WRITES_TO_HOME = """
import pathlib
(pathlib.Path.home() / ".cache").mkdir()
"""
EIGHT_RANKS = """
import os, socket, time
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
where = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    with socket.create_server(where, backlog=16) as door:
        told = sorted(door.accept()[0].recv(100).decode() for _ in range(world - 1))
    print("came:", *told, flush=True)
else:
    deadline = time.monotonic() + 30
    while True:
        try:
            with socket.create_connection(where) as line:
                line.sendall(f"{rank}@{socket.gethostname()}:{os.environ['CUDA_VISIBLE_DEVICES']}".encode())
            break
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
"""

TWO_TASKS = {
    "run__launcher": "srun",
    "resources__nodes": "2",
    "resources__processes_per_node": "1",
}


@pytest.fixture
def session(places: Places) -> Iterator[Session]:
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "windlass.toml").write_text(
        '[run]\nname = "trial"\ncommand = "python3 train.py"\n'
        '[resources]\ntime = "14d"\ncpus = 1\naccount = "mine"\nmemory = "400M"\n'
        '[checkpoint]\nfolder = "checkpoints"\nnotice = "3s"\n'
    )
    return folder


def run(session: Session, project: Path, training: str, site: str, *, keep: bool = False, **settings: str) -> Rehearsal:
    (project / "train.py").write_text(training)
    flags = tuple(Flag(key=key.replace("__", "."), value=value) for key, value in settings.items())
    wanted, ranks = Wanted(project=project, site=site, flags=flags), int(settings.get("resources__nodes", "1"))
    # Only those that are to be asked are asked soon: a busy machine takes its time to start the others.
    is_endless = "while not stop" in training or "while True" in training.partition("SIG_IGN")[2]
    for work_s in (6, 15, 40) if is_endless else (60,):
        tempo = Tempo(work=timedelta(seconds=work_s), links=2, whole=timedelta(minutes=3))
        done = rehearse(session, wanted, Options(tempo=tempo, keep=keep))
        if not is_endless or all(_listened(link, ranks) for link in done.evidence.links):
            break
    return done


def _listened(link: LinkSeen, ranks: int) -> bool:
    """Else it was asked before all of it had started, and nothing of what follows says anything about the training."""
    return link.text.count("listens") >= ranks


def codes(done: Rehearsal, severity: Severity = Severity.ERROR) -> list[str]:
    return [one.code for one in done.findings if one.severity is severity]


@needs_namespaces
def test_a_good_training_is_stopped_and_resumed_by_the_very_script(session: Session, project: Path) -> None:
    done = run(session, project, GOOD, "narval")

    assert codes(done) == []
    assert [one.outcome for one in done.evidence.links] == [wire.CUT, wire.CUT]
    assert done.evidence.links[1].went_on_from is not False
    sent = next(done.folder.glob(f"areas/scratch/windlass/runs/{done.run_id}/job-1.sh")).read_text()
    assert sent == done.planned.script == make_script(done.planned.plan)
    assert f"/scratch/{done.evidence.folders[1].path.split('/')[-1]}/windlass/runs/{done.run_id}" in sent


@pytest.mark.parametrize(
    ("training", "site", "code"),
    [
        pytest.param(FROM_ZERO, "narval", "R107", id="begins from zero"),
        pytest.param(SAVES_NOTHING, "narval", "R106", id="saves nothing"),
        pytest.param(DEAF, "narval", "R105", id="does not hear"),
        pytest.param(DOWNLOADS, "narval", "R103", id="downloads"),
        pytest.param(WRITES_TO_HOME, "daint", "R104", id="writes to a home it may not", marks=needs_namespaces),
        pytest.param(WRITES_TO_HOME, "wilson", "R104", id="writes to a home that is not there", marks=needs_namespaces),
        pytest.param("print(1 / 0)", "daint", "R102", id="breaks down"),
    ],
)
def test_a_bad_training_shows(session: Session, project: Path, training: str, site: str, code: str) -> None:
    done = run(session, project, training, site)

    assert code in codes(done)
    assert done.would_fail


@needs_namespaces
def test_tasks_of_srun_have_the_whole_notice_to_save(session: Session, project: Path) -> None:
    done = run(session, project, SAVES_SLOWLY, "narval", keep=False, checkpoint__notice="20s", **TWO_TASKS)

    assert codes(done) == []
    assert [one.was_killed for one in done.evidence.links] == [False, False]
    assert [one.saved.files for one in done.evidence.links] == [2, 2]


@needs_namespaces
def test_tasks_of_srun_that_do_not_hear_are_told(session: Session, project: Path) -> None:
    done = run(session, project, DEAF, "narval", keep=False, **TWO_TASKS)

    assert "R105" in codes(done)
    assert "link 2 was not rehearsed" in " ".join(one.message for one in done.findings)


def test_who_does_not_hear_but_goes_on_did_not_begin_from_zero(session: Session, project: Path) -> None:
    done = run(session, project, DEAF_BUT_SAVES, "narval")

    assert [one.was_killed for one in done.evidence.links] == [True, True]
    assert "R107" not in [one.code for one in done.findings]
    assert "R105" in codes(done, Severity.WARNING)
    assert (done.evidence.links[1].command_s or 0) > 2


def test_a_breakdown_in_the_second_link_is_told_though_it_was_started_again(session: Session, project: Path) -> None:
    done = run(session, project, BREAKS_ONCE, "narval", checkpoint__restart="true")

    told = [one.message for one in done.findings if one.code == "R102"]
    assert told == ["link 2 broke down and was started again once: ValueError: once"]


def test_secrets_do_not_stay(session: Session, project: Path) -> None:
    with open(project / "windlass.toml", "a") as settings:
        settings.write('[run.secrets]\nTOKEN = "env:PATH"\n')

    done = run(session, project, "import os; assert os.environ['TOKEN']; print('has it')", "daint", keep=True)

    assert "has it" in done.evidence.links[0].text
    assert list(done.folder.rglob(wire.SECRETS)) == []


@pytest.mark.parametrize("minutes", ["nan", "inf", "1e300", "0"])
def test_minutes_that_are_none_are_refused(project: Path, minutes: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "windlass", "rehearse", "--as", "daint", "--minutes", minutes],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == ExitCode.USAGE
    assert "--minutes must be" in done.stderr


@needs_namespaces
def test_a_host_that_was_asked_for_is_named_though_nothing_failed(session: Session, project: Path) -> None:
    done = run(session, project, SURVIVES_WITHOUT, "narval")

    asked = next(one for one in done.findings if one.code == "R103")
    assert asked.severity is Severity.WARNING
    assert "data.example.org" in asked.message


@needs_namespaces
def test_a_path_of_this_laptop_is_not_there(session: Session, project: Path, tmp_path: Path) -> None:
    (tmp_path / "images").write_text("x")

    done = run(session, project, f"open({str(tmp_path / 'images')!r})", "narval")

    assert "R115" in codes(done)


@needs_namespaces
def test_two_nodes_with_four_gpus_each_find_one_another(session: Session, project: Path) -> None:
    done = run(
        session,
        project,
        EIGHT_RANKS,
        "jureca-dc",
        resources__nodes="2",
        resources__gpus_per_node="4",
        run__launcher="srun",
    )

    text = done.evidence.links[0].text
    expected = [f"{rank}@gpu{1 + rank // 4:03}:0,1,2,3" for rank in range(1, 8)]
    assert f"came: {' '.join(expected)}" in text, text
    assert "R112" in codes(done, Severity.ADVICE)


@needs_namespaces
def test_data_is_cut_to_a_sample_of_every_folder(session: Session, project: Path, tmp_path: Path) -> None:
    for name in ("cats", "dogs"):
        (tmp_path / "images" / name).mkdir(parents=True)
        for number in range(150):
            (tmp_path / "images" / name / f"{number:03}.png").write_bytes(b"x")
    source = str(tmp_path / "images")
    training = (
        f"import os\nfor one in sorted(os.listdir({source!r})): print(one, len(os.listdir({source!r} + '/' + one)))"
    )
    with open(project / "windlass.toml", "a") as file:
        file.write(f'[data.images]\nsource = "{source}"\n')

    done = run(session, project, training, "narval")

    assert "cats 100\ndogs 100" in done.evidence.links[0].text
    assert [(one.files, one.is_whole) for one in done.evidence.samples] == [(200, False)]


@needs_namespaces
def test_a_sample_of_a_packed_set_is_a_packed_set_and_is_staged(session: Session, project: Path) -> None:
    write_packed(Path(session.site("here").root) / "data" / "tiny", make_files(300, 1_000), shards=3)
    training = (
        "from windlass_job import data\nshards = data.Shards('tiny', check=True)\nprint('has', len(list(shards)))"
    )
    with open(project / "windlass.toml", "a") as file:
        file.write('[data.tiny]\nstage = "node"\n')

    done = run(session, project, training, "narval")

    text = done.evidence.links[0].text
    assert "has 200" in text, text
    assert "on the node's disk" in text
    assert [(one.files, one.is_whole) for one in done.evidence.samples] == [(200, False)]


def test_what_the_site_would_refuse_is_told_and_the_rest_is_seen(session: Session, project: Path) -> None:
    done = run(session, project, "print('ran')", "wilson", resources__qos="golden")

    refused = next(one for one in done.findings if one.code == "R101")
    assert "Invalid qos specification" in (refused.refusal or "")
    assert "ran" in done.evidence.links[0].text


def test_a_rehearsal_is_no_run_and_only_the_last_stays(session: Session, project: Path) -> None:
    first = run(session, project, "print('ran')", "narval")
    kept = run(session, project, "print('ran')", "narval", keep=True)
    last = run(session, project, "print('ran')", "narval")

    assert session.store.list(limit=None) == ()
    assert [one.folder.exists() for one in (first, kept, last)] == [False, True, True]


def test_this_machine_is_not_pretended(session: Session, project: Path) -> None:
    with pytest.raises(UsageError):
        run(session, project, GOOD, "here")


def test_ctrl_c_ends_its_jobs_and_removes_it(session: Session, project: Path, places: Places) -> None:
    (project / "train.py").write_text(
        DEAF.replace("import signal, time", "import os, signal, time\nprint(os.getpid(), flush=True)")
    )
    pids: list[int] = []

    def interrupt(news: News) -> None:
        words = news.log.split()
        if words and words[0].isdigit():
            pids.append(int(words[0]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rehearse(session, Wanted(project=project, site="narval"), Options(), show=interrupt)

    assert list((places.state / "rehearsals").iterdir()) == []
    assert not is_alive(pids[0])


@pytest.mark.skipif(shutil.which("unshare") is None or not is_possible(without_network=False), reason="no namespaces")
def test_without_namespaces_variables_proxies_and_a_hook_stand_in(project: Path, places: Places) -> None:
    (project / "train.py").write_text(
        "import os, socket\nprint(os.environ['SCRATCH'], os.environ['HOME'])\n"
        "try: socket.create_connection(('192.0.2.1', 80), timeout=5)\nexcept OSError as problem: print(problem)\n"
    )
    forbid = "for kind in mnt net user; do echo 0 > /proc/sys/user/max_${kind}_namespaces; done"
    command = f"{sys.executable} -m windlass --json rehearse --as daint --link-time 60s"

    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "bash", "-c", f"{forbid}; {command}"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    told = json.loads(done.stdout)
    assert told["is_closed"] is False
    log = next(Path(told["folder"]).glob("areas/scratch/windlass/runs/*/logs/*.out")).read_text()
    assert f"{told['folder']}/areas/scratch {told['folder']}/areas/home" in log
    assert "refused by the rehearsal" in log
    assert told["links"][0]["outcome"] == "done"
