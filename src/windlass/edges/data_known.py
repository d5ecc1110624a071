"""What the laptop remembers of the data sets it has sent: their card and indexes, so that changes are found here.

A cache: the site's card is compared each time, and an index that is missing or another one is fetched again.
"""

import hashlib
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from windlass.edges.files import make_private_folder, save_file
from windlass.errors import DiskFull, StoreError
from windlass_job.shards.card import CARD, Card, read_card
from windlass_job.shards.index import IndexDamaged, name_index

FetchIndex = Callable[[str], bytes]  # the name of an index -> its bytes


class KnownSet:
    """A folder like a data set's, without its archives."""

    def __init__(self, cache: Path, site: str, path: str) -> None:
        key = hashlib.sha256(f"{site}\0{path}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
        self.folder = cache / "data" / key

    def refresh(self, content: bytes, fetch: FetchIndex) -> Card:
        """As the card says. An index that cannot be had is the caller's error; one that is another is damaged."""
        card = read_card(content)
        make_private_folder(self.folder)
        for shard in card.shards:
            name = name_index(shard.name)
            if self._count_crc(name) != shard.index_crc:
                index = fetch(name)
                if zlib.crc32(index) != shard.index_crc:
                    raise IndexDamaged(f"{name} is not the index that was packed")
                self._keep(name, index)
        self._keep(CARD, content)
        return card

    def keep_index(self, name: str, content: bytes) -> None:
        """Where there is room: `refresh` fetches what is missing, and a full disk here must not end a sending."""
        with suppress(StoreError, DiskFull):
            make_private_folder(self.folder)
            self._keep(name, content)

    def keep_card(self, card: Card, content: bytes) -> None:
        """The same, and nothing of what it does not name."""
        with suppress(StoreError, DiskFull):
            make_private_folder(self.folder)
            self._keep(CARD, content)
            self._forget_others(card)

    def _forget_others(self, card: Card) -> None:
        wanted = {CARD, *(name_index(shard.name) for shard in card.shards)}
        for path in self.folder.iterdir():
            if path.name not in wanted:
                path.unlink(missing_ok=True)

    def _keep(self, name: str, content: bytes) -> None:
        save_file(self.folder / name, content, is_durable=False)

    def _count_crc(self, name: str) -> int | None:
        try:
            return zlib.crc32((self.folder / name).read_bytes())
        except OSError:
            return None
