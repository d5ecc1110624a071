"""The agent has a packed environment unpacked on the node, and the command runs in it; or where it lies, and why."""

import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.environments.packed_envs import ENV_ID, make_environment, pack, put_in_place
from tests.job.harness import OLDEST_AND_NEWEST, Job
from windlass.edges.job_zip import make_job_zip

GB = 10**9
SHOW = 'command -v python && greet && echo "$VIRTUAL_ENV $MODEL"'


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("site")
    make_environment(root)
    return root


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def make_job(request: pytest.FixtureRequest, tmp_path: Path, root: Path) -> Iterator[Callable[[], Job]]:
    """As the job script leaves it to the agent: in the shared folder, by `current`."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    folder = root / "envs" / ENV_ID

    def make() -> Job:
        plan = {"sets": [], "scratch": "$MY_SCRATCH", "memory_bytes": 10 * GB, "node_bytes": 100 * GB}
        job = Job(tmp_path, python=request.param, options=(f"--data={json.dumps(plan)}",))
        job.folder.mkdir()
        (job.folder / "windlass_job.pyz").write_bytes(make_job_zip())
        job.env = {
            "SLURM_JOB_ID": str(os.getpid()),
            "MY_SCRATCH": str(scratch),
            "WINDLASS_PACKED_ENV": str(folder / "env.tar"),
            "PATH": f"{folder}/current/bin:{os.environ['PATH']}",
            "VIRTUAL_ENV": str(folder / "build-1"),
            "MODEL": f"{folder}/build-12/model",
        }
        return job

    yield make
    assert list(scratch.rglob("*")) == [], "something was left on the node"


def test_the_command_runs_in_the_nodes_own_copy(make_job: Callable[[], Job], root: Path, tmp_path: Path) -> None:
    pack(root)
    job = make_job()

    code = job.run("bash", "-c", SHOW)

    assert code == 0, job.log
    home = re.escape(f"{tmp_path}/scratch/windlass-{os.getuid()}/digits-k3f9w.{os.getpid()}.1-1/env")
    lines = job.printed.splitlines()
    assert re.fullmatch(f"{home}/bin/python", lines[0])
    assert re.fullmatch(rf"hello from {home}/lib/\S+ in {home}", lines[1])
    assert re.fullmatch(rf"{home} {re.escape(str(root))}/envs/{ENV_ID}/build-12/model", lines[2])
    assert re.search(r"the environment is on the node's disk after [\d.]+ s: \d+ files of [\d.]+ kB", job.log)
    event = job.find_event("environment_ready")
    assert (event["place"], event["nodes"]) == ("node", 1)
    assert job.find_event("data_local")["read"] == (root / "envs" / ENV_ID / "env.tar").stat().st_size


def _remove(folder: Path) -> None:
    (folder / "env.tar").unlink()


def _cut(folder: Path) -> None:
    with (folder / "env.tar").open("r+b") as file:
        file.truncate(10_000)


def _flip(folder: Path) -> None:
    with (folder / "env.tar").open("r+b") as file:
        file.seek(20_000)
        byte = file.read(1)
        file.seek(20_000)
        file.write(bytes([byte[0] ^ 1]))


def _replace(folder: Path) -> None:
    """Another file of the same size and sum, which is no tar: as if somebody had made it."""
    card = json.loads((folder / "env.tar.json").read_text())
    content = b"x" * card["bytes"]
    (folder / "env.tar").write_bytes(content)
    (folder / "env.tar.json").write_text(json.dumps({**card, "crc32": zlib.crc32(content)}))


def _claim_much(folder: Path) -> None:
    card = json.loads((folder / "env.tar.json").read_text())
    (folder / "env.tar.json").write_text(json.dumps({**card, "unpacked": 10**16}))


def _build_anew(folder: Path) -> None:
    card = json.loads((folder / "env.tar.json").read_text())
    (folder / "env.tar.json").write_text(json.dumps({**card, "path": f"{folder}/build-0"}))


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_remove, "it is not packed"),
        (_cut, r"env\.tar has 10000 bytes instead of \d+"),
        (_flip, "the packed environment is damaged on the shared file system"),
        (_replace, "it cannot be laid out: the packed environment is damaged"),
        (_claim_much, r"unpacked it needs 10000000\.0 GB; .* has [\d.]+ GB free"),
        (_build_anew, "it was built anew since it was packed"),
    ],
)
def test_what_cannot_be_unpacked_is_imported_from_the_shared_folder(
    make_job: Callable[[], Job], root: Path, harm: Callable[[Path], None], said: str
) -> None:
    put_in_place(root / "envs" / ENV_ID / "build-1")
    pack(root, again=True)
    harm(root / "envs" / ENV_ID)
    job = make_job()

    code = job.run("bash", "-c", SHOW)

    assert code == 0, job.log
    assert job.printed.splitlines()[0] == f"{root}/envs/{ENV_ID}/current/bin/python"
    assert re.search(f"the environment is imported from the shared file system: .*{said}", job.log), job.log
