"""Whatever the order of steps, and whoever dies or freezes between them: each task ends once in what counts."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.farming.world import Died, Worker, World
from windlass_job.farming import ledger, ranges, records

STEPS = ("claim", "claim", "start", "start", "end", "end", "fail", "share", "beat", "leave", "die", "join", "retry")
MOMENTS = ("", "", "", "before", "after", "other", "seal")  # what happens while an entry is made

Step = tuple[str, int, int, str]
steps = st.tuples(st.sampled_from(STEPS), st.integers(0, 5), st.integers(0, 6), st.sampled_from(MOMENTS))


@given(st.lists(steps, max_size=80), st.integers(1, 30), st.integers(0, 2))
@settings(deadline=None)
@example([("claim", 0, 5, ""), ("die", 0, 0, "")], 7, 0)
@example([("claim", 0, 5, "after")], 7, 0)
def test_every_task_ends_once(script: list[Step], total: int, retries: int) -> None:
    world = World(total, retries)
    world.add_worker()
    world.add_worker()

    for step in script:
        take(world, step)
    finish(world)

    state, counted = world.load_state(), world.find_counted()
    assert ledger.count_free(state) == 0
    assert state.next == state.total
    assert {task: len(ends) for task, ends in counted.items()} == world.lives
    assert state.done == sum(ended.code == 0 for ends in counted.values() for ended in ends)
    assert state.done + state.failed == total
    assert ledger.is_complete(state)


def take(world: World, step: Step) -> None:
    kind, whom, number, moment = step
    worker = world.workers[whom % len(world.workers)]
    if kind == "join":
        world.add_worker()
    elif kind == "retry":
        world.retry(find_failed(world)[:number])
    elif kind == "die":
        worker.is_dead = True
    elif worker.is_active:
        prepare(world, worker, moment)
        act(worker, kind, number)
        prepare(world, worker, "")


def act(worker: Worker, kind: str, number: int) -> None:
    acts = {
        "claim": lambda: worker.claim(max(1, number), float(number) if number > 2 else None),
        "start": worker.start,
        "end": lambda: worker.end(0),
        "fail": lambda: worker.end(1),
        "share": worker.share,
        "leave": worker.leave,
        "beat": lambda: beat(worker, number),
    }
    worker.do(acts[kind])


def beat(worker: Worker, number: int) -> None:
    """Up to 60 s pass: with a few of them whoever does not beat is taken for dead, whether he is or not."""
    worker.world.now += 10.0 * number
    worker.member.beat()


def prepare(world: World, worker: Worker, moment: str) -> None:
    """What the next entry meets with."""
    world.store.before = world.store.after = world.roll.before = lambda: None

    def die() -> None:
        prepare(world, worker, "")
        raise Died

    def meet() -> None:
        prepare(world, worker, "")
        for other in [one for one in world.workers if one is not worker and one.is_active]:
            act(other, "claim", 1)

    if moment == "before":
        world.store.before = die
    elif moment == "after":
        world.store.after = die
    elif moment == "other":
        world.store.before = meet
    elif moment == "seal":
        world.roll.before = meet


def find_failed(world: World) -> list[int]:
    """Those whose last life failed: as many ends as lives, the last one bad, and nobody has it again."""
    return [
        task
        for task, ends in world.find_counted().items()
        if len(ends) == world.lives[task] and all(ended.code != 0 for ended in ends)
    ]


def finish(world: World) -> None:
    """One more worker comes and works until nothing is left; those that live go on as long as they are believed in."""
    last = world.add_worker()
    for _ in range(30 + 12 * len(world.workers)):
        world.now += 10.0
        act(last, "beat", 0)
        while True:
            act(last, "claim", 3)
            if not last.waiting and not last.running:
                break
            while last.waiting or last.running:
                act(last, "start", 0)
                act(last, "end", 0)
    act(last, "leave", 0)
    assert last.is_gone
    assert not last.is_dead
    assert world.roll.list_names() == []


def test_a_zombie_changes_nothing() -> None:
    """It comes back after it was sealed, and records and claims on."""
    world = World(10)
    zombie, other = world.add_worker(), world.add_worker()
    zombie.claim(4, None)
    zombie.start()
    zombie.end(0)
    zombie.start()
    zombie.start()
    for _ in range(12):
        world.now += 10.0
        other.member.beat()
    assert world.load_state().sealed.keys() == {zombie.name}

    zombie.end(0)
    act(zombie, "claim", 4)
    finish(world)

    assert zombie.is_gone
    assert {len(ends) for ends in world.find_counted().values()} == {1}
    assert world.load_state().done == 10


def test_a_claim_that_is_made_while_a_dead_one_is_looked_into_stays() -> None:
    world = World(9)
    dead, other, third = world.add_worker(), world.add_worker(), world.add_worker()
    dead.claim(3, None)
    dead.is_dead = True
    prepare(world, other, "seal")

    other.member.seal(dead.name)
    finish(world)

    assert third.waiting == [(3, 4, 0)]
    assert world.load_state().done == 9


def test_a_task_under_which_workers_died_remembers_it() -> None:
    world = World(3)
    for losses in range(3):
        victim = world.add_worker()
        victim.claim(3, None)
        assert [ranges.count_losses(past) for first, _, past in victim.waiting if first == 0] == [losses]
        victim.start()
        victim.is_dead = True
        other = world.add_worker()
        other.member.seal(victim.name)
        other.leave()

    assert world.load_state().pool == [(0, 1, 3), (1, 3, 0)]


def test_tries_of_a_task_are_counted_over_all_workers() -> None:
    world = World(1, retries=2)
    for attempt in (1, 2, 3):
        worker = world.add_worker()
        worker.claim(1, None)
        worker.start()
        worker.end(1)
        if attempt == 2:
            worker.is_dead = True
            world.add_worker().member.seal(worker.name)
        else:
            worker.leave()

    (ends,) = world.find_counted().values()
    assert [ended.attempt for ended in ends] == [3]
    assert world.load_state().failed == 1


def test_records_that_were_lost_with_a_node_are_told_back() -> None:
    """A worker told of tasks whose records never came to the disk: they run again, and count once."""
    world = World(4)
    worker, other = world.add_worker(), world.add_worker()
    worker.claim(2, None)
    short = world.roll.records[worker.name]
    worker.start()
    worker.end(0)
    worker.claim(1, None)
    assert world.load_state().done == 1
    world.roll.records[worker.name] = short

    other.member.seal(worker.name)
    finish(world)

    assert world.load_state().done == 4
    assert {len(ends) for ends in world.find_counted().values()} == {1}


def test_half_a_line_does_not_count() -> None:
    world = World(2)
    worker, other = world.add_worker(), world.add_worker()
    worker.claim(2, None)
    worker.start()
    whole = len(world.roll.records[worker.name])
    worker.end(0)
    world.roll.records[worker.name] = world.roll.records[worker.name][:-3]

    other.member.seal(worker.name)

    state = world.load_state()
    assert state.sealed == {worker.name: whole}
    assert state.pool == [(0, 1, 1), (1, 2, 0)]
    assert not [ended for ended in records.read_ends(world.roll.records[worker.name]) if ended.task == 0]


def test_all_who_died_at_once_are_noticed_at_about_the_same_time() -> None:
    """A pilot on many nodes that is gone: its workers are neighbours by their names."""
    world = World(200)
    workers = [world.add_worker() for _ in range(61)]
    living = [workers[0], workers[20]]
    for one in workers:
        one.claim(1, None)
        one.is_dead = one not in living

    while len(world.load_state().sealed) < 59 and world.now < 1000:
        world.now += 10.0
        for one in living:
            one.member.beat()

    assert world.now <= 90 + 50


def test_who_stands_behind_one_that_beats_is_not_looked_at() -> None:
    world = World(10)
    workers = [world.add_worker() for _ in range(40)]
    workers[1].is_dead = True
    for _ in range(12):
        world.now += 10.0
        for one in (workers[0], *workers[2:]):
            one.member.beat()

    assert world.load_state().sealed.keys() == {"w001"}
    assert world.roll.looks < 12 * 39 + 40


def test_what_stands_behind_a_page_that_has_not_come_back_does_not_count() -> None:
    """A file server may have a later page of a dead worker's records, and NUL bytes where the one before will be."""
    world = World(3)
    worker, other = world.add_worker(), world.add_worker()
    worker.claim(3, None)
    worker.start()
    whole = len(world.roll.records[worker.name])
    worker.end(0)
    page = len(world.roll.records[worker.name])
    worker.start()
    worker.end(0)
    content = world.roll.records[worker.name]
    world.roll.records[worker.name] = content[:whole] + bytes(page - whole - 1) + b"\n" + content[page:]

    other.member.seal(worker.name)
    world.roll.records[worker.name] = content  # the page is there after all
    finish(world)

    assert world.load_state().sealed[worker.name] == whole
    assert {len(ends) for ends in world.find_counted().values()} == {1}
    assert world.load_state().done == 3


def test_a_page_that_has_not_come_back_is_read_later() -> None:
    line = records.format_end(records.Ended(1, 1, 0, 1.0, 1.0, 0.0, 0.0, "")).encode()

    assert records.find_whole(line + bytes(10) + b"\n" + line) == len(line)
    assert records.find_whole(line + b"e 2") == len(line)
