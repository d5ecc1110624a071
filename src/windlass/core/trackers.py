"""Experiment trackers: how each keeps its records in files, and what sends them on from a laptop."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from windlass.core.shell import quote_all

WORKDIR = "{workdir}"  # in a value of a variable: the folder the command runs in
RECORD = "{record}"  # in a word of a command: the folder or file that is one record


@dataclass(frozen=True, kw_only=True)
class Tracker:
    """One program that records trainings."""

    name: str
    title: str  # for people
    modules: frozenset[str]  # whoever imports one of them may use it
    patterns: tuple[str, ...]  # of its files below the working folder; `**` crosses folders
    offline: Mapping[str, str] = field(default_factory=dict)  # variables that make it write files and ask nobody
    unit: str = ""  # begins the name of a folder that is one record; "": every file is one by itself
    push: tuple[tuple[str, ...], ...] = ()  # commands that send one record; (): nothing has to be sent
    is_pushed_once: bool = False  # sent a second time it would be there twice: only when the run is over
    look: tuple[str, ...] = ()  # what shows a record on this laptop

    def find_record(self, path: str) -> str:
        """The folder or file, relative as the path is, that is sent as one."""
        parts = path.split("/")
        places = [at for at, part in enumerate(parts) if self.unit and part.startswith(self.unit)]
        return "/".join(parts[: places[0] + 1]) if places else path

    def make_push(self, record: str) -> tuple[tuple[str, ...], ...]:
        return tuple(_fill(words, record) for words in self.push)

    def format_push(self, record: str) -> str:
        return " && ".join(quote_all(words) for words in self.make_push(record))

    def format_look(self, record: str) -> str:
        return quote_all(_fill(self.look, record))


def _fill(words: tuple[str, ...], record: str) -> tuple[str, ...]:
    return tuple(word.replace(RECORD, record) for word in words)


_MLFLOW_FILES = ("env", f"MLFLOW_TRACKING_URI=file:{RECORD}", "MLFLOW_ALLOW_FILE_STORE=true")
_ALL: tuple[Tracker, ...] = (
    Tracker(
        name="wandb",
        title="Weights & Biases",
        modules=frozenset({"wandb"}),
        offline={"WANDB_MODE": "offline"},
        patterns=("**/wandb/offline-run-*/**",),
        unit="offline-run-",
        # It grows while the job runs, and one that was sent before would be passed over.
        push=(("wandb", "sync", "--include-synced", RECORD),),
    ),
    Tracker(
        name="comet",
        title="Comet",
        modules=frozenset({"comet_ml"}),
        # COMET_START_ONLINE is for comet_ml.start(); comet_ml.Experiment() always wants its server.
        offline={"COMET_START_ONLINE": "0", "COMET_OFFLINE_DIRECTORY": f"{WORKDIR}/.cometml-runs"},
        patterns=("**/.cometml-runs/*.zip",),
        push=(("comet", "upload", RECORD),),
        is_pushed_once=True,
    ),
    Tracker(
        name="mlflow",
        title="MLflow",
        modules=frozenset({"mlflow"}),
        # Newer versions keep records in plain files only when they are told that this is meant.
        offline={"MLFLOW_TRACKING_URI": f"file:{WORKDIR}/mlruns", "MLFLOW_ALLOW_FILE_STORE": "true"},
        patterns=("**/mlruns/**",),
        unit="mlruns",
        # Of the package mlflow-export-import; the second goes to the server in $MLFLOW_TRACKING_URI of the laptop.
        push=(
            (*_MLFLOW_FILES, "export-experiments", "--experiments", "all", "--output-dir", f"{RECORD}-export"),
            ("import-experiments", "--input-dir", f"{RECORD}-export"),
        ),
        is_pushed_once=True,
        look=(*_MLFLOW_FILES, "mlflow", "ui"),
    ),
    Tracker(
        name="neptune",
        title="Neptune",
        modules=frozenset({"neptune"}),
        offline={"NEPTUNE_MODE": "offline"},
        patterns=("**/.neptune/**",),
        unit=".neptune",
        push=(("neptune", "sync", "--path", f"{RECORD}/.."),),
    ),
    Tracker(
        name="clearml",
        title="ClearML",
        modules=frozenset({"clearml"}),
        offline={"CLEARML_OFFLINE_MODE": "1", "CLEARML_CACHE_DIR": f"{WORKDIR}/.clearml"},
        patterns=("**/.clearml/offline/*.zip",),
        push=(("clearml-task", "--import-offline-session", RECORD),),
        is_pushed_once=True,
    ),
    Tracker(
        name="tensorboard",
        title="TensorBoard",
        modules=frozenset({"tensorboard", "tensorboardX"}),
        patterns=("**/events.out.tfevents.*",),
        look=("tensorboard", "--logdir", RECORD),
    ),
)
TRACKERS: dict[str, Tracker] = {one.name: one for one in _ALL}
