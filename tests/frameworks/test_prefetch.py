"""Real PyTorch and Hugging Face: their own caches are filled up to the first step, and found with the network off."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.environments.hub import make_project, open_hub
from tests.conftest import Places
from windlass.app.environments.prefetching import PrefetchOptions, prefetch
from windlass.app.following import wait
from windlass.app.logs import read_log
from windlass.app.planning import Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.finding import Severity
from windlass.core.prefetched import Ended
from windlass.core.record import RunState
from windlass.core.run import PrefetchPlace
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site

pytestmark = pytest.mark.frameworks

SITE = '[rules]\ncompute_internet = false\npoll_s = 1\n[software]\nslurm_path = "@pocket"\n[partition.pocket]\n'
TRAIN = """
import os
os.environ["HF_ENDPOINT"] = os.environ["HUB"]
import huggingface_hub, torch
config = huggingface_hub.hf_hub_download("org/tiny", "config.json")
state = torch.hub.load_state_dict_from_url(os.environ["HUB"] + "/tiny.pt", progress=False)
model = torch.nn.Linear(2, 1)
model.load_state_dict(state)
print("loaded", open(config).read(), flush=True)
loss = model(torch.ones(1, 2)).sum()
loss.backward()
print("trained", flush=True)
"""


@pytest.fixture
def session(places: Places, tmp_path: Path) -> Iterator[Session]:
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 2\ncpus = 4\nmemory_mb = 4000\n")
    add_site("island", f'root = "{tmp_path / "root"}"\n{SITE}', find_folders(os.environ))
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened


def make_weights(python: Path, path: Path) -> bytes:
    code = f"import torch; torch.save(torch.nn.Linear(2, 1).state_dict(), {str(path)!r})"
    subprocess.run([python, "-c", code], check=True, timeout=120)
    return path.read_bytes()


@pytest.mark.parametrize("where", [PrefetchPlace.LOGIN, PrefetchPlace.LAPTOP])
def test_real_caches_are_filled_up_to_the_first_step_and_found_offline(
    session: Session, programs: Path, tmp_path: Path, where: PrefetchPlace
) -> None:
    weights = make_weights(programs / "python", tmp_path / "tiny.pt")
    files = {"/org/tiny/resolve/main/config.json": b'{"layers": 1}', "/tiny.pt": weights}
    with open_hub(files) as hub:
        project = make_project(tmp_path / "project", hub.address, train=TRAIN)
        toml = (project / "windlass.toml").read_text()
        (project / "windlass.toml").write_text(
            toml.replace("python3", str(programs / "python")).replace("200M", "1500M")
        )
        refused = plan_run(session, Wanted(project=project, site="island"))
        found = prefetch(session, refused, PrefetchOptions(where=where))

    planned = plan_run(session, Wanted(project=project, site="island"))
    record = wait(session, start_run(session, planned))

    words = b"".join(read_log(session, record)).decode()
    told = next(one for one in refused.findings if one.code == "C502")
    assert told.severity is Severity.ERROR  # nothing is in a cache, and the call is reached for certain
    assert (found.ended, found.where) == (Ended.STEP, where)
    assert found.verified is not None, found.problem
    assert set(found.caches) == {"huggingface", "torch"}
    assert not {one.code for one in planned.findings} & {"C501", "C502", "C528", "C529"}
    assert record.state is RunState.DONE, words
    assert 'loaded {"layers": 1}\n' in words
    assert "trained" in words
