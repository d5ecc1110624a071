"""Containers on the real cluster, with a real Apptainer: made there, entered by jobs, stopped, found damaged."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.environments.hub import WEIGHTS, open_hub
from tests.app.test_story import TRAINING
from tests.cluster.cluster import SlurmCluster
from tests.conftest import Places
from tests.environments.images import (
    make_image,
    make_small_tree,
    make_tree,
    reason_there_is_no_apptainer,
)
from tests.environments.registry import serve_image
from windlass.app.cancelling import cancel_runs
from windlass.app.environments.building import build_environment
from windlass.app.environments.containers import clean_cache, list_images, verify_images
from windlass.app.environments.ensuring import ensure_environment
from windlass.app.environments.prefetching import PrefetchOptions, prefetch
from windlass.app.environments.registry import find_environment
from windlass.app.environments.seen import load_recipe
from windlass.app.fetching import fetch_run
from windlass.app.following import wait
from windlass.app.logs import read_log
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.refreshing import refresh
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.core.toml.layers import Flag
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site
from windlass.errors import CheckFailed, EnvironmentFailed, EnvironmentNotFound

pytestmark = pytest.mark.slurm

SITE = "containers"
IN_DEFINITION = Flag(key="environment.container", value="image.def")
# Only inside: what the image has, what this machine has not; what is bound; the variables of a rank.
LOOKS = """
import os, pathlib, sys
import windlass_job.run
rank = os.environ["RANK"]
print(pathlib.Path("/etc/windlass-image").read_text().strip(), "rank", rank, "of", os.environ["WORLD_SIZE"])
print("activated:", os.environ.get("NOTE", "nothing"))
print("node", os.uname()[1], "home", os.environ["HOME"], "folder", os.getcwd() == os.environ["PWD"])
for name in (os.environ["SLURM_TMPDIR"], "/dev/shm"):
    trace = pathlib.Path(name, "trace-" + rank)
    trace.write_text("x")
    trace.unlink()  # other tests look whether anything was left there
pathlib.Path("runs").mkdir(exist_ok=True)
pathlib.Path("runs", rank).write_text(os.uname()[1])
"""


@pytest.fixture
def session(slurm: SlurmCluster, places: Places, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A site whose login shell has no apptainer until its module is loaded."""
    reason = reason_there_is_no_apptainer()
    if reason:
        pytest.skip(reason)
    slurm.reset()
    root = slurm.root / "home" / f"containers-{os.getpid()}"
    root.mkdir()
    shutil.chown(root, "alice")
    monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(slurm.ssh_config))
    site = (
        f'root = "{root}"\n[login]\nhost = "login"\n[rules]\npoll_s = 1\n[software]\nmodules = "lmod"\n'
        f'container = "apptainer"\ncontainer_module = "apptainer"\ncontainer_home = "{root}/in-place-of-home"\n'
    )
    add_site(SITE, site, find_folders(os.environ))
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAINING)
    (folder / "look.py").write_text(LOOKS)
    (folder / "image.def").write_text(
        f"Bootstrap: localimage\nFrom: {make_tree()}\n%files\n  note.txt /etc/note\n%post\n  ls /etc/note\n"
    )
    (folder / "note.txt").write_text("from the project\n")
    (folder / "windlass.toml").write_text(
        '[run]\nname = "boxed"\ncommand = "python3 train.py 5"\nresults = ["runs/**"]\n'
        '[resources]\ntime = "2m"\ncpus = 1\nmemory = "500M"\n[checkpoint]\nfolder = "checkpoints"\nnotice = "5s"\n'
        f'[environment]\ncontainer = "{make_image()}"\n'
    )
    return folder


def plan(session: Session, project: Path, **settings: str) -> Planned:
    flags = tuple(Flag(key=key.replace("__", "."), value=value) for key, value in settings.items())
    wanted = Wanted(project=project, site=SITE, flags=flags)
    return ensure_environment(session, wanted, plan_run(session, wanted))


