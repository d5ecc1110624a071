"""Which variables a job gets so that libraries find their caches and do not ask."""

from dataclasses import replace

from windlass.core.offline import (
    LIBRARIES,
    Surroundings,
    choose_offline_env,
    list_folders,
    make_cache_env,
    make_silent_env,
)
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
