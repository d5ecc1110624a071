"""Fetched where there is internet, loaded with the network off, and found by jobs on nodes without a route."""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.environments.hub import TRAIN, WEIGHTS, Hub, make_project, open_hub
from tests.cluster.cluster import SlurmCluster
from tests.conftest import Places
from tests.waiting import wait_until
from windlass.app.environments.prefetching import PrefetchOptions, prefetch
from windlass.app.explaining import explain_run
from windlass.app.following import wait
from windlass.app.logs import read_log
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.finding import Severity
from windlass.core.prefetched import Ended
from windlass.core.record import RunRecord, RunState
from windlass.core.run import PrefetchPlace
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site
from windlass.errors import CheckFailed, PrefetchFailed, SiteNotReady

SECTION = "[prefetch]\n"
SITE = '[rules]\ncompute_internet = false\npoll_s = 1\n[software]\nslurm_path = "@pocket"\n[partition.pocket]\n'
LOADED = f"loaded {len(WEIGHTS)} bytes for 2 classes"


@pytest.fixture
def hub() -> Iterator[Hub]:
    with open_hub() as opened:
        yield opened


@pytest.fixture
def session(places: Places, tmp_path: Path) -> Iterator[Session]:
    """A site on pocket whose nodes are said to have no internet."""
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 2\ncpus = 4\nmemory_mb = 4000\n")
    add_site("island", f'root = "{tmp_path / "root"}"\n{SITE}', find_folders(os.environ))
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened


def make_plan(session: Session, project: Path, site: str = "island") -> Planned:
    return plan_run(session, Wanted(project=project, site=site))


def list_codes(planned: Planned) -> set[str]:
    return {one.code for one in planned.findings}


def read_words(session: Session, record: RunRecord) -> str:
    return b"".join(read_log(session, record)).decode()


def test_a_training_that_records_stops_before_its_first_step_and_its_cache_is_verified(
    session: Session, hub: Hub, tmp_path: Path
) -> None:
    project = make_project(tmp_path / "project", hub.address, prefetch=SECTION)
    refused = make_plan(session, project)
    said: list[str] = []

    found = prefetch(session, refused, PrefetchOptions(), progress=said.append)

    assert "C528" in list_codes(refused)
    assert (found.ended, found.where) == (Ended.STEP, PrefetchPlace.LOGIN)
    assert found.verified is not None, found.problem
    assert "network namespace" in found.verified.how
    assert hub.asked == ["/weights.bin", "/labels.txt"]  # once: with the network off nobody was asked
    assert found.caches["torch"].bytes == len(WEIGHTS) + 8
    assert found.new_bytes == len(WEIGHTS) + 8
    caches = tmp_path / "root" / "caches"
    assert json.loads((caches / f"prefetch-{found.id}.json").read_text())["files"].keys() == {"train.py"}
    assert "step" not in (caches / f"prefetch-{found.id}.log").read_text()
    assert not (caches / f".prefetch-{found.id}" / "code").exists()

    planned = make_plan(session, project)

    assert not list_codes(planned) & {"C501", "C502", "C528", "C529"}
    assert f"export TORCH_HOME={caches}/torch" in planned.script
    assert next(one.why for one in planned.plan.reasons if one.field == "TORCH_HOME") == "it was prefetched there"
    (project / "train.py").write_text(TRAIN + "\n# changed\n")
    assert "C529" in list_codes(make_plan(session, project))


def test_a_path_of_the_runs_own_does_not_hide_what_watches_its_training(
    session: Session, hub: Hub, tmp_path: Path
) -> None:
    """Else it would train at the login node until the limit. What the project has there is found as before."""
    train = "import helper\n" + TRAIN
    project = make_project(tmp_path / "project", hub.address, prefetch='[prefetch]\nlimit = "30s"\n', train=train)
    (project / "src").mkdir()
    (project / "src" / "helper.py").write_text("import windlass_job.run as run\n")
    text = (project / "windlass.toml").read_text()
    (project / "windlass.toml").write_text(text.replace("[run.env]\n", '[run.env]\nPYTHONPATH = "src"\n'))

    found = prefetch(session, make_plan(session, project), PrefetchOptions())

    assert found.ended is Ended.STEP
    assert found.verified is not None, found.problem
    assert found.verified.ended is Ended.STEP


