"""Where the plan has data read: by its size, the site's rules, the job's memory and the node's disk."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import PLAN, SPEC
from windlass.core.case import DataSeen
from windlass.core.facts import NOTHING_SEEN, Facts, SeenSet
from windlass.core.job import make_script
from windlass.core.plan import PlannedData
from windlass.core.run import Data, Staging
from windlass.core.site import Login, Rules, Site
from windlass.core.staging import Taken, choose_stage, find_path, plan_data
from windlass.core.toml.run_file import read_run
from windlass_job.staging.choosing import Room, Want, choose_all
from windlass_job.staging.laying import PACKED
from windlass_job.staging.sources import Source

GB = 10**9
SITE = Site(name="narval", login=Login(host="narval"))


@pytest.mark.parametrize(
    ("gigabytes", "memory_gb", "disk_gb", "expected"),
    [
        (5, 64, None, Staging.MEMORY),
        (5, 16, None, Staging.NODE),  # more than a quarter of the memory
        (11, 640, None, Staging.NODE),
        (90, 64, 1000, Staging.NODE),
        (90, 64, 95, Staging.SHARED),  # the disk must not be filled to the brim
        (101, 64, 1000, Staging.SHARED),
        (None, 64, 1000, Staging.AUTO),
    ],
)
def test_the_size_decides(gigabytes: float | None, memory_gb: int, disk_gb: float | None, expected: Staging) -> None:
    size = None if gigabytes is None else int(gigabytes * GB)

    stage, why = choose_stage(size, SITE, memory_mb=memory_gb * 1024, disk_gb=disk_gb)

    assert stage is expected
    assert why


def test_the_rules_of_the_site_come_first_and_the_word_of_the_user_before_them() -> None:
    site = replace(SITE, rules=Rules(data_in_memory_gb=1, data_on_node_gb=2))

    assert choose_stage(3 * GB, site, memory_mb=10**6, disk_gb=None)[0] is Staging.SHARED
    assert choose_stage(3 * GB, site, memory_mb=1, disk_gb=1, wanted=Staging.MEMORY)[0] is Staging.MEMORY


def test_what_is_extracted_needs_twice_the_room() -> None:
    assert choose_stage(50 * GB, SITE, memory_mb=None, disk_gb=None)[0] is Staging.NODE
    assert choose_stage(50 * GB, SITE, memory_mb=None, disk_gb=None, extract=True)[0] is Staging.SHARED


def plan(*sets: tuple[Staging, float], memory_gb: int = 100, disk_gb: float | None = 100) -> list[Staging]:
    """Sets of one run in the order of its file: what each is to be, and its gigabytes."""
    data = {f"set{at}": Data(source=f"/{at}", stage=stage) for at, (stage, _) in enumerate(sets)}
    seen = [DataSeen(name=f"set{at}", bytes=int(size * GB)) for at, (_, size) in enumerate(sets)]
    return [one.stage for one in sorted(plan_sets(data, seen, memory_gb, disk_gb), key=lambda one: one.name)]


def plan_sets(
    data: dict[str, Data], seen: list[DataSeen], memory_gb: int = 100, disk_gb: float | None = 100
) -> tuple[PlannedData, ...]:
    planned, _ = plan_data(
        replace(SPEC, data=data),
        SITE,
        NOTHING_SEEN,
        run_folder="/r",
        memory_mb=int(memory_gb * GB / 2**20) + 1,
        disk_gb=disk_gb,
        seen=seen,
    )
    return planned


def test_several_share_a_quarter_of_the_memory() -> None:
    staged = plan(*[(Staging.AUTO, 10)] * 3)

    assert staged == [Staging.MEMORY, Staging.MEMORY, Staging.NODE]


def test_several_share_the_disk_and_the_word_of_the_user_comes_first() -> None:
    assert plan((Staging.AUTO, 50), (Staging.AUTO, 50)) == [Staging.NODE, Staging.SHARED]
    assert plan((Staging.AUTO, 50), (Staging.NODE, 50)) == [Staging.SHARED, Staging.NODE]


def test_jobs_give_room_first_to_what_the_user_said_where_no_disk_is_known() -> None:
    data = {"a": Data(source="/a"), "b": Data(source="/b", stage=Staging.NODE)}
    seen = [DataSeen(name=name, bytes=int(60 * GB)) for name in data]

    planned = plan_sets(data, seen, disk_gb=None)

    wants = [Want(one.name, one.stage.value, one.extract) for one in planned]
    sources = {one.name: Source(PACKED, one.path, 60 * GB, 9, "", None) for one in planned}
    room = Room("/tmp", 100 * GB, 0, None, False, False, False, 0, 0)
    chosen, _ = choose_all(wants, sources, room, (0, 0))
    assert {want.name: choice.place for want, choice in chosen} == {"a": "shared", "b": "node"}


def test_the_reason_tells_who_has_the_room() -> None:
    _, why = choose_stage(50 * GB, SITE, memory_mb=None, disk_gb=100, taken=Taken(disk_gb=50))

    assert why == "50.0 GB do not fit onto a node's disk of 100 GB, 50.0 GB of them for other data"


def test_data_of_this_machine_stays_where_it_is() -> None:
    assert choose_stage(GB, Site(name="here"), memory_mb=64_000, disk_gb=None)[0] is Staging.SHARED


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("/data/x", "/data/x"),
        ("$SCRATCH/x", "$SCRATCH/x"),
        ("./data/x", "/r/runs/r/code/data/x"),
        ("set:known", "/elsewhere/known"),
        ("set:new", "/r/data/new"),
    ],
)
def test_where_it_lies_at_the_site(source: str, expected: str) -> None:
    facts = Facts(root="/r", data_sets=(SeenSet(name="known", path="/elsewhere/known"),))

    assert find_path(Data(source=source), SITE, facts, "/r/runs/r") == expected


def test_without_facts_the_variables_of_the_root_stay() -> None:
    site = replace(SITE, root="$SCRATCH/windlass")

    assert find_path(Data(source="set:x"), site, NOTHING_SEEN, "r") == "$SCRATCH/windlass/data/x"


def test_the_script_names_the_path_and_tells_the_agent() -> None:
    data = PlannedData(name="my-set", source="set:my-set", path="$SCRATCH/it's", stage=Staging.NODE, extract=True)
    plan = replace(PLAN, data=(data,), bring_back=("*.pt",), bring_back_every=timedelta(minutes=5))

    script = make_script(plan)

    assert "export WINDLASS_DATA_MY_SET=\"$SCRATCH\"'/it'\"'\"'s'\n" in script
    assert '"name": "my-set", "stage": "node", "extract": true' in script
    assert '"bring_back": ["*.pt"], "bring_every_s": 300.0' in script


def test_an_address_is_left_to_the_training() -> None:
    data = PlannedData(name="web", source="https://x", path="https://x", stage=Staging.SHARED)

    assert "--data" not in make_script(replace(PLAN, data=(data,)))


def test_two_names_that_jobs_could_not_tell_apart_are_refused() -> None:
    values = {"run": {"command": "x"}, "data": {"my-set": {}, "my_set": {}}}

    (problem,) = read_run(values)  # type: ignore[misc]

    assert problem.message == "is called WINDLASS_DATA_MY_SET in jobs, and so is data.my-set"


def test_files_are_not_extracted_where_nothing_is_copied() -> None:
    values = {"run": {"command": "x"}, "data": {"x": {"stage": "shared", "extract": True}}}

    (problem,) = read_run(values)  # type: ignore[misc]

    assert problem.key == "data.x.extract"
