"""Advice about windlass.toml said again for a batch script: a setting as its line, a hint in its words."""

import re
import tomllib
from collections.abc import Callable, Sequence

from windlass.core.finding import Setting
from windlass.core.run import WORDS_OF_A_CENTRE
from windlass.core.shell import quote
from windlass.core.units import Unreadable, format_slurm_duration, read_duration

_SAME = (*WORDS_OF_A_CENTRE, "nodes", "gpus")
_OPTIONS = {
    **{f"resources.{name}": name for name in _SAME},
    "resources.memory": "mem",
    "resources.cpus": "cpus-per-task",
    "resources.gpus_per_node": "gpus-per-node",
    "resources.time": "time",
    "resources.link_time": "time",
}
_ENV = "run.env."
# In this order: a whole line before a part of it.
_WORDS: tuple[tuple[str, str], ...] = (
    ('[environment] activate = "source ~/env/bin/activate"   # or modules = [...]', "{source}"),
    ("[environment] modules", "`module load NAME` in the script"),
    ("[environment]", "what the script loads and activates before it"),
    ("[checkpoint] max_links", "fewer tasks (--array)"),
    ("; or [checkpoint] done_file", ""),
    (" ([checkpoint] folder)", ""),
    ('[checkpoint] signal = "USR2"', "#SBATCH --signal=USR2@…"),
    ("a longer [checkpoint] notice", "an earlier --signal"),
    ("a longer link_time: fewer links", "a longer --time for each"),
    ("[run] launcher", "srun or torchrun in the script"),
    ("[network] host_suffix and interface in the site file", "the host's full name, and NCCL_SOCKET_IFNAME"),
    ("[network] interface in the site file", "NCCL_SOCKET_IFNAME"),
    (", or [software] modules in the site file", ""),
    (", or [rules] memory_can_be_asked = false in the site file where memory is not counted", ""),
    ("check run.command, run.workdir and", "check the command, --chdir and"),
    ("run.command", "the script"),
    ("[resources] gpu, gpus_per_node, cpus, memory", "#SBATCH --gpus-per-node, --cpus-per-task, --mem"),
    ("[resources] gpu{end}", "#SBATCH --gres=gpu:KIND:N"),
    ("remove old runs (windlass rm), and see", "remove what is old, and see"),
    ("windlass ps --refresh, or squeue --me,", "squeue --me"),
    ("windlass ps --refresh later; the run's own last word counts as soon as it is there", "sacct later"),
)
_SOURCE = "source ~/env/bin/activate   # or `module load NAME`: in the script, before the command"
_WITH_VALUE = re.compile(r'\[resources\] (\w+) = "([^"]*)"')
_ALONE = re.compile(r"\[resources\] (\w+)")


def format_directives(settings: Sequence[Setting]) -> list[str]:
    """Lines for the script: directives, then what its shell does. What only Windlass knows is left out."""
    lines = [line for setting in settings if (line := _format(setting))]
    return sorted(lines, key=lambda line: not line.startswith("#SBATCH"))


def reword_for_script(hint: str) -> str:
    """The same advice, for somebody who has a script and no windlass.toml."""
    for ours, theirs in _WORDS:
        pattern = re.escape(ours.removesuffix("{end}")) + (r"\b" if ours.endswith("{end}") else "")
        hint = re.sub(pattern, theirs.replace("{source}", _SOURCE).replace("\\", r"\\"), hint)
    hint = _WITH_VALUE.sub(lambda found: _directive(f"resources.{found[1]}", found[2]) or found[0], hint)
    return _ALONE.sub(lambda found: f"#SBATCH --{_OPTIONS.get(f'resources.{found[1]}', found[1])}", hint)


def _format(setting: Setting) -> str | None:
    value = str(tomllib.loads(f"x = {setting.value}")["x"])
    if setting.key.startswith(_ENV):
        return f"export {setting.key.removeprefix(_ENV)}={quote(value)}"
    special = _SPECIAL.get(setting.key)
    return special(value) if special else _directive(setting.key, value)


def _directive(key: str, value: str) -> str | None:
    option = _OPTIONS.get(key)
    if option is None:
        return None
    return f"#SBATCH --{option}={_as_slurm_time(value) if option == 'time' else value}"


def _as_slurm_time(text: str) -> str:
    try:
        return format_slurm_duration(read_duration(text))
    except Unreadable:
        return text


def _format_notice(value: str) -> str:
    return f"#SBATCH --signal=B:TERM@{int(read_duration(value).total_seconds())}   # the script must pass it on"


_SPECIAL: dict[str, Callable[[str], str | None]] = {
    "resources.memory": lambda value: f"#SBATCH --mem={value}   # instead of any --mem-per-cpu",
    "resources.gpu": lambda value: f"#SBATCH --gres=gpu:{value}:1   # or as many as it uses",
    "environment.activate": lambda value: value,
    "checkpoint.notice": _format_notice,
}
