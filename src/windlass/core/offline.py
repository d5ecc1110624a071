"""Libraries that fetch things: where each keeps them, and what tells it not to ask. One entry a library.

Variables that the user, the site or the code sets itself are never set here.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from windlass.core.plan import Reason
from windlass.core.site import Site
from windlass.core.source.uses import has_proxy
from windlass.core.trackers import TRACKERS, WORKDIR
from windlass_job import wire


@dataclass(frozen=True, kw_only=True)
class Library:
    """One library, or several that share a cache."""

    name: str  # for people
    modules: frozenset[str] = frozenset()  # whoever imports one of them uses it
    caches: Mapping[str, str] = field(default_factory=dict)  # variable -> folder below ROOT/caches
    offline: Mapping[str, str] = field(default_factory=dict)  # variable -> what keeps it from asking
    moved_by: frozenset[str] = frozenset()  # other variables by which users say where it keeps things
    homes: tuple[str, ...] = ()  # where it keeps them by itself, below the home folder
    kept: tuple[str, ...] = ()  # patterns of single models and the like below `homes`
    kept_before: tuple[str, ...] = ()  # where old releases kept them, by names that tell nothing
    login: tuple[str, str] | None = None  # a variable for its file, and where that lies while no cache is moved: bash
    is_tracker: bool = False


HUGGING_FACE = Library(
    name="Hugging Face",
    modules=frozenset(
        {
            *("transformers", "datasets", "huggingface_hub", "evaluate", "diffusers", "sentence_transformers", "timm"),
            *("accelerate", "peft", "trl", "tokenizers", "open_clip", "setfit"),
        }
    ),
    caches={"HF_HOME": "huggingface"},
    homes=(".cache/huggingface",),
    kept=("hub/models--*",),
    kept_before=("transformers",),  # before transformers 4.22
    login=("HF_TOKEN_PATH", "${HF_HOME:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/huggingface}/token"),
    # Without a word every call waits 23 seconds for a hub that does not answer.
    offline={
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_EVALUATE_OFFLINE": "1",
    },
    moved_by=frozenset({"HF_HUB_CACHE", "HF_DATASETS_CACHE", "TRANSFORMERS_CACHE", "HUGGINGFACE_HUB_CACHE"}),
)
LIBRARIES: tuple[Library, ...] = (
    HUGGING_FACE,
    Library(
        name="PyTorch",
        modules=frozenset({"torch", "torchvision", "torchaudio", "fastai", "segmentation_models_pytorch"}),
        caches={"TORCH_HOME": "torch"},
        homes=(".cache/torch",),
    ),
    Library(name="fastai", modules=frozenset({"fastai"}), caches={"FASTAI_HOME": "fastai"}),
    Library(
        name="Keras",
        modules=frozenset({"keras", "tensorflow", "tf_keras", "keras_hub"}),
        caches={"KERAS_HOME": "keras"},
        homes=(".keras",),
    ),
    Library(
        name="TensorFlow Datasets",
        modules=frozenset({"tensorflow_datasets"}),
        caches={"TFDS_DATA_DIR": "tensorflow_datasets"},
    ),
    Library(name="TensorFlow Hub", modules=frozenset({"tensorflow_hub"}), caches={"TFHUB_CACHE_DIR": "tensorflow_hub"}),
    Library(name="scikit-learn", modules=frozenset({"sklearn"}), caches={"SCIKIT_LEARN_DATA": "scikit-learn"}),
    Library(name="NLTK", modules=frozenset({"nltk"}), caches={"NLTK_DATA": "nltk"}),
    Library(name="tiktoken", modules=frozenset({"tiktoken"}), caches={"TIKTOKEN_CACHE_DIR": "tiktoken"}),
    Library(name="Kaggle", modules=frozenset({"kagglehub"}), caches={"KAGGLEHUB_CACHE": "kagglehub"}),
    Library(name="seaborn", modules=frozenset({"seaborn"}), caches={"SEABORN_DATA": "seaborn"}),
    *(
        Library(name=one.title, modules=one.modules, offline=one.offline, is_tracker=True)
        for one in TRACKERS.values()
        if one.offline
    ),
)
# Jobs have no screen; without a word matplotlib looks for one.
_SCREEN = {"matplotlib": ("MPLBACKEND", "Agg")}
TRACKER_VARIABLES = frozenset(name for one in LIBRARIES if one.is_tracker for name in one.offline)
_PLAIN_FOLDERS = "files"
# As huggingface_hub and transformers say it.
HUB_REFUSALS = re.compile(
    r"GatedRepoError|gated repo\b|RepositoryNotFoundError|Repository Not Found for url: https?://|"
    r"401 Client Error: Unauthorized for url: https://huggingface\.co|Invalid user token"
)
HUB_LOGIN = '[run.secrets] HF_TOKEN = "env:HF_TOKEN"; and accept the conditions on the page of what is gated'


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What decides which variables a job gets."""

    site: Site
    root: str  # of the site
    workdir: str  # where the command runs
    modules: Collection[str] = ()  # of Python, that the code imports
    loaded: Collection[str] = ()  # of the site's module system
    taken: Mapping[str, str] = field(default_factory=dict)  # set by the user, the site or the code
    fetched: Collection[str] | None = None  # folders below ROOT/caches that a prefetch filled; None: there was none


