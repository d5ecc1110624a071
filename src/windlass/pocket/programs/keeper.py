"""Inner program: the keeper."""

from windlass.pocket.keeper import run_keeper
from windlass.pocket.places import Places


def run(places: Places, words: list[str]) -> int:
    return run_keeper(places)
