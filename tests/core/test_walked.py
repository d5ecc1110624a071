"""What a walk saw, as values: areas, what Windlass holds, and any answer a site may give."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import RECORD, SITE
from windlass.core.facts import Facts
from windlass.core.record import RunState
from windlass.core.seen.holdings import KINDS, list_holdings
from windlass.core.seen.walked import OURS, Walk, make_places, read_walk
from windlass.core.site import Area, FileTime
from windlass_job import wire

SCRATCH = Area(name="scratch", path="/scratch/alice", purge_days=60, purge_by=(FileTime.ATIME, FileTime.CTIME))
HOME = Area(name="home", path="/home/alice")
TAPE = Area(name="tape", path="/tape", purge_days=9, on_login=False)
SITE_WITH = replace(SITE, storage=(HOME, SCRATCH, TAPE))
ROOT = "/scratch/alice/windlass"


def told(**more: object) -> dict[str, object]:
    place = {
        "name": "scratch",
        "path": "/scratch/alice",
        "whole": [10, 1000, 2, 200, 5.0],
        "biggest": [["raw", 10, 1000, 2, 200, 5.0]],
        "doomed": [["raw", 10, 1000, 2, 200, 5.0]],
        "soonest": [[5.0, "/scratch/alice/raw/a", 100]],
    }
    ours = {
        "name": OURS,
        "path": ROOT,
        "whole": [4, 4000, 1, 100, 3.0],
        "biggest": [
            ["runs", 3, 3000, 1, 100, 3.0],
            ["runs/digits-k3f9w", 3, 3000, 1, 100, 3.0],
            ["blobs", 1, 9, 0, 0, None],
        ],
    }
    return {"places": [ours, place], "time": 9.0, **more}


def test_windlass_is_walked_first_and_by_the_rule_of_the_area_it_lies_in() -> None:
    ours, home, scratch = make_places(SITE_WITH, Facts(), root=ROOT, only_purged=False, area=None)

    assert (ours["name"], ours["purge_s"], ours["by"]) == (OURS, 60 * 86_400, ["atime", "ctime"])
    assert (home["purge_s"], home["by"]) == (None, ["atime", "mtime"])
    assert scratch["path"] == "/scratch/alice"


def test_for_what_will_be_purged_only_such_areas_are_walked() -> None:
    names = [one["name"] for one in make_places(SITE_WITH, Facts(), root=ROOT, only_purged=True, area=None)]

    assert names == [OURS, "scratch"]
    assert [one["name"] for one in make_places(SITE_WITH, Facts(), root=ROOT, only_purged=True, area="home")] == [
        "home"
    ]
    assert make_places(SITE_WITH, Facts(), root=ROOT, only_purged=True, area="tape") == []


def test_what_windlass_holds_counts_in_the_area_it_lies_in() -> None:
    walk = read_walk(told(), 14 * 86_400)

    scratch = walk.place("scratch")
    assert scratch is not None
    assert (scratch.whole.files, scratch.whole.bytes, scratch.whole.doomed_files, scratch.whole.first) == (
        14,
        5000,
        3,
        3.0,
    )
    assert [one.path for one in scratch.biggest] == ["windlass", "raw"]
    assert [one.path for one in scratch.doomed] == ["windlass", "raw"]


def test_each_thing_that_windlass_holds_has_the_command_that_removes_it() -> None:
    walk = read_walk(told(), 1.0)

    run, blobs = list_holdings(walk, "alpha", lambda _: replace(RECORD, state=RunState.DONE))
    (waiting, _) = list_holdings(walk, "alpha", lambda _: RECORD)

    assert (run.words, run.name, run.remove) == ("run", "digits-k3f9w", "windlass rm digits-k3f9w")
    assert (blobs.kind, blobs.remove) == ("blobs", None)
    assert (waiting.is_needed, waiting.remove) == (True, None)


def test_every_folder_of_the_root_is_explained() -> None:
    folders = {
        wire.RUNS,
        wire.DATA,
        wire.ENVS,
        wire.BLOBS,
        wire.WORK,
        wire.TOOLS,
        wire.WHEELS,
        wire.CACHES,
        wire.IMAGES,
    }

    assert folders <= set(KINDS)


def test_what_was_not_seen_is_told() -> None:
    place = {
        "name": "scratch",
        "path": "/s",
        "waiting": 3,
        "next": ["/s/a"],
        "counts": {"unreadable": 2, "given_up": 1},
    }

    (scratch,) = read_walk({"places": [place]}, 1.0).places

    assert (scratch.unseen, scratch.next, scratch.unreadable, scratch.given_up) == (3, ("/s/a",), 2, 1)
    assert not scratch.is_whole


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "name", "whole"]), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["name", "path", "whole", "waiting", "counts", "problem"]), json_values))
def test_any_place_is_read_without_a_crash(place: dict[str, object]) -> None:
    if isinstance(place.get("whole"), list) or place.get("whole") is None:
        assert isinstance(read_walk({"places": [place]}, 1.0), Walk)
