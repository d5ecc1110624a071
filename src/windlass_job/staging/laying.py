"""What one node does with the data of a job: folders that can be read at once, filled behind the readers' backs."""

import os
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

from windlass_job import disk
from windlass_job.bounded import describe
from windlass_job.shards.card import CARD, Card, read_card
from windlass_job.shards.index import name_index
from windlass_job.staging.checking import check_nothing, make_shard_check, make_sum_check
from windlass_job.staging.items import FAILED, HERE, Item, Part, Stopped, Store
from windlass_job.staging.places import remove_tree
from windlass_job.staging.window import UNPACKING

if TYPE_CHECKING:
    from windlass_job.staging.copying import Copier
    from windlass_job.staging.ring import Ring

ORIGIN = b"origin"  # names the shared folder: what is not here yet is read there
ENVIRONMENT_FOLDER = b"env"
ENVIRONMENT_NAME = "@environment"  # no data set can be called so
_PACKED = b".packed-"  # where a set lies until it is taken apart

PACKED, FILE, FOLDER, ENVIRONMENT = "packed", "file", "folder", "environment"


def name_set(name: str) -> str:
    """For people."""
    return "the environment" if name == ENVIRONMENT_NAME else "data." + name


class Laid:
    """The data sets of one job on this node. `problems`: by name, why it cannot be read here."""

    def __init__(self, items: List[Item], note: Callable[[str], None]) -> None:
        self.problems: Dict[str, str] = {}
        self.store = Store(items)
        self._note = note
        self._copier: "Optional[Copier]" = None
        self._ring: "Optional[Ring]" = None
        self._left_behind: Dict[bytes, bytes] = {}
        self._later: List[Tuple[str, Callable[[], List[str]]]] = []  # what is done when the awaited items are here
        self._began = time.monotonic()
        self._bytes_copied = 0
        self._steps = 0
        self._meanwhile: List[threading.Thread] = []
        self._used_up: List[bytes] = []
        self.environment_files = 0  # of the environment that was unpacked

    def adopt_from(self, left_behind: Dict[bytes, bytes]) -> None:
        self._left_behind = left_behind

    def do_later(self, name: str, work: Callable[[], List[str]]) -> None:
        self._later.append((name, work))

    def do_meanwhile(self, name: str, work: Callable[[], List[str]]) -> None:
        """While its items come in; the command waits for it as well."""
        self._meanwhile.append(threading.Thread(target=self._do, args=(name, work), daemon=True))

    def add_bytes(self, count: int) -> None:
        self._bytes_copied += count

    def is_stopped(self) -> bool:
        return self.store.is_stopped

    def is_stopped_now(self) -> bool:
        """Asked at every step of long work."""
        self._steps += 1
        return self.store.is_stopped

    def count_steps(self) -> int:
        """More whenever something has come further."""
        return self._steps + self.store.changes

    def start(self, node: int, peers: List[List[Any]], word: bytes, listener: Any) -> None:
        from windlass_job.staging.copying import Copier  # when the command has started, where it need not wait
        from windlass_job.staging.ring import Neighbours, Ring

        self._copier = Copier(self.store)
        self._copier.adopt_from(self._left_behind)
        addresses = [(str(address), int(port)) for address, port in peers]
        self._ring = Ring(self.store, self._copier, Neighbours(node, addresses, word), self._note)
        self._ring.start(listener)
        self._copier.start()
        for thread in self._meanwhile:
            thread.start()

    def keeps_waiting(self) -> bool:
        """The command has to wait for some of it."""
        return bool(self._later or self._meanwhile) or self.store.is_awaited()

    def wait_for_awaited(self) -> None:
        """Until the command may start."""
        with self.store.news:
            while self.store.is_awaited():
                self.store.news.wait()
        for name, work in self._later:
            if name not in self.problems and not self.is_stopped():
                self._do(name, work)
        for thread in self._meanwhile:
            thread.join()

    def _do(self, name: str, work: Callable[[], List[str]]) -> None:
        try:
            left_out = work()
        except Stopped:
            return
        except Exception as error:  # whatever an archive holds: it is told, and read where it lies
            self.problems[name] = "it cannot be laid out: {}".format(describe(error))
            return
        if left_out:
            self._note("{} on this node: {}".format(name_set(name), "; ".join(left_out[:3])))

    def wait(self) -> None:
        """Until all that can be here is here."""
        with self.store.news:
            while not self.store.is_over():
                self.store.news.wait()
        failed = [one for one in self.store.arrivals.values() if one.state == FAILED]
        if failed and not self.is_stopped():
            words = "{} of {} files are read where they lie: {}"
            self._note(words.format(len(failed), len(self.store.arrivals), failed[0].problem))

    def use_up(self, path: bytes) -> None:
        """An archive that was taken apart: removed when the next node has it too."""
        self._used_up.append(path)

    def remove_used_up(self) -> None:
        if self._ring is not None and self._used_up:
            self._ring.has_sent.wait()
        for path in self._used_up:
            remove_tree(path) if os.path.isdir(path) else disk.remove_if_there(path)

    def count(self) -> Dict[str, Any]:
        return {
            "read": self._bytes_copied + (self._copier.bytes_read if self._copier is not None else 0),
            "received": self._ring.bytes_received if self._ring is not None else 0,
            "adopted": self._copier.bytes_adopted if self._copier is not None else 0,
            "here": self.store.count(HERE),
            "failed": self.store.count(FAILED),
            "seconds": round(time.monotonic() - self._began, 3),
        }

    def stop(self) -> None:
        self.store.stop()