def wait_for_line(session: Session, record: RunRecord, words: str) -> str:
    deadline = time.monotonic() + 40
    while words not in (said := show_log(session, record)):
        assert time.monotonic() < deadline, said
        time.sleep(0.3)
    return said


def show_log(session: Session, record: RunRecord) -> str:
    [fresh] = refresh(session, [record]).records
    return b"".join(read_log(session, fresh)).decode()


def test_an_image_is_made_from_a_definition_and_a_training_runs_in_it_on_two_nodes(
    session: Session, project: Path, tmp_path: Path
) -> None:
    two = {
        "resources__nodes": "2",
        "run__command": "python3 look.py",
        "run__launcher": "srun",
        "environment__activate": 'export NOTE="$(cat /etc/note)"',
    }
    planned = plan(session, project, environment__container="image.def", **two)
    assert planned.environment is not None
    built = planned.environment.built
    assert built is not None
    assert (built.python or "").startswith("3.")
    assert built.source == "image.def"
    assert (built.digest or "").startswith("sha256:")
    assert Path(built.path).stat().st_size == built.bytes

    record = wait(session, start_run(session, planned))
    said = show_log(session, record)

    assert record.state is RunState.DONE, said
    for rank in (0, 1):
        assert f"this is inside rank {rank} of 2" in said
    assert "in-place-of-home folder True" in said
    assert said.count("activated: from the project\n") == 2
    fetch_run(session, record, to=tmp_path / "home")
    assert len({one.read_text() for one in (tmp_path / "home").rglob("runs/?")}) == 2
    assert [one.id for one in list_images(session, session.site(SITE))] == [built.id]
    assert verify_images(session, session.site(SITE), [built.id[:13]]) == ((built, None),)
    _damage(Path(built.path))
    with pytest.raises(CheckFailed) as caught:
        start_run(session, plan(session, project, environment__container="image.def", **two))
    assert "is damaged" in "".join(caught.value.details)
    clean_cache(session, session.site(SITE))
    assert Path(built.path).exists()


