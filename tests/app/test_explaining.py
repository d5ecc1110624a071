"""Real failures on real engines, and what is said about them."""

import subprocess
from pathlib import Path

import pytest

from tests.app.conftest import ENGINES
from tests.cluster.cluster import SlurmCluster
from tests.waiting import wait_until
from windlass.app.explaining import explain_code, explain_job, explain_run, explain_word
from windlass.app.following import wait
from windlass.app.planning import Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.core.toml.layers import Flag
from windlass.errors import NotFound, UsageError

HERE, _, SSH = ENGINES
both = pytest.mark.parametrize("session", [HERE, SSH], indirect=True)
with_slurm = pytest.mark.parametrize("session", [SSH], indirect=True)

COMMANDS = {
    "D205": "python3 -c 'import nosuchpackage'",
    "D206": "nosuchprogram --fast",
    "D216": "kill -9 $$",
    "D217": "kill -SEGV $$",
    "D603": r"printf 'cd /nosuch\r\n' > a.sh; bash a.sh",
    "D801": "python3 -c 'raise KeyError(7)'",
    "D900": "echo what it said last; exit 9",
}
# Compute nodes of the cluster have no route outside, and memory is limited by control groups.
ON_NODES = {
    "D201": "python3 -c 'x = bytearray(600_000_000)'",
    "D203": """python3 -c 'import urllib.request as u; u.urlopen("https://huggingface.co/x", timeout=9)'""",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "windlass.toml").write_text(
        '[run]\nname = "fails"\ncommand = "true"\n[resources]\ntime = "5m"\ncpus = 1\nmemory = "100M"\n'
    )
    return folder


def start(session: Session, project: Path, site: str, command: str) -> RunRecord:
    flags = (Flag(key="run.command", value=command),)
    return start_run(session, plan_run(session, Wanted(project=project, site=site, flags=flags)))


@pytest.mark.parametrize(
    ("word", "part"),
    [
        ("OUT_OF_MEMORY", "killed"),
        ("PD", "waits in the queue"),
        ("AssocMaxJobsLimit", "as many jobs run"),
        ("ReqNodeNotAvail, Reserved for maintenance", "maintenance"),
        ("nosuch", None),
        ("pd", None),
        ("None", None),
    ],
)
def test_words_of_slurms(word: str, part: str | None) -> None:
    told = explain_word(word)

    assert told is None if part is None else part in (told or "")


@pytest.mark.parametrize("code", ["d203", "E301", "C202", "S201"])
def test_every_kind_of_code_is_explained(code: str) -> None:
    assert explain_code(code).startswith(f"{code.upper()}: ")


@both
def test_the_cause_is_found(session: Session, project: Path, site_name: str, request: pytest.FixtureRequest) -> None:
    commands = dict(COMMANDS)
    if site_name != "here":
        slurm: SlurmCluster = request.getfixturevalue("slurm")
        commands |= ON_NODES if slurm.has_cgroups else {"D203": ON_NODES["D203"]}
    runs = {code: start(session, project, site_name, command) for code, command in commands.items()}

    found = {code: explain_run(session, wait(session, record))[1] for code, record in runs.items()}

    assert {code: diagnoses[0].code for code, diagnoses in found.items()} == {code: code for code in commands}
    assert "what it said last" in found["D900"][0].evidence
    if "D201" in found:
        assert [(one.key, one.value) for one in found["D201"][0].patch] == [("resources.memory", '"256M"')]


@both
def test_a_run_that_ended_well_or_runs_well_has_nothing_to_explain(
    session: Session, project: Path, site_name: str
) -> None:
    record = wait(session, start(session, project, site_name, "echo ModuleNotFoundError: No module named 'x'"))

    assert explain_run(session, record) == (record, ())


@both
def test_a_job_that_is_ours_is_explained_as_its_run(session: Session, project: Path, site_name: str) -> None:
    record = wait(session, start(session, project, site_name, "exit 9"))

    found, diagnoses = explain_job(session, record.job_id or "")

    assert found.run_id == record.run_id
    assert diagnoses[0].code == "D900"
    with pytest.raises(NotFound, match="knows no job"):
        explain_job(session, "99999999", site_name=site_name)
    with pytest.raises(UsageError, match="no run of Windlass's"):
        explain_job(session, "99999999")


SCRIPTS = """
cd $HOME && rm -rf explained && mkdir explained && cd explained
short="-p cpu -t 2 --mem=50M --parsable"
noout=$(sbatch $short -o nosuch/x.out --wrap hostname)
words=$(sbatch $short --wrap 'echo "OSError: [Errno 122] Disk quota exceeded" >&2; exit 1')
never=$(sbatch $short -d afterok:$words --wrap true)
held=$(sbatch $short --hold --wrap true)
first=$(sbatch $short -A tiny --wrap 'sleep 60')
limit=$(sbatch $short -A tiny --wrap 'sleep 60')
well=$(sbatch $short --wrap true)
echo "$noout $words $never $held $limit $well $first"
"""


@with_slurm
def test_jobs_that_windlass_did_not_submit(session: Session, slurm: SlurmCluster, site_name: str) -> None:
    ids = slurm.run_as("alice", SCRIPTS).stdout.split()
    expected = ("D501", "D204", "D002", "D005", "D004", None)

    def is_settled() -> bool:
        queue = slurm.run_as("alice", "squeue --me -h -o '%i %T %r'").stdout
        running = [line for line in queue.splitlines() if line.split()[0] in (ids[0], ids[1], ids[5])]
        return not running and "DependencyNeverSatisfied" in queue and "AssocMaxJobsLimit" in queue

    wait_until(is_settled, "jobs that ended, and jobs that wait")
    told = [explain_job(session, one, site_name=site_name) for one in ids[:6]]

    assert [found[0].code if found else None for _, found in told] == list(expected)
    assert "mkdir -p" in (told[0][1][0].hint or "")
    assert f"scontrol release {ids[3]}" == told[3][1][0].hint
    slurm.run_as("alice", f"scancel {' '.join(ids)}")


@with_slurm
def test_a_node_that_fails_and_those_that_rank_before(session: Session, slurm: SlurmCluster, site_name: str) -> None:
    submit = "sbatch -p cpu -t 3 --parsable --no-requeue --exclusive -o /dev/null --wrap 'sleep 100'"
    ids = slurm.run_as("alice", f"{submit}; {submit}; {submit}; {submit} --nice=5").stdout.split()
    wait_until(lambda: _state(ids[1]) == "RUNNING" and "PENDING" in _state(ids[3]), "two that run and two that wait")

    waits, (turn,) = explain_job(session, ids[3], site_name=site_name)

    assert waits.state is RunState.WAITING
    assert turn.code == "D001"
    assert any("1 job ranks before it in this partition; it waits for 1 node" in line for line in turn.evidence)
    node = subprocess.run(["squeue", "-h", "-j", ids[1], "-o", "%N"], capture_output=True, text=True).stdout.strip()
    subprocess.run(["scontrol", "update", f"nodename={node}", "state=down", "reason=test"], check=True)
    wait_until(lambda: _state(ids[1]) == "NODE_FAIL", "a job without its node")
    failed, found = explain_job(session, ids[1], site_name=site_name)
    assert (found[0].code, failed.nodes) == ("D302", node)
    slurm.run_as("alice", f"scancel {' '.join(ids)}")
    subprocess.run(["scontrol", "update", f"nodename={node}", "state=resume"], check=False, capture_output=True)


def _state(job_id: str) -> str:
    asked = ["squeue", "-h", "--states=all", "-j", job_id, "-o", "%T"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
