"""world: run a command in another machine's world. `world WORLD.json COMMAND…`"""

import os
import sys
from pathlib import Path

from windlass.pocket import world
from windlass.pocket.places import Places
from windlass.pocket.programs import ensure_bin


def run(_: Places, words: list[str]) -> int:
    made = world.load_world(Path(words[0]))
    world.enter(made)
    ensure_bin(Path(made.pocket))
    sys.stdout.flush()
    os.execvp(words[1], words[1:])
