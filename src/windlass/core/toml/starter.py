"""The first windlass.toml of a project: from what was seen in its folder to a commented text that works."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from windlass.core.shell import quote
from windlass.core.toml.writing import format_string, format_value

FRAMEWORKS = ("torch", "lightning", "pytorch_lightning", "tensorflow", "keras", "jax", "sklearn", "transformers")
_GPU_FRAMEWORKS = frozenset(FRAMEWORKS) - {"sklearn"}
_TRAINING_NAMES = ("train", "main", "run", "fit", "finetune")
_REQUIREMENTS = ("requirements.txt", "pyproject.toml")  # the first that is there
_CONDA = ("environment.yml", "environment.yaml")
_BULKY = (
    "data",
    "datasets",
    "dataset",
    "runs",
    "wandb",
    "checkpoints",
    "outputs",
    "results",
    "mlruns",
    "lightning_logs",
)
_RESULTS = ("checkpoints", "outputs", "results", "runs", "lightning_logs")


@dataclass(frozen=True, kw_only=True)
class ScriptSeen:
    """One Python file, as far as its first part tells."""

    path: str  # relative to the project
    frameworks: frozenset[str] = frozenset()
    has_main: bool = False
    has_arguments: bool = False
    saves: bool = False  # torch.save, ModelCheckpoint, save_weights …


@dataclass(frozen=True, kw_only=True)
class ProjectSeen:
    """What lies in a folder, seen without running anything."""

    name: str
    files: frozenset[str] = frozenset()  # at the top
    folders: frozenset[str] = frozenset()  # at the top
    scripts: tuple[ScriptSeen, ...] = ()


def make_starter(seen: ProjectSeen) -> str:
    """A windlass.toml that reads back without a problem, whatever the files are called."""
    script = pick_training(seen.scripts)
    sections = (_make_run(seen, script), _make_resources(script), _make_environment(seen), _make_checkpoint())
    head = (
        "# What to run and what it needs. `windlass plan` shows what would be submitted, `windlass run` submits it.",
        "# Lines that begin with # are suggestions: remove the # to use them.",
    )
    return "\n".join([*head, *(line for section in sections for line in ("", *section))]) + "\n"


def pick_training(scripts: Sequence[ScriptSeen]) -> ScriptSeen | None:
    """The script that most likely is the training; None when none looks like it."""
    usable = [one for one in scripts if _is_plain(one.path)]
    best = max(usable, key=lambda one: (_score(one), -one.path.count("/"), -len(one.path), one.path), default=None)
    return best if best is not None and _score(best) > 0 else None


def _score(script: ScriptSeen) -> int:
    stem = script.path.rpartition("/")[2].removesuffix(".py").lower()
    if stem.startswith(("test_", "setup", "conftest")) or stem.endswith("_test"):
        return 0
    named = 4 if stem in _TRAINING_NAMES else 3 if "train" in stem else 0
    return named + 3 * bool(script.frameworks) + script.has_main + script.has_arguments + script.saves


def _make_run(seen: ProjectSeen, script: ScriptSeen | None) -> Iterator[str]:
    yield "[run]"
    yield f"name = {format_string(_clean_name(seen.name))}"
    if script is None:
        yield "# No training script was found: write what you type to start yours."
        yield 'command = "python3 train.py"'
    else:
        yield f"command = {format_string(f'python3 {quote(script.path)}')}"
    results = [f"{folder}/**" for folder in _RESULTS if folder in seen.folders]
    comment = "" if results else "# "
    yield f"{comment}results = {format_value(results or ['outputs/**'])}  # what `windlass fetch` brings home"
    bulky = [f"{folder}/**" for folder in _BULKY if folder in seen.folders]
    if bulky:
        yield f"exclude = {format_value(bulky)}  # does not travel with the code"
    yield '# site = "here"  # where to run when --on is not given'


def _make_resources(script: ScriptSeen | None) -> Iterator[str]:
    yield "[resources]"
    wants_gpu = script is not None and bool(script.frameworks & _GPU_FRAMEWORKS)
    yield f"{'' if wants_gpu else '# '}gpus = 1  # of the whole run; nodes follow from it"
    yield 'time = "1h"  # the whole training; longer than a job may last becomes a chain of jobs'
    yield '# memory = "32G"  # for each node'
    yield '# account = "def-yours"  # who pays, where the site wants to know'


def _make_environment(seen: ProjectSeen) -> Iterator[str]:
    yield "[environment]"
    requirements = next((name for name in _REQUIREMENTS if name in seen.files), None)
    conda = next((name for name in _CONDA if name in seen.files), None)
    if requirements:
        yield f"# venv = {format_string(requirements)}  # built at the site, once, when a run first needs it"
    if conda:
        yield f"# conda = {format_string(conda)}  # built at the site, once, when a run first needs it"
    yield '# activate = "source ~/env/bin/activate"  # an environment that you made at the site, once'
    yield '# modules = ["python/3.11"]  # what `module load` needs at the site'


def _make_checkpoint() -> Iterator[str]:
    yield "[checkpoint]"
    yield "# A training that saves here, and goes on from what it finds here, may last longer than one job."
    yield '# folder = "checkpoints"'
    yield '# notice = "2m"  # so long before the end of a job the command gets a signal'


def _clean_name(name: str) -> str:
    cut = "".join(char for char in name if char.isprintable()).strip()[:100].strip()
    return cut or "run"


def _is_plain(path: str) -> bool:
    """Can be written into a command on one line."""
    return path.isprintable() and len(path) < 1000 and bool(path.strip())