def lay(order: Dict[str, Any], folders: Dict[str, bytes], leftovers: List[bytes], keeper: Any) -> Laid:
    """Make what can be read at once, and list what is to be copied: the same items in the same order on every node."""
    items: List[Item] = []
    left_behind: Dict[bytes, bytes] = {}
    begun: List[Tuple[Dict[str, Any], bytes, bytes]] = []
    for one in order["sets"]:
        if one["kind"] == ENVIRONMENT:
            target = os.path.join(folders[one["place"]], ENVIRONMENT_FOLDER)
            is_handed_on = len(order["peers"]) > 1
            items += [_make_environment_item(len(items), one, target)] if is_handed_on else []
            begun.append((one, target if is_handed_on else b"", target))
            continue
        data = os.path.join(folders[one["place"]], b"data")
        os.makedirs(data, 0o700, exist_ok=True)
        name, source = os.fsencode(one["name"]), os.fsencode(one["source"])
        target = os.path.join(data, name)
        # The ending tells what kind of archive it is.
        packed = _PACKED + name + (b"-" + os.path.basename(source) if one["kind"] == FILE else b"")
        inside = os.path.join(data, packed) if one["extract"] else target
        if one["kind"] == PACKED:
            card = read_card(one["card"].encode("utf-8"))
            _lay_packed(inside, source, one["card"], card)
            items += _list_shards(len(items), source, inside, card, one["extract"])
            for folder in leftovers:
                left_behind.update(_find_left_behind(folder, name, inside, card))
        elif one["kind"] == FILE:
            items.append(_make_file_item(len(items), source, inside, int(one["bytes"])))
        begun.append((one, inside, target))
    laid = Laid(items, keeper.note)
    laid.adopt_from(left_behind)
    for one, inside, target in begun:
        _plan_later(laid, one, inside, target)
    return laid


def _lay_packed(folder: bytes, source: bytes, card_text: str, card: Card) -> None:
    """Aside, then renamed: readers find all of it or nothing."""
    aside = folder + b".new"
    os.mkdir(aside, 0o700)
    disk.write_new(os.path.join(aside, ORIGIN), source + b"\n", 0o600)
    disk.write_new(os.path.join(aside, os.fsencode(CARD)), card_text.encode("utf-8"), 0o600)
    for shard in card.shards:
        index = os.fsencode(name_index(shard.name))
        os.symlink(os.path.join(source, index), os.path.join(aside, index))
    os.rename(aside, folder)


