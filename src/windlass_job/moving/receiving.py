"""A data set that arrives: shards aside, each checked and renamed when whole, and the card last.

TARGET/.sending holds what is on its way, so that the same command goes on where it was cut. What a card names is never
written to: new shards have new names, and a changed data set is the old one until its new card is there.
"""

import os
import shutil
import stat
import zlib

from windlass_job import disk, wire
from windlass_job.moving.lock import Holding, is_held_by
from windlass_job.moving.parts import ASIDE, Part, check_names, forget, is_there, list_done, list_parts
from windlass_job.shards.card import CARD, CardDamaged, find_gap, is_packed, is_shard, keep_mode, list_others, read_card
from windlass_job.shards.index import name_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Set

    from windlass_job.shards.card import Card

_BLOCK = 1 << 20
_OVER = ASIDE + b"-over-"


class Receiving:
    """One session's view of the folder. The first session holds the lock, the others show that they belong to it."""

    def __init__(self, folder: bytes, token: str) -> None:
        self.folder = folder
        self._token = token
        self._holding: "Optional[Holding]" = None
        self._named: "Set[str]" = set()
        self._is_card_damaged = False
        self._is_new = False

    def begin(self, laptop: str) -> "Dict[str, Any]":
        """What is there already. Refused where somebody else is sending."""
        aside = os.path.join(self.folder, ASIDE)
        self._refuse_others()
        self._is_new = not os.path.isdir(self.folder)
        holding = self._take(aside, laptop)
        self._holding = holding
        self._read_named()
        space = os.statvfs(self.folder)
        return {
            "path": disk.as_text(self.folder),
            "parts": list_parts(self.folder),
            "done": list_done(self.folder),
            "free": space.f_bavail * space.f_frsize,
            "gap": self._find_gap(),
        }

    def _take(self, aside: bytes, laptop: str) -> Holding:
        while True:
            disk.make_folders(aside)
            holding = Holding(aside, laptop, self._token)
            try:
                holding.take()
                return holding
            except FileNotFoundError:  # another command left at this moment, and took its empty folder along
                pass

    def _refuse_others(self) -> None:
        """A folder with anything that we did not make is not ours to write into, nor to remove from."""
        if not os.path.isdir(self.folder):
            return
        others = list_others(self.folder)
        if is_packed(self.folder):  # notes beside a data set are left alone
            others = [name for name in others if name.startswith(b"shard-")]
        if others:
            shown = ", ".join(disk.as_text(name) for name in others[:3]) + (", ..." if len(others) > 3 else "")
            raise disk.Refused("exists", "there are files in it that Windlass did not make ({})".format(shown))

    def _find_gap(self) -> "Optional[str]":
        try:
            content = self.load_card()
            return find_gap(self.folder, read_card(content)) if content else None
        except CardDamaged:
            return None

    def join(self) -> None:
        self.check_ours()
        self._read_named()

    def check_ours(self) -> None:
        if not is_held_by(os.path.join(self.folder, ASIDE), self._token):
            raise disk.Refused("busy", "another command has taken over")

    def load_card(self) -> bytes:
        """Its bytes; none where there is no data set yet."""
        try:
            return disk.read_bytes(os.path.join(self.folder, disk.as_path(CARD)))
        except FileNotFoundError:
            return b""

    def open_part(self, plan: str, name: str, start: int) -> Part:
        check_names(plan, name)
        if name in self._named:
            raise disk.Refused("failed", "{} is a shard that the data set uses".format(name))
        # A leftover of another plan, perhaps of the same size: it must not be taken for this one.
        path = os.path.join(self.folder, disk.as_path(name))
        if os.path.lexists(path) and not is_shard(self.folder, disk.as_path(name)):
            raise disk.Refused("exists", "{} is there, and Windlass did not make it".format(name))
        disk.remove_if_there(path)
        return Part(self.folder, plan, name, start)

    def bring(self, part: Part, source: bytes, beat: "Callable[[], None]" = lambda: None) -> None:
        """From a landing place that this host sees; what a cut one left is gone on with."""
        opened: "Any" = disk.open_regular(source)
        with opened as file:
            file.seek(part.written)
            buffer = memoryview(bytearray(_BLOCK))
            while True:
                count = file.readinto(buffer)
                if not count:
                    return
                part.write(buffer[:count])
                beat()

    def drop(self, plan: str, name: str) -> None:
        """At a landing place: it was taken on."""
        check_names(plan, name)
        if name in self._named:
            raise disk.Refused("failed", "{} is a shard that the data set uses".format(name))
        self._remove(name)
        forget(self.folder, plan)

    def finish(self, content: bytes, known_crc: "Optional[int]") -> "Dict[str, Any]":
        """The card takes its place, if the one before is still that which the laptop knows. What it no longer names
        goes."""
        self.check_ours()
        card = read_card(content)
        before = self.load_card()
        if (zlib.crc32(before) if before else None) != known_crc:
            raise disk.Refused("changed", "the data set was changed by somebody else meanwhile")
        self._check_shards(card)
        self._replace_card(content)
        names = {one.name for one in card.shards}
        leftover = {str(one["name"]) for one in list_done(self.folder).values()}  # of a source that has changed since
        unknown = _list_shards(self.folder) if self._is_card_damaged else set()  # nothing names them any more
        for name in self._named | leftover | unknown:
            if name not in names:
                self._remove(name)
        self.clean_up()
        return {"path": disk.as_text(self.folder)}

    def clean_up(self) -> None:
        """Renamed away while the lock is held: what the next sender makes under this name must not be removed."""
        aside = os.path.join(self.folder, ASIDE)
        if is_held_by(aside, self._token):
            os.rename(aside, os.path.join(self.folder, _OVER + disk.make_suffix()))
        self.let_go()
        for name in os.listdir(self.folder):  # also those of one that was killed here
            if name.startswith(_OVER):
                shutil.rmtree(os.path.join(self.folder, name), ignore_errors=True)

    def let_go(self) -> None:
        if self._holding is not None:
            self._holding.let_go()
            self._holding = None
            self._remove_empty()

    def _remove_empty(self) -> None:
        """Where nothing came, nothing is left."""
        try:
            os.rmdir(os.path.join(self.folder, ASIDE))
            if self._is_new:
                os.rmdir(self.folder)
        except OSError:
            pass

    def _read_named(self) -> None:
        content = self.load_card()
        try:
            self._named = {one.name for one in read_card(content).shards} if content else set()
        except CardDamaged:  # the laptop refuses to add to it, and may replace all of it
            self._is_card_damaged = True

    def _check_shards(self, card: "Card") -> None:
        for shard in card.shards:
            check_names("0" * 16, shard.name)
            if not is_there(self.folder, shard.name, shard.bytes):
                raise disk.Refused("not-found", "{} is not there whole".format(shard.name))
            index = os.path.join(self.folder, disk.as_path(name_index(shard.name)))
            if shard.name not in self._named and zlib.crc32(disk.read_bytes(index)) != shard.index_crc:
                raise disk.Refused("damaged", "the index of {} is not the one that was sent".format(shard.name))

    def _replace_card(self, content: bytes) -> None:
        aside = os.path.join(self.folder, ASIDE, disk.as_path(CARD))
        disk.remove_if_there(aside)
        disk.write_new(aside, content)
        keep_mode(self.folder, aside)
        disk.flush(aside)
        os.rename(aside, os.path.join(self.folder, disk.as_path(CARD)))
        disk.flush(self.folder)

    def _remove(self, shard: str) -> None:
        for name in (shard, name_index(shard)):
            disk.remove_if_there(os.path.join(self.folder, disk.as_path(name)))


def _list_shards(folder: bytes) -> "Set[str]":
    """By their names and their indexes: a user's own archives are none of ours."""
    return {disk.as_text(one) for one in os.listdir(folder) if one.endswith(b".tar") and is_shard(folder, one)}


def remove_landing(folder: bytes) -> None:
    """Only what is a landing place of ours, and no link to elsewhere."""
    if not os.path.basename(folder).startswith(disk.as_path(wire.LANDING)):
        raise disk.Refused("failed", "{} is no landing place".format(disk.as_text(folder)))
    if os.path.isdir(folder) and stat.S_ISDIR(os.lstat(folder).st_mode):
        shutil.rmtree(folder)
