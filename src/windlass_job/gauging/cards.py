"""The GPUs of this job on this node, by whoever can tell of them. Others' are left alone."""

import re
from typing import Any, Dict, List, Mapping, Optional, Sequence

from windlass_job.bounded import PATIENCE_S, Hangs, say, within
from windlass_job.gauging import tools
from windlass_job.gauging.nvml import NoLibrary, Nvml, NvmlError, Reading

_NVIDIA_VARIABLES = ("CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS", "SLURM_JOB_GPUS")
_AMD_VARIABLES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", *_NVIDIA_VARIABLES)
_NONE = ("", "NoDevFiles", "-1")
_SLICE = "MIG-"


class Cards:
    """`about` is told once, `read` again and again. Nothing here raises, and what hangs is given up."""

    def __init__(self, reader: Any, places: Sequence[int], about: Sequence[Dict[str, Any]]) -> None:
        self._reader = reader
        self._places = places
        self.about = list(about)

    def read(self) -> List[Reading]:
        if self._reader is not None:
            try:
                readings: List[Reading] = within(PATIENCE_S / 3, self._reader.read, self._places)
                return readings
            except Hangs:
                say("the GPUs of this node do not answer: they are no longer sampled")
                self._reader = None
        return [(None, None, None)] * len(self.about)


NO_CARDS = Cards(None, (), ())


def open_cards(env: Mapping[str, str], planned: int) -> Cards:
    """planned: how many this node has by the plan; where Slurm says nothing and none were planned, none are ours."""
    if not _is_any_ours(env, planned):
        return NO_CARDS
    try:
        found: Cards = within(PATIENCE_S, _open_cards, env)
        return found
    except Hangs:
        say("the GPUs of this node do not answer: they are not sampled")
        return NO_CARDS


def _open_cards(env: Mapping[str, str]) -> Cards:
    try:
        return _open_nvml(Nvml(), env)
    except (NoLibrary, NvmlError):
        pass
    for tool, variables in ((tools.NVIDIA, _NVIDIA_VARIABLES), (tools.ROCM, _AMD_VARIABLES)):
        try:
            reader = tools.ToolReader(tool)
        except tools.NoTool:
            continue
        seen = reader.list_cards()
        places = choose([card["uuid"] for card in seen], env, variables)
        return Cards(reader, places, [seen[place] for place in places])
    return NO_CARDS


def _open_nvml(library: Nvml, env: Mapping[str, str]) -> Cards:
    seen = library.list_cards()
    slices = [word for word in _list_words(env, _NVIDIA_VARIABLES) or () if word.startswith(_SLICE)]
    if slices:
        places = [library.open_slice(uuid) for uuid in slices]
        seen = library.list_cards()
    else:
        places = choose([card["uuid"] for card in seen], env, _NVIDIA_VARIABLES)
    return Cards(library, places, [seen[place] for place in places])


def choose(uuids: Sequence[str], env: Mapping[str, str], variables: Sequence[str] = _NVIDIA_VARIABLES) -> List[int]:
    """Which of the visible ones are ours, by their places.

    A control group hides others', and then the numbers of variables count within the visible ones, or on the whole
    node; either way all that is visible is ours when there are as many as are named.
    """
    words = _list_words(env, variables)
    if words is None or len(words) >= len(uuids):
        return list(range(len(uuids)))
    found = [_find(word, uuids) for word in words]
    named = [place for place in found if place is not None]
    return named if len(named) == len(words) else list(range(len(uuids)))


def _find(word: str, uuids: Sequence[str]) -> Optional[int]:
    if word.isdigit():
        return int(word) if int(word) < len(uuids) else None
    return next((place for place, uuid in enumerate(uuids) if uuid.startswith(word)), None)  # CUDA takes beginnings


def _is_any_ours(env: Mapping[str, str], planned: int) -> bool:
    words = _list_words(env, _AMD_VARIABLES)
    return planned > 0 if words is None else bool(words)


def _list_words(env: Mapping[str, str], variables: Sequence[str]) -> Optional[List[str]]:
    """None: nobody says which."""
    told = next((env[name] for name in variables if name in env), None)
    if told is None:
        return None
    return [] if told.strip() in _NONE else [word for word in re.split(r"[,\s]+", told.strip()) if word]
