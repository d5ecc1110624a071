"""The card of a data set, `dataset.json`: what it is, its shards, and which of their files are no longer meant.

The card is the data set: a shard that it does not name is not there, and it is written last. A file that was replaced
or removed stays in its shard and is listed as dead; its successor lies in a later shard.
"""

import json
import os
import re

from windlass_job import disk
from windlass_job.shards.index import MAGIC, name_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

CARD = "dataset.json"
FORMAT = "windlass-shards/1"
_SHARD = re.compile(rb"shard-\d+\.(tar|idx)$")


class CardDamaged(ValueError):
    """There is no data set here, or its card cannot be read."""


class Shard:
    """One archive: `dead` are ranges of entries, as [first, after the last]."""

    def __init__(
        self, name: str, size: int, files: int, index_crc: int, dead: "Tuple[Tuple[int, int], ...]" = ()
    ) -> None:
        self.name = name
        self.bytes = size
        self.files = files  # in the archive, dead ones too
        self.index_crc = index_crc  # of the index file
        self.dead = dead

    @property
    def alive(self) -> int:
        return self.files - sum(after - first for first, after in self.dead)

    def as_json(self) -> "Dict[str, Any]":
        found = {"name": self.name, "bytes": self.bytes, "files": self.files, "index_crc": self.index_crc}
        return dict(found, dead=[list(one) for one in self.dead]) if self.dead else found


class Card:
    """`about` holds what is for people: source, licence, how it was made, and whatever else was written there."""

    def __init__(
        self,
        name: str,
        shards: "List[Shard]",
        classes: "Tuple[str, ...]" = (),
        columns: "Tuple[str, ...]" = (),
        about: "Dict[str, Any]" = {},  # noqa: B006 - never changed
        total_bytes: int = 0,
    ) -> None:
        self.name = name
        self.shards = shards
        self.classes = classes
        self.columns = columns
        self.about = dict(about)
        self.bytes = total_bytes  # of the files that are alive, without the archives' own

    @property
    def files(self) -> int:
        return sum(one.alive for one in self.shards)

    def says(self, about: "Dict[str, Any]") -> bool:
        return all(self.about.get(name) == words for name, words in about.items())

    def as_json(self) -> "Dict[str, Any]":
        return {
            "format": FORMAT,
            "name": self.name,
            "files": self.files,
            "bytes": self.bytes,
            "classes": list(self.classes),
            "columns": list(self.columns),
            "shards": [one.as_json() for one in self.shards],
            "about": self.about,
        }


def save_card(card: Card, folder: bytes) -> None:
    """Aside, flushed and renamed: readers see the data set as it was, or as it is now, and stay its readers."""
    disk.replace(os.path.join(folder, os.fsencode(CARD)), format_card(card), keeps_mode=True)


def keep_mode(folder: bytes, path: bytes) -> None:
    """What is added may be read by those with whom the data set was shared; the folder's setgid bit gives the group."""
    disk.copy_mode(os.path.join(folder, os.fsencode(CARD)), path)


def keep_modes(folder: bytes, shards: "List[Shard]") -> None:
    """The same of shards that were written where they are, and of their indexes. Before the card names them."""
    for shard in shards:
        for name in (shard.name, name_index(shard.name)):
            keep_mode(folder, os.path.join(folder, os.fsencode(name)))


def format_card(card: Card) -> bytes:
    return disk.make_json(card.as_json())


def load_card(folder: bytes) -> Card:
    path = os.path.join(folder, os.fsencode(CARD))
    try:
        return read_card(disk.read_bytes(path))
    except (FileNotFoundError, NotADirectoryError):
        raise CardDamaged("{} is no packed data set: there is no {} in it".format(disk.as_text(folder), CARD))
    except CardDamaged as problem:
        raise CardDamaged("{}: {}".format(disk.as_text(path), problem))