def test_a_job_trains_from_what_was_prefetched_and_nobody_is_asked(session: Session, hub: Hub, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", hub.address, prefetch=SECTION)
    prefetch(session, make_plan(session, project), PrefetchOptions())
    asked = len(hub.asked)

    record = wait(session, start_run(session, make_plan(session, project)))

    words = read_words(session, record)
    assert record.state is RunState.DONE, words
    assert LOADED in words
    assert "step 3" in words
    assert len(hub.asked) == asked


def test_a_command_of_the_users_fills_a_folder_that_every_run_finds(session: Session, hub: Hub, tmp_path: Path) -> None:
    """And its secrets are in no file afterwards."""
    section = '[run.secrets]\nHUB_TOKEN = "env:MY_TOKEN"\n[prefetch]\ncommand = "bash fetch.sh"\npaths = ["data/raw"]\n'
    load = "import pathlib\nprint(pathlib.Path('data/raw/labels.txt').read_text())\n"
    project = make_project(tmp_path / "project", hub.address, prefetch=section, train=load)
    (project / "fetch.sh").write_text(
        'set -e\ntest "$HUB_TOKEN" = s3cret-word\ntest -L data/raw\n'
        'python3 -c "import os, urllib.request as u; '
        "u.urlretrieve(os.environ['HUB'] + '/labels.txt', 'data/raw/labels.txt')\"\n"
    )
    (project / "data" / "raw").mkdir(parents=True)
    (project / "data" / "raw" / "old.txt").write_text("what lies here is not sent")
    os.environ["MY_TOKEN"] = "s3cret-word"
    try:
        found = prefetch(session, make_plan(session, project), PrefetchOptions())
        record = wait(session, start_run(session, make_plan(session, project)))
    finally:
        del os.environ["MY_TOKEN"]

    assert found.verified is not None, found.problem
    assert found.ended is Ended.DONE
    assert record.state is RunState.DONE
    assert "cat" in read_words(session, record)
    kept = [path for path in (tmp_path / "root" / "caches").rglob("*") if path.is_file()]
    assert all(b"s3cret-word" not in path.read_bytes() for path in kept)
    assert not list((tmp_path / "root" / "caches").glob(".secrets-*"))


def test_secrets_are_taken_away_by_the_laptop_too(session: Session, hub: Hub, tmp_path: Path) -> None:
    """Where no work could be started that would do it."""
    section = '[run.secrets]\nHUB_TOKEN = "env:MY_TOKEN"\n[prefetch]\n'
    project = make_project(tmp_path / "project", hub.address, prefetch=section)
    os.environ["MY_TOKEN"] = "s3cret-word"
    try:
        planned = make_plan(session, project)
        (tmp_path / "root").mkdir(exist_ok=True)
        (tmp_path / "root" / "tools").write_text("in the way of the program")
        with pytest.raises(SiteNotReady):
            prefetch(session, planned, PrefetchOptions())
    finally:
        del os.environ["MY_TOKEN"]

    assert not list((tmp_path / "root" / "caches").glob(".secrets-*"))


def test_it_is_fetched_here_and_sent_with_its_links(session: Session, hub: Hub, tmp_path: Path) -> None:
    """As a hub keeps it: each file once, and names that lead to it."""
    section = '[prefetch]\ncommand = "python3 fetch.py"\nwhere = "laptop"\n'
    load = (
        "import os, pathlib, zlib\nhome = pathlib.Path(os.environ['HF_HOME'])\n"
        "print('loaded', zlib.crc32((home / 'snapshots' / 'model.bin').read_bytes()))\n"
    )
    project = make_project(tmp_path / "project", hub.address, prefetch=section, train=load)
    (project / "fetch.py").write_text(
        "import os, pathlib, urllib.request\nhome = pathlib.Path(os.environ['HF_HOME'])\n"
        "(home / 'blobs').mkdir(parents=True, exist_ok=True); (home / 'snapshots').mkdir(exist_ok=True)\n"
        "urllib.request.urlretrieve(os.environ['HUB'] + '/weights.bin', home / 'blobs' / 'ab')\n"
        "(home / 'snapshots' / 'model.bin').symlink_to('../blobs/ab')\n"
    )

    found = prefetch(session, make_plan(session, project), PrefetchOptions())

    there = tmp_path / "root" / "caches" / "huggingface"
    assert (found.where, found.ended) == (PrefetchPlace.LAPTOP, Ended.DONE)
    assert found.verified is not None, found.problem
    assert os.readlink(there / "snapshots" / "model.bin") == "../blobs/ab"  # noqa: PTH115
    assert (there / "blobs" / "ab").read_bytes() == WEIGHTS
    assert not list((tmp_path / "root" / "data").glob("prefetch-*"))
    assert not list((session.folders.cache / "prefetch").iterdir())  # no second copy stays on the laptop


def test_of_two_that_are_fetched_here_at_once_one_waits_for_the_other(
    session: Session, hub: Hub, tmp_path: Path
) -> None:
    """The first one's copy is removed when it was sent: the second must not be at work in it."""
    go, said = tmp_path / "go", tmp_path / "said"
    fetch = f"echo began >> $HF_HOME/began; while [ ! -e {go} ]; do sleep 0.05; done"
    section = f"[prefetch]\ncommand = '{fetch}'\nwhere = \"laptop\"\n"
    project = make_project(tmp_path / "project", hub.address, prefetch=section, train="print('loaded')\n")
    command = [sys.executable, "-m", "windlass", "prefetch", "--on", "island"]
    with said.open("wb") as out:
        first = subprocess.Popen(command, cwd=project, stdout=out, stderr=out)
        wait_until(lambda: any(session.folders.cache.rglob("began")), "the first to begin")
        second = subprocess.Popen(command, cwd=project, stdout=out, stderr=out)
        try:
            wait_until(lambda: b"is fetching here already" in said.read_bytes(), "the second to wait")
        finally:
            go.touch()
            codes = first.wait(60), second.wait(60)

    assert codes == (0, 0), said.read_text()
    assert (tmp_path / "root" / "caches" / "huggingface" / "began").read_text() == "began\n"
    assert not list((session.folders.cache / "prefetch").iterdir())


def test_what_fails_is_told_with_its_first_bad_line_and_what_came_stays(session: Session, tmp_path: Path) -> None:
    with open_hub({"/weights.bin": WEIGHTS}) as hub:
        project = make_project(tmp_path / "project", hub.address, prefetch=SECTION)

        with pytest.raises(PrefetchFailed, match="HTTP Error 404") as failed:
            prefetch(session, make_plan(session, project), PrefetchOptions())

    assert "stays in the caches" in (failed.value.done or "")
    assert (tmp_path / "root" / "caches" / "torch" / "hub" / "checkpoints" / "weights.bin").read_bytes() == WEIGHTS
    assert "C528" in list_codes(make_plan(session, project))


_OTHER_TYPES = b'{"id": 5, "name": [], "command": {}, "where": 5, "ended": "x", "made": "x"}'


@pytest.mark.parametrize(
    "text",
    [b'{"id": "x"', b"[]", b"{}", _OTHER_TYPES, None],
    ids=["cut", "list", "empty", "other types", "folder"],
)
@pytest.mark.parametrize("section", [SECTION, ""], ids=["wanted", "unasked"])
def test_a_damaged_card_is_told_and_written_anew(
    session: Session, hub: Hub, tmp_path: Path, text: bytes | None, section: str
) -> None:
    project = make_project(tmp_path / "project", hub.address, prefetch=section)
    found = prefetch(session, make_plan(session, project), PrefetchOptions(verify=False))
    card = tmp_path / "root" / "caches" / f"prefetch-{found.id}.json"
    card.unlink()
    if text is None:
        card.mkdir()
    else:
        card.write_bytes(text)

    planned = make_plan(session, project)

    [told] = [one for one in planned.findings if one.code in ("C528", "C529")]
    assert told.code == ("C528" if section else "C529")
    assert f"{card.name} cannot be read" in told.message
    verified = prefetch(session, planned, PrefetchOptions(fetch=False)).verified
    assert verified is not None
    assert not list_codes(make_plan(session, project)) & {"C528", "C529"}


def test_what_a_library_keeps_in_home_is_seen(session: Session, hub: Hub, tmp_path: Path) -> None:
    """Another model does not help a job that can ask nobody; where HF_HOME leads elsewhere nobody knows."""
    train = "from transformers import AutoModel\nAutoModel.from_pretrained('lab/net')\n"
    project = make_project(tmp_path / "project", hub.address, train=train)
    kept = Path.home() / ".cache" / "huggingface" / "hub"

    def judge() -> list[Severity]:
        return [one.severity for one in make_plan(session, project).findings if one.code == "C502"]

    (kept / "models--lab--other").mkdir(parents=True)
    assert judge() == [Severity.ERROR]
    (kept / "models--lab--net").mkdir()
    assert judge() == [Severity.WARNING]


def test_a_hub_that_lets_nobody_in_is_told_with_where_a_token_goes(session: Session, hub: Hub, tmp_path: Path) -> None:
    section = '[prefetch]\ncommand = "bash fetch.sh"\n'
    project = make_project(tmp_path / "project", hub.address, prefetch=section)
    (project / "fetch.sh").write_text("echo 'GatedRepoError: 401 Client Error. (Request ID: 1)' >&2; exit 1\n")

    with pytest.raises(PrefetchFailed, match="Gated") as failed:
        prefetch(session, make_plan(session, project), PrefetchOptions())

    assert 'HF_TOKEN = "env:HF_TOKEN"' in (failed.value.hint or "")


def test_code_that_wants_more_than_was_fetched_is_not_verified(session: Session, hub: Hub, tmp_path: Path) -> None:
    section = "[prefetch]\ncommand = \"python3 -c 'print(1)'\"\n"
    project = make_project(tmp_path / "project", hub.address, prefetch=section)

    found = prefetch(session, make_plan(session, project), PrefetchOptions())

    assert found.verified is None
    assert "urlopen error" in (found.problem or "")
    assert hub.asked == []
    warned = make_plan(session, project)
    assert next(one for one in warned.findings if one.code == "C529").message.endswith(found.problem or "?")
    (tmp_path / "root" / "caches" / "torch" / "hub" / "checkpoints").mkdir(parents=True, exist_ok=True)
    for name, content in (("weights.bin", WEIGHTS), ("labels.txt", b"a\n")):
        (tmp_path / "root" / "caches" / "torch" / "hub" / "checkpoints" / name).write_bytes(content)
    assert prefetch(session, warned, PrefetchOptions(fetch=False)).verified is not None


def test_a_command_that_does_not_end_is_ended(session: Session, hub: Hub, tmp_path: Path) -> None:
    section = '[prefetch]\ncommand = "sleep 100"\nlimit = "1s"\n'
    project = make_project(tmp_path / "project", hub.address, prefetch=section)

    with pytest.raises(PrefetchFailed, match="not through after 1 s"):
        prefetch(session, make_plan(session, project), PrefetchOptions())


@pytest.mark.slurm
def test_a_node_without_a_route_trains_from_the_cache_and_not_without_it(
    slurm: SlurmCluster, places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub is on the login node's loopback. The same job without prefetch is refused; forced, it is diagnosed."""
    slurm.reset()
    root = slurm.root / "home" / f"island-{os.getpid()}"
    root.mkdir()
    shutil.chown(root, "alice")
    monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(slurm.ssh_config))
    rules = "[rules]\ncompute_internet = false\npoll_s = 1\n"
    add_site("island", f'root = "{root}"\n[login]\nhost = "login"\n{rules}', find_folders(os.environ))
    try:
        with Session(folders=find_folders(os.environ), environ=os.environ) as session, open_hub() as hub:
            project = make_project(tmp_path / "project", hub.address, prefetch=SECTION)
            without = make_plan(session, project)
            with pytest.raises(CheckFailed) as refused:
                start_run(session, without)
            forced = wait(session, start_run(session, without, force=True))
            _, why = explain_run(session, forced)
            found = prefetch(session, make_plan(session, project), PrefetchOptions())
            trained = wait(session, start_run(session, make_plan(session, project)))
            words = read_words(session, trained)

        assert "C528" in str(refused.value.details)
        assert forced.state is RunState.FAILED
        assert why[0].code == "D203", why
        assert "windlass prefetch" in (why[0].hint or "")
        assert found.verified is not None, found.problem
        assert "network namespace" in found.verified.how
        assert trained.state is RunState.DONE, words
        assert LOADED in words
        assert stat.S_IMODE((root / "caches" / f"prefetch-{found.id}.log").stat().st_mode) == 0o600
        assert hub.asked == ["/weights.bin", "/labels.txt"]
    finally:
        shutil.rmtree(root, ignore_errors=True)


def test_the_place_can_be_chosen_on_the_command_line(session: Session, hub: Hub, tmp_path: Path) -> None:
    """And --record takes the training instead of the command; both are found again by the same plan."""
    project = make_project(tmp_path / "project", hub.address, prefetch='[prefetch]\ncommand = "false"\n')
    planned = make_plan(session, project)

    found = prefetch(session, planned, PrefetchOptions(record=True, where=PrefetchPlace.TRANSFER, verify=False))

    assert (found.where, found.ended, found.verified) == (PrefetchPlace.TRANSFER, Ended.STEP, None)
    again = make_plan(session, project)
    assert "C528" not in list_codes(again)
    assert "C529" in list_codes(again)
    assert replace(planned.spec) == again.spec
