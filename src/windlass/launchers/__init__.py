"""The ways to start a training's processes, by the word used in windlass.toml."""

from windlass.core.launch import Launcher
from windlass.launchers.single import SINGLE
from windlass.launchers.srun import SRUN
from windlass.launchers.torchrun import TORCHRUN

LAUNCHERS: dict[str, Launcher] = {one.name: one for one in (SINGLE, SRUN, TORCHRUN)}