def is_packed(folder: bytes) -> bool:
    """Whether a data set lies there, perhaps a damaged one. Other programs have files named dataset.json too."""
    path = os.path.join(folder, os.fsencode(CARD))
    if not os.path.lexists(path):
        return False
    try:
        with disk.open_regular(path) as file:
            read_card(file.read())
    except (CardDamaged, disk.Refused, OSError):
        return _has_index(folder)
    return True


def _has_index(folder: bytes) -> bool:
    try:
        return any(_SHARD.match(name) and name.endswith(b".idx") for name in os.listdir(folder))
    except OSError:
        return False


def list_others(folder: bytes) -> "List[bytes]":
    """What lies beside a data set in its folder, or where one began to be made, and is no part of it.

    Archives that only have such a name are somebody else's: ours have their index beside them. Hidden files do not
    count.
    """
    try:
        named = {os.fsencode(one.name)[: -len(".tar")] for one in load_card(folder).shards}
    except CardDamaged:
        named = set()
    ours = {os.fsencode(CARD)} if is_packed(folder) else set()
    return sorted(
        name
        for name in os.listdir(folder)
        if not name.startswith(b".")
        and name not in ours
        and os.path.splitext(name)[0] not in named
        and not is_shard(folder, name)
    )


def is_shard(folder: bytes, name: bytes) -> bool:
    """Whether this is an archive or an index that we made, also one that no card names."""
    return bool(_SHARD.match(name)) and _is_index(os.path.join(folder, os.path.splitext(name)[0] + b".idx"))


def find_gap(folder: bytes, card: "Card") -> "Optional[str]":
    """What of its shards is not there whole, by name and size, in words; None when all are."""
    for shard in card.shards:
        for name in (shard.name, name_index(shard.name)):
            path = os.path.join(folder, os.fsencode(name))
            try:
                size = os.stat(path).st_size
            except OSError as error:
                return "{}: {}".format(disk.as_text(path), (error.strerror or str(error)).lower())
            if name == shard.name and size != shard.bytes:
                return "{} has {} bytes, and {} were packed".format(disk.as_text(path), size, shard.bytes)
    return None


def is_same_set(one: "Card", other: "Card") -> bool:
    """As it is, or as it was: a name alone is given to many. Shards tell, or where both come from."""
    if one.name != other.name:
        return False
    shards = {(shard.bytes, shard.files, shard.index_crc) for shard in one.shards}
    if not shards or not other.shards or any((it.bytes, it.files, it.index_crc) in shards for it in other.shards):
        return True
    return one.about.get("source") is not None and one.about.get("source") == other.about.get("source")


def _is_index(path: bytes) -> bool:
    try:
        with disk.open_regular(path) as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, disk.Refused):
        return False


def read_card(content: bytes) -> Card:
    try:
        found = json.loads(content.decode("utf-8"))
        if found["format"] != FORMAT:
            raise CardDamaged("its format is {}, and this program reads {}".format(found["format"], FORMAT))
        return Card(
            str(found["name"]),
            [_read_shard(one) for one in found["shards"]],
            classes=tuple(str(one) for one in found["classes"]),
            columns=tuple(str(one) for one in found["columns"]),
            about=dict(found["about"]),
            total_bytes=int(found["bytes"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError) as error:
        if isinstance(error, CardDamaged):
            raise
        raise CardDamaged("it is no card of a data set: {!r}".format(error))


def _read_shard(found: "Dict[str, Any]") -> Shard:
    name = str(found["name"])
    if not name or "/" in name or "\0" in name or name.startswith("."):
        raise CardDamaged("{!r} is no name for a shard".format(name))
    dead = tuple((int(first), int(after)) for first, after in found.get("dead", ()))
    shard = Shard(name, int(found["bytes"]), int(found["files"]), int(found["index_crc"]), dead)
    ends = [0] + [number for one in dead for number in one] + [shard.files]
    if ends != sorted(ends):
        raise CardDamaged("the dead files of {} are no ranges in it".format(name))
    return shard
