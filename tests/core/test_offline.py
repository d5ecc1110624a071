"""Which variables a job gets so that libraries find their caches and do not ask."""

import subprocess
from dataclasses import replace
from pathlib import Path

from tests.builders import PLAN, SPEC
from windlass.core.job import make_environment_lines
from windlass.core.offline import (
    LIBRARIES,
    Surroundings,
    choose_offline_env,
    list_folders,
    list_login_lines,
    make_cache_env,
    make_silent_env,
)
from windlass.core.prefetch import make_fetch_script
from windlass.core.site import Rules, Site
from windlass.core.trackers import TRACKERS

OFFLINE = Site(name="alpha", rules=Rules(compute_internet=False))
ONLINE = Site(name="beta", rules=Rules(compute_internet=True))
PLACE = Surroundings(site=OFFLINE, root="/scratch/w", workdir="/scratch/w/runs/r/code")


def choose(place: Surroundings) -> dict[str, str]:
    return choose_offline_env(place)[0]


def test_a_library_that_is_used_must_not_ask_where_nobody_answers() -> None:
    env, reasons = choose_offline_env(replace(PLACE, modules={"transformers", "wandb", "mlflow", "matplotlib"}))

    assert env["HF_HUB_OFFLINE"] == env["TRANSFORMERS_OFFLINE"] == env["HF_DATASETS_OFFLINE"] == "1"
    assert env["WANDB_MODE"] == "offline"
    assert env["MLFLOW_TRACKING_URI"] == "file:/scratch/w/runs/r/code/mlruns"
    assert env["MPLBACKEND"] == "Agg"
    assert "HF_HOME" not in env  # what the user has in home stays found
    assert {one.field for one in reasons} == set(env)
    assert "reach no internet" in next(one.why for one in reasons if one.field == "HF_HUB_OFFLINE")


def test_where_there_is_internet_caches_leave_the_home_folder_and_nothing_is_silenced() -> None:
    assert choose(replace(PLACE, site=ONLINE, modules={"torch", "wandb"})) == {"TORCH_HOME": "/scratch/w/caches/torch"}


def test_what_was_prefetched_is_found_whatever_the_code_imports() -> None:
    env = choose(replace(PLACE, fetched=("huggingface", "files")))

    assert env["HF_HOME"] == "/scratch/w/caches/huggingface"
    assert env["HF_HUB_OFFLINE"] == "1"


def test_what_the_user_sets_is_left_alone() -> None:
    modules = {"transformers", "wandb"}
    assert "WANDB_MODE" not in choose(replace(PLACE, modules=modules, taken={"WANDB_MODE": "online"}))
    online = replace(PLACE, site=ONLINE, modules=modules)
    assert "HF_HOME" not in choose(replace(online, taken={"HF_HUB_CACHE": "/mine"}))
    fetched = replace(PLACE, fetched=("huggingface",))
    assert "HF_HOME" in choose(replace(fetched, taken={"HF_HUB_OFFLINE": "1"}))
    assert "HF_HOME" not in choose(replace(fetched, taken={"HF_HOME": "/mine"}))


def test_a_proxy_is_a_way_out() -> None:
    modules = {"transformers"}
    assert choose(replace(PLACE, modules=modules, loaded=("httpproxy",))) == {}
    assert choose(replace(PLACE, modules=modules, taken={"https_proxy": "http://p"})) == {}


def test_on_ones_own_machine_everything_stays_where_it_is() -> None:
    here = Site(name="here", rules=Rules(compute_internet=True, cuts_to_fit=True))

    assert choose(replace(PLACE, site=here, modules={"torch", "matplotlib"}, fetched=("torch",))) == {}


def find_login(folder: Path, **env: str) -> str:
    """What a script finds that moves Hugging Face's cache."""
    lines = [*list_login_lines({"HF_HOME"}), "export HF_HOME=/scratch/w/caches/huggingface", "echo ${HF_TOKEN_PATH:-}"]
    argv = ["bash", "-euc", "\n".join(lines)]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), **env}
    return subprocess.run(argv, env=env, check=True, capture_output=True, text=True).stdout.strip()


def test_who_logged_in_to_a_hub_stays_logged_in_where_its_cache_is_moved(tmp_path: Path) -> None:
    usual, own = tmp_path / ".cache" / "huggingface" / "token", tmp_path / "own" / "token"
    assert find_login(tmp_path) == ""  # then a token beside the moved cache counts
    for path in (usual, own):
        path.parent.mkdir(parents=True)
        path.write_text("word")

    assert find_login(tmp_path) == str(usual)
    assert find_login(tmp_path, HF_HOME=str(own.parent)) == str(own)
    assert find_login(tmp_path, HF_TOKEN_PATH=str(own)) == str(own)


def test_scripts_look_for_a_login_before_they_move_the_cache() -> None:
    job = make_environment_lines(replace(PLAN, offline_env={"HF_HOME": "/caches/huggingface"}))
    fetching = make_fetch_script(PLAN, SPEC, root="/r", is_here=False)
    by_user = make_fetch_script(replace(PLAN, env={"HF_HOME": "/mine"}), SPEC, root="/r", is_here=False)

    for script in (job, fetching):
        assert 0 < script.index("export HF_TOKEN_PATH=") < script.index("export HF_HOME=")
    assert "HF_TOKEN_PATH" not in make_environment_lines(PLAN) + by_user


def test_the_catalogue_is_sound() -> None:
    names = [name for one in LIBRARIES for name in (*one.caches, *one.offline)]
    assert len(names) == len(set(names))
    assert set(make_cache_env("/r").values()) == {f"/r/caches/{one}" for one in list_folders()}
    assert "HF_HUB_OFFLINE" not in make_silent_env(".", trackers_only=True)
    assert all(one.look or one.push for one in TRACKERS.values())


def test_a_record_of_a_tracker_is_known_by_its_files() -> None:
    wandb, board = TRACKERS["wandb"], TRACKERS["tensorboard"]

    assert wandb.find_record("out/wandb/offline-run-1-ab/files/a.json") == "out/wandb/offline-run-1-ab"
    assert board.find_record("runs/events.out.tfevents.1") == "runs/events.out.tfevents.1"
    assert wandb.format_push("a b") == "wandb sync --include-synced 'a b'"