def _damage(image: Path) -> None:
    with image.open("r+b") as file:
        file.seek(image.stat().st_size // 2)
        file.write(b"damage")
    later = time.time() + 5
    os.utime(image, (later, later))


def test_an_image_is_pulled_from_a_registry_by_what_its_tag_names(
    session: Session, slurm: SlurmCluster, project: Path
) -> None:
    profile = slurm.home("alice") / ".bash_profile"
    profile.write_text("export APPTAINER_NOHTTPS=1\n")  # the registry is this machine's
    try:
        with serve_image(make_small_tree(), "lab/boxed") as address:
            tag = f"docker://{address.partition('@')[0]}:latest"
            planned = plan(session, project, environment__container=tag, run__command="cat /etc/windlass-image")
    finally:
        profile.unlink()
    assert planned.environment is not None
    assert planned.environment.built is not None
    assert planned.environment.built.source == tag
    assert planned.environment.built.pinned == f"docker://{address}"
    assert planned.plan.image == f"docker://{address}"

    record = wait(session, start_run(session, planned))

    assert "this is inside\n" in show_log(session, record)
    assert not list(slurm.home("alice").glob(".apptainer/cache/*"))
    assert list(Path(session.site(SITE).root).glob("images/cache/*"))


# What fetches without Python, which no hook of ours would stop.
FETCHES = """
import os, pathlib, subprocess
path = pathlib.Path(os.environ["TORCH_HOME"], "weights")
host, port = os.environ["HUB"].rpartition("/")[2].split(":")
if MUST_ASK or not path.exists():
    line = "exec 3<>/dev/tcp/%s/%s; printf 'GET /weights.bin HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3 >weights"
    subprocess.run(["bash", "-c", line % (host, port)], check=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pathlib.Path("weights").read_bytes())
print(pathlib.Path("/etc/windlass-image").read_text(), path.stat().st_size)
"""


def test_an_image_that_cannot_be_made_again_leaves_the_one_there_is(session: Session, project: Path) -> None:
    """What its definition copies from the site is gone: nothing else about it has changed."""
    site = session.site(SITE)
    there = Path(site.root) / "weights.txt"
    there.write_text("once\n")
    (project / "image.def").write_text(
        f"Bootstrap: localimage\nFrom: {make_small_tree()}\n%files\n  {there} /etc/weights\n"
    )
    recipe = load_recipe(session, Wanted(project=project, site=SITE, flags=(IN_DEFINITION,)))
    first = build_environment(session, site, recipe)
    there.unlink()

    with pytest.raises(EnvironmentFailed, match=r"while copying \S+weights\.txt"):
        build_environment(session, site, recipe, again=True)

    assert find_environment(session, site, recipe.id) == first
    assert [problem for _, problem in verify_images(session, site, [recipe.id])] == [None]
    assert [one.name for one in Path(first.path).parents[1].glob("build-*")] == ["build-1"]
    inside = plan(session, project, environment__container="image.def", run__command="cat /etc/weights")
    assert "once\n" in show_log(session, wait(session, start_run(session, inside)))


def test_what_a_training_inside_needs_is_fetched_and_loaded_inside_with_the_network_off(
    session: Session, project: Path
) -> None:
    (project / "train.py").write_text(f"MUST_ASK = False{FETCHES}")
    with open_hub() as hub:
        settings = {"run__env__HUB": hub.address, "run__command": "python3 train.py"}

        found = prefetch(session, plan(session, project, **settings), PrefetchOptions())

        asked = len(hub.asked)
        (project / "train.py").write_text(f"MUST_ASK = True{FETCHES}")
        worse = prefetch(session, plan(session, project, **settings), PrefetchOptions())

    assert found.caches["torch"].bytes > len(WEIGHTS)
    assert asked == 1
    assert found.verified is not None, found.problem
    assert found.verified.how == "a container without a network"
    assert worse.verified is None
    assert "Connection refused" in str(worse.problem) or "non-zero exit status" in str(worse.problem)


@pytest.mark.parametrize("launcher", ["single", "srun"])
def test_the_signal_to_stop_reaches_a_training_inside(session: Session, project: Path, launcher: str) -> None:
    line = "echo begins; python3 train.py 9999; echo never"
    record = start_run(session, plan(session, project, run__command=line, run__launcher=launcher))
    wait_for_line(session, record, "starts at step 0")

    cancel_runs(session, [record])

    ended = wait(session, record)
    said = show_log(session, ended)
    assert ended.state is RunState.CANCELLED
    assert "stopped at step" in said
    assert "never" not in said


def test_the_code_of_a_command_inside_is_the_runs_and_one_can_look_into_it(session: Session, project: Path) -> None:
    record = wait(session, start_run(session, plan(session, project, run__command="python3 -c 'raise SystemExit(7)'")))

    assert (record.state, record.exit_code) == (RunState.FAILED, 7)
    in_folder = type_into_shell(project, record.run_id)
    assert in_folder.stdout == f"this is inside\n{record.folder}/code\n", in_folder.stderr
    in_job = type_into_shell(project, "--on", SITE, "--job", "--time", "1m")
    assert in_job.stdout == f"this is inside\n{session.site(SITE).root}\n", in_job.stderr
    assert "in a job at" in in_job.stderr


def type_into_shell(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    windlass = Path(sys.executable).parent / "windlass"
    return subprocess.run(
        [windlass, "container", "shell", *words],
        input="cat /etc/windlass-image; pwd\n",
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_an_image_that_is_not_there_or_cut_off_is_found_before(session: Session, project: Path, tmp_path: Path) -> None:
    cut = session.site(SITE).root + "/cut.sif"
    Path(cut).write_bytes(make_image().read_bytes()[:100_000])

    with pytest.raises(EnvironmentNotFound, match=r"cut\.sif is cut off: it has 100000 of"):
        plan(session, project, environment__container=cut)
    with pytest.raises(EnvironmentNotFound, match=r"lost\.sif is not there"):
        plan(session, project, environment__container="$HOME/lost.sif")