def _list_shards(first: int, source: bytes, target: bytes, card: Card, is_awaited: bool) -> List[Item]:
    items = []
    for at, shard in enumerate(card.shards):
        name, index = os.fsencode(shard.name), os.fsencode(name_index(shard.name))
        here = os.path.join(target, index)
        parts = [
            Part(os.path.join(source, index), here, None, make_sum_check(name_index(shard.name), shard.index_crc)),
            Part(
                os.path.join(source, name),
                os.path.join(target, name),
                shard.bytes,
                make_shard_check(shard.name, here),
            ),
        ]
        items.append(Item(first + at, shard.name, parts, is_awaited))
    return items


def _make_file_item(number: int, source: bytes, target: bytes, size: int) -> Item:
    part = Part(source, target, size, check_nothing)
    return Item(number, disk.as_text(os.path.basename(source)), [part], True)


def _make_environment_item(number: int, one: Dict[str, Any], target: bytes) -> Item:
    check = make_sum_check("the packed environment", int(one["crc32"]))
    return Item(number, "env.tar", [Part(os.fsencode(one["source"]), target, int(one["bytes"]), check)], True)


def _find_left_behind(folder: bytes, name: bytes, target: bytes, card: Card) -> Dict[bytes, bytes]:
    old = os.path.join(folder, b"data", name)
    found = {}
    for shard in card.shards:
        for one in (os.fsencode(name_index(shard.name)), os.fsencode(shard.name)):
            path = os.path.join(old, one)
            if os.path.isfile(path) and not os.path.islink(path):
                found[os.path.join(target, one)] = path
    return found


def _plan_later(laid: Laid, one: Dict[str, Any], inside: bytes, target: bytes) -> None:
    name, source = one["name"], os.fsencode(one["source"])
    if one["kind"] == ENVIRONMENT:
        from windlass_job.staging import env_unpacking

        if inside:
            arrival = next(found for found in laid.store.arrivals.values() if found.item.parts[0].target == inside)
            arrival.pass_through(UNPACKING)
            laid.do_meanwhile(name, lambda: env_unpacking.unpack_arriving(laid, arrival, target))
        else:
            laid.do_meanwhile(name, lambda: env_unpacking.unpack_from_afar(laid, one, target))
    elif one["kind"] == FOLDER:
        from windlass_job.staging import unpacking

        laid.do_later(name, lambda: unpacking.copy_folder(source, target, laid.is_stopped_now, laid.add_bytes))
    elif one["kind"] == FILE:
        laid.do_later(name, lambda: _finish_file(laid, inside, target, one["extract"]))
    elif one["extract"]:
        laid.do_later(name, lambda: _finish_set(laid, inside, target))


def _finish_file(laid: Laid, inside: bytes, target: bytes, extract: bool) -> List[str]:
    _refuse_failed(laid, inside)
    if not extract:
        return []
    return _unpack(laid, inside, target)


def _finish_set(laid: Laid, inside: bytes, target: bytes) -> List[str]:
    _refuse_failed(laid, inside)
    return _unpack(laid, inside, target)


def _unpack(laid: Laid, inside: bytes, target: bytes) -> List[str]:
    from windlass_job.staging import unpacking

    left_out = unpacking.unpack(inside, target, laid.is_stopped_now)
    laid.use_up(inside)
    return left_out


def _refuse_failed(laid: Laid, inside: bytes) -> None:
    for arrival in laid.store.arrivals.values():
        is_of_it = any(part.target == inside or part.target.startswith(inside + b"/") for part in arrival.item.parts)
        if is_of_it and arrival.state == FAILED:
            raise OSError(arrival.problem)
