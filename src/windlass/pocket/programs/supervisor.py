"""Inner program: the supervisor of one batch job."""

from windlass.pocket.places import Places
from windlass.pocket.supervisor import run_supervisor


def run(places: Places, words: list[str]) -> int:
    return run_supervisor(places, int(words[0]), words[1])