def choose_offline_env(around: Surroundings) -> tuple[dict[str, str], tuple[Reason, ...]]:
    """Sorted, each with its reason."""
    if around.site.rules.cuts_to_fit:
        return {}, ()  # this machine: everything is where it always was
    chosen = [*_choose_caches(around), *_choose_offline(around), *_choose_screen(around)]
    told = sorted({name: (value, why) for name, value, why in chosen if name not in around.taken}.items())
    reasons = tuple(Reason(field=name, value=value, why=why) for name, (value, why) in told)
    return {name: value for name, (value, _) in told}, reasons


def make_cache_env(root: str) -> dict[str, str]:
    """Of all libraries: while something is fetched nobody knows yet which of them will do it."""
    return {name: f"{root}/{wire.CACHES}/{folder}" for one in LIBRARIES for name, folder in one.caches.items()}


def make_silent_env(workdir: str, *, trackers_only: bool) -> dict[str, str]:
    """What keeps all of them from asking."""
    chosen = (one for one in LIBRARIES if one.is_tracker or not trackers_only)
    return {name: _fill(value, workdir) for one in chosen for name, value in one.offline.items()}


def list_login_lines(moved: Collection[str]) -> list[str]:
    """Of bash, before the lines that move these caches: who logged in at the site stays logged in."""
    logins = [one.login for one in LIBRARIES if one.login and not set(one.caches).isdisjoint(moved)]
    return [
        line
        for variable, place in logins
        for line in (
            f"windlass_login=${{{variable}:-{place}}}",
            f'[ ! -r "$windlass_login" ] || export {variable}="$windlass_login"',
        )
    ]


def list_folders() -> tuple[str, ...]:
    """Below ROOT/caches."""
    return tuple(dict.fromkeys(folder for one in LIBRARIES for folder in one.caches.values()))


def list_homes() -> tuple[str, ...]:
    """Below the home folder."""
    return tuple(home for one in LIBRARIES for home in one.homes)


def list_home_patterns() -> tuple[str, ...]:
    """Below the home folder: what lies in those of `list_homes`, as far as a check tells it apart."""
    return tuple(f"{home}/{one}" for lib in LIBRARIES for home in lib.homes for one in (*lib.kept, *lib.kept_before))


def may_keep(found: Collection[str], folder: str, kept_as: str | None) -> bool:
    """found: what is there in home. Whether the library with this folder below ROOT/caches may have it there."""
    libraries = [one for one in LIBRARIES if folder in one.caches.values()]
    if kept_as is None or not any(one.kept for one in libraries):
        return not set(find_homes(folder)).isdisjoint(found)
    places = [f"{home}/{one}" for lib in libraries for home in lib.homes for one in (kept_as, *lib.kept_before)]
    return not set(places).isdisjoint(found)


def list_moving() -> tuple[str, ...]:
    """Variables by which users say where libraries keep things that otherwise lie in home."""
    return tuple(sorted({name for one in LIBRARIES if one.homes for name in (*one.caches, *one.moved_by)}))


def find_homes(folder: str) -> tuple[str, ...]:
    """Where a library keeps things by itself that Windlass has it keep in this folder below ROOT/caches."""
    return tuple(home for one in LIBRARIES if folder in one.caches.values() for home in one.homes)


def find_moving(folder: str) -> frozenset[str]:
    """Variables by which a user says where that library keeps things."""
    ours = [one for one in LIBRARIES if folder in one.caches.values()]
    return frozenset(name for one in ours for name in (*one.caches, *one.moved_by))


def make_kept_folder(root: str, prefetch_id: str) -> str:
    """Where what [prefetch] paths name is kept."""
    return f"{root}/{wire.CACHES}/{_PLAIN_FOLDERS}/{prefetch_id}"


def has_way_out(modules: Collection[str], env: Mapping[str, str]) -> bool:
    """A proxy: by a variable, or by a module that is called so."""
    return has_proxy(env) or any("proxy" in one.lower() for one in modules)


_Chosen = Iterator[tuple[str, str, str]]


def _choose_caches(around: Surroundings) -> _Chosen:
    """Without a prefetch, what a user fetched into home must not be hidden from a job that can ask nobody."""
    rules = around.site.rules
    is_safe = rules.compute_internet is True or not rules.jobs_from_home
    for one in LIBRARIES:
        was_fetched = around.fetched is not None and bool(set(one.caches.values()) & set(around.fetched))
        if not was_fetched and not (is_safe and _is_used(one, around)):
            continue
        hands_off = one.moved_by | (frozenset() if was_fetched else frozenset({*one.caches, *one.offline}))
        if hands_off & set(around.taken):
            continue
        why = "it was prefetched there" if was_fetched else f"{one.name} is used, and home folders are small"
        for name, folder in one.caches.items():
            yield name, f"{around.root}/{wire.CACHES}/{folder}", why


def _choose_offline(around: Surroundings) -> _Chosen:
    if around.site.rules.compute_internet is not False or has_way_out(around.loaded, around.taken):
        return
    fetched = set(around.fetched or ())
    for one in LIBRARIES:
        if _is_used(one, around) or fetched & set(one.caches.values()):
            for name, value in one.offline.items():
                why = f"{one.name} must not ask: compute nodes of {around.site.name} reach no internet"
                yield name, _fill(value, around.workdir), why


def _choose_screen(around: Surroundings) -> _Chosen:
    for module, (name, value) in _SCREEN.items():
        if module in around.modules:
            yield name, value, f"{module} is used, and jobs have no screen"


def _is_used(library: Library, around: Surroundings) -> bool:
    return not library.modules.isdisjoint(around.modules)


def _fill(value: str, workdir: str) -> str:
    return value.replace(WORKDIR, workdir)
