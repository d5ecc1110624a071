"""C302, C410 to C414, C416 to C420: the data of the run."""

from dataclasses import replace
from datetime import timedelta

from tests.builders import GPU_NODE, PLAN, SITE, SPEC
from tests.checks.cases import NOW, ONE_GPU, REMOTE, Example, case
from windlass.core.case import DataSeen
from windlass.core.facts import Facts, SeenQuota, SeenSet
from windlass.core.run import Data, Staging
from windlass.core.site import Area, Rules

GB = 10**9
DAY_S = 86_400
SCRATCH = Area(name="scratch", path="/scratch", purge_days=60, quota_files=1_000_000)
STORED = replace(SITE, storage=(SCRATCH,))
MANY = DataSeen(name="set", bytes=150 * GB, files=1_400_000)
ADVISED = replace(
    SITE,
    rules=Rules(data_in_memory_gb=10, data_on_node_gb=100),
    node_types=(replace(GPU_NODE, local_disk_gb=50),),
)
SET = DataSeen(name="set", bytes=9 * GB, files=10)
ON_SCRATCH = replace(SPEC, data={"set": Data(source="/scratch/alice/set.tar")})
LONG = replace(PLAN, total_time=timedelta(days=5))


def staged(stage: Staging) -> dict[str, Data]:
    return {"set": Data(source="set", stage=stage)}


TWO_SETS = (replace(SET, bytes=30 * GB), replace(SET, name="more", bytes=30 * GB))
BOTH_ON_NODE = replace(SPEC, data={name: Data(source=name, stage=Staging.NODE) for name in ("set", "more")})
ONE_ON_NODE = replace(SPEC, data={**BOTH_ON_NODE.data, "more": Data(source="more", stage=Staging.AUTO)})
LEFT = replace(SPEC, data=staged(Staging.SHARED))
HERE = DataSeen(name="set", bytes=2 * GB, files=50_000, is_here=True)
IN_PROJECT = replace(SPEC, data={"set": Data(source="data/my images")})
BY_NAME = replace(SPEC, data={"set": Data(source="set:imagenet")})
IMAGENET = SeenSet(name="imagenet", path="/scratch/alice/windlass/data/imagenet", files=50_000, bytes=2 * GB, shards=3)

