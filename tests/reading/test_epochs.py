"""Epochs that are begun elsewhere: in workers that live on, and behind a restart."""

import itertools
import multiprocessing
import multiprocessing.connection
from pathlib import Path

from tests.reading.sets import cut, make_files, write_set
from windlass_job import data


def serve(order: data.Order, pipe: multiprocessing.connection.Connection) -> None:
    """As a worker that lives for several epochs."""
    while pipe.recv():
        order.follow_epoch()
        pipe.send(list(order.split(0, 1)))


def test_a_copy_in_another_process_follows_the_epoch() -> None:
    context = multiprocessing.get_context("fork")
    order, wanted = data.Order(40, seed=1), data.Order(40, seed=1)
    order.load_state_dict({**order.state_dict(0), "start": 30})
    order.share_epoch(context.RawArray("q", 1))
    here, there = context.Pipe()
    worker = context.Process(target=serve, args=(order, there))
    worker.start()
    found = []
    for epoch in (0, 1, 7):
        order.set_epoch(epoch)
        here.send(True)
        found.append(here.recv())
    here.send(False)
    worker.join()

    assert found[0] == list(wanted)[30:]
    for numbers, epoch in zip(found[1:], (1, 7), strict=True):
        wanted.set_epoch(epoch)
        assert numbers == list(wanted)


def test_a_source_for_dali_begins_with_the_epoch_that_is_asked_for(tmp_path: Path) -> None:
    folder = write_set(tmp_path, cut(make_files(100), 40))
    wanted = data.Order(100, seed=2)
    wanted.set_epoch(3)

    coded, _ = next(itertools.islice(data.dali_source(data.Shards(folder), 30, epoch=3, seed=2), 1))

    assert [int(one.tobytes().split(b".", 1)[0]) for one in coded] == list(wanted)[:30]
