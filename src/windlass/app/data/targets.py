"""Where fetched data may be written: where nothing is, or where this very data set lies. Nobody's files are mixed."""

import os
import zlib
from collections.abc import Callable
from itertools import count
from pathlib import Path

from windlass.core.shell import quote
from windlass.edges.downloads import PARTS
from windlass.errors import UsageError
from windlass_job.shards.card import CARD, Card, CardDamaged, is_same_set, list_others, load_card
from windlass_job.shards.index import name_index

Again = Callable[[Path], str]  # the same command with another target
_UNTOUCHED = "nothing was written"


def check_set_target(folder: Path, card: Card, again: Again) -> None:
    """For a packed data set."""
    if not is_used(folder):
        return
    others = [os.fsdecode(one) for one in list_others(os.fsencode(folder))]
    if not _find_in_the_way(folder, card, others) and _holds(folder, card):
        return
    what = f"other files ({_list_few(others)})" if others else "another data set"
    raise UsageError(
        f"{folder} holds {what}: {card.name} is not written among them",
        hint=f"{again(suggest(folder))}",
        done=_UNTOUCHED,
    )


def check_extract_target(folder: Path, aside: Path, again: Again) -> None:
    """For plain files. aside: the packed set, there while they are written: what was begun is gone on with."""
    if not is_used(folder) or (aside / CARD).is_file():
        return
    raise UsageError(
        f"{folder} is there already, with files in it: others are not written among them",
        hint=f"{again(suggest(folder, 'plain'))} --extract\n"
        f"or --force, which writes over files of the same name in {quote(str(folder))}",
        done=_UNTOUCHED,
    )


def is_used(folder: Path) -> bool:
    """Whether something lies there that is not ours to add to."""
    if folder.is_symlink() or folder.exists():
        return not folder.is_dir() or any(folder.iterdir())
    return False


def suggest(folder: Path, ending: str = "packed") -> Path:
    """pets -> pets-packed, or pets-packed-2 where that is taken too."""
    names = (f"{folder.name}-{ending}{'' if number == 1 else f'-{number}'}" for number in count(1))
    return next(path for name in names if not is_used(path := folder.with_name(name)))


def _holds(folder: Path, card: Card) -> bool:
    """This data set, as it is or as it was, or what a cut fetch left of it."""
    if not folder.is_dir():
        return False
    try:
        return is_same_set(load_card(os.fsencode(folder)), card)
    except CardDamaged:
        if list_others(os.fsencode(folder)) or (folder / CARD).exists():
            return False
    return (folder / PARTS).is_dir() or any(_has_index(folder, one.name, one.index_crc) for one in card.shards)


def _find_in_the_way(folder: Path, card: Card, others: list[str]) -> bool:
    """Whether a file that is not the data set's has a name that one of its own would get."""
    wanted = {name for one in card.shards for name in (one.name, name_index(one.name))}
    return folder.is_dir() and not wanted.isdisjoint(others)


def check_plain_target(folder: Path, differing: list[str], again: str) -> None:
    """For plain files. differing: those that are there and would become others."""
    if differing:
        raise UsageError(
            f"{folder} holds other files of the same name ({_list_few(differing)}): they are not written over",
            hint=f"{again} --force writes over them",
            done=_UNTOUCHED,
        )


def _has_index(folder: Path, shard: str, crc: int) -> bool:
    path = folder / name_index(shard)
    return path.is_file() and zlib.crc32(path.read_bytes()) == crc


def _list_few(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown}, …" if len(names) > 3 else shown