EXAMPLES = {
    "C302": Example(
        trips=case(site=REMOTE, spec=IN_PROJECT, data=(HERE,)),
        passes=case(site=REMOTE, spec=IN_PROJECT, data=(replace(HERE, is_sent=True),)),
        says="data.set (data/my images, 50000 files, 2 GB) lies on this laptop and does not travel with the code",
        also_trips=(case(site=REMOTE, spec=IN_PROJECT, data=(replace(HERE, is_missing=True),)),),
        also_passes=(
            case(spec=IN_PROJECT, data=(HERE,)),  # the run stays on this machine
            case(site=REMOTE, spec=IN_PROJECT, data=(replace(HERE, is_here=False),)),
            case(site=REMOTE, spec=IN_PROJECT),
        ),
    ),
    "C410": Example(
        trips=case(site=STORED, data=(MANY,)),
        passes=case(site=STORED, data=(replace(MANY, files=1_000_000),)),
        says="data.set has 1400000 files; scratch holds 1000000",
        also_trips=(
            case(
                site=STORED,
                data=(replace(MANY, files=2),),
                facts=Facts(quotas=(SeenQuota(area="scratch", path="/scratch", used_files=999_999),)),
            ),
            case(site=replace(SITE, storage=(replace(SCRATCH, quota_gb=100),)), data=(replace(MANY, files=1),)),
        ),
        also_passes=(case(data=(MANY,)), case(site=STORED, data=(DataSeen(name="set"),))),
    ),
    "C411": Example(
        trips=case(site=REMOTE, data=(DataSeen(name="set", bytes=GB, files=100_000, is_partial=True),)),
        passes=case(site=REMOTE, data=(DataSeen(name="set", bytes=GB, files=9_999),)),
        says="data.set has more than 100000 files of 0.01 MB on average",
        also_trips=(case(site=REMOTE, data=(DataSeen(name="set", bytes=GB, files=10_001),)),),
        also_passes=(
            case(site=REMOTE, data=(DataSeen(name="set", bytes=20 * GB, files=10_001),)),
            case(site=SITE, data=(MANY,)),  # this very machine
            case(site=REMOTE, data=(DataSeen(name="set", bytes=0, files=0),)),
        ),
    ),
    "C412": Example(
        trips=case(site=ADVISED, plan=ONE_GPU, data=(SET,), spec=LEFT),
        passes=case(site=ADVISED, plan=ONE_GPU, data=(replace(SET, bytes=51 * GB),), spec=LEFT),  # the disk has 50 GB
        says="data.set has 9.0 GB; up to 10 GB alpha advises to load it into memory at the start",
        also_trips=(case(site=ADVISED, plan=ONE_GPU, data=(replace(SET, bytes=11 * GB),), spec=LEFT),),
        also_passes=(
            case(plan=ONE_GPU, data=(SET,), spec=LEFT),
            case(site=ADVISED, plan=ONE_GPU, data=(replace(SET, bytes=1000),), spec=LEFT),
            case(site=ADVISED, data=(SET,), spec=replace(SPEC, data=staged(Staging.AUTO))),  # chosen by itself
        ),
    ),
    "C413": Example(
        trips=case(site=STORED, spec=ON_SCRATCH, plan=LONG, data=(replace(SET, oldest=NOW - 56 * DAY_S),)),
        passes=case(site=STORED, spec=ON_SCRATCH, plan=LONG, data=(replace(SET, oldest=NOW - 54 * DAY_S),)),
        says="data.set lies on scratch, which removes files after 60 days; some of it was last used 56 days ago",
        also_trips=(case(site=STORED, spec=ON_SCRATCH, plan=replace(PLAN, total_time=timedelta(days=60))),),
        also_passes=(
            case(site=STORED, spec=ON_SCRATCH),
            case(spec=ON_SCRATCH, plan=LONG, data=(replace(SET, oldest=NOW - 56 * DAY_S),)),
        ),
    ),
    "C414": Example(
        trips=case(
            site=replace(SITE, rules=Rules(tmp_in_memory=True)),
            spec=replace(SPEC, command="python train.py --cache /tmp/cache"),
            plan=replace(PLAN, memory_mb=4000),
        ),
        passes=case(
            site=replace(SITE, rules=Rules(tmp_in_memory=True)), spec=replace(SPEC, command="python train.py --tmp x")
        ),
        says="the command uses /tmp, which at alpha counts against the job's memory of 4000 MB",
        also_passes=(case(spec=replace(SPEC, command="python train.py --cache /tmp/cache")),),
    ),
    "C417": Example(
        trips=case(spec=ON_SCRATCH, data=(DataSeen(name="set", is_missing=True),)),
        passes=case(spec=ON_SCRATCH, data=(DataSeen(name="set", files=0),)),
        says="data.set should be /scratch/alice/set.tar, and alpha has nothing there",
        also_passes=(
            case(spec=ON_SCRATCH),
            case(spec=ON_SCRATCH, data=(DataSeen(name="set", is_missing=True, is_here=True),)),  # C302
        ),
    ),
    "C418": Example(
        trips=case(spec=BY_NAME, facts=Facts(data_sets=(), data_names=("imagenet1", "imagenes"))),
        passes=case(spec=BY_NAME, facts=Facts(data_sets=(IMAGENET,), data_names=("imagenet",))),
        says="data.set is the data set 'imagenet', and alpha has none of that name; did you mean 'imagenes'?",
        also_trips=(case(spec=BY_NAME, facts=Facts(data_sets=())),),
        also_passes=(case(spec=BY_NAME), case(spec=ON_SCRATCH, facts=Facts(data_sets=()))),
    ),
    "C419": Example(
        trips=case(spec=BY_NAME, facts=Facts(data_sets=(replace(IMAGENET, problem="its card cannot be read: bad"),))),
        passes=case(spec=BY_NAME, facts=Facts(data_sets=(IMAGENET,))),
        says="data.set: the data set imagenet at /scratch/alice/windlass/data/imagenet cannot be used: "
        "its card cannot be read: bad",
        also_trips=(
            case(
                spec=BY_NAME,
                facts=Facts(data_sets=(replace(IMAGENET, kind="missing", is_pointer=True, problem="no such file"),)),
            ),
        ),
        also_passes=(case(spec=BY_NAME), case(spec=ON_SCRATCH)),
    ),
    "C420": Example(
        trips=case(spec=BY_NAME, data=(replace(SET, raw_folder="images", raw_files=50_000),)),
        passes=case(spec=BY_NAME, data=(SET,)),
        says="images/ (50000 files) travels with the code, and data.set is read packed",
        also_trips=(case(site=REMOTE, spec=BY_NAME, data=(replace(SET, raw_folder="images", raw_files=1),)),),
        also_passes=(case(spec=BY_NAME), case(spec=IN_PROJECT, data=(replace(HERE, is_sent=True),))),
    ),
    "C416": Example(
        trips=case(
            site=ADVISED,
            plan=ONE_GPU,
            data=(replace(SET, bytes=51 * GB),),
            spec=replace(SPEC, data=staged(Staging.NODE)),
        ),
        passes=case(
            site=ADVISED,
            plan=ONE_GPU,
            data=(replace(SET, bytes=50 * GB),),
            spec=replace(SPEC, data=staged(Staging.NODE)),
        ),
        says="data.set has 51.0 GB; the node's own disk has 50.0 GB",
        also_trips=(
            case(plan=replace(PLAN, memory_mb=8000), data=(SET,), spec=replace(SPEC, data=staged(Staging.MEMORY))),
            case(site=ADVISED, plan=ONE_GPU, data=TWO_SETS, spec=BOTH_ON_NODE),  # each alone would fit
        ),
        also_passes=(
            case(site=ADVISED, plan=ONE_GPU, data=(TWO_SETS[0], replace(SET, name="more")), spec=BOTH_ON_NODE),
            case(site=ADVISED, plan=ONE_GPU, data=TWO_SETS, spec=ONE_ON_NODE),
            case(data=(SET,), spec=replace(SPEC, data=staged(Staging.MEMORY))),
        ),
    ),
}
