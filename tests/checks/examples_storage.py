"""C401 to C409, C415: folders that jobs can use, space and quotas."""

from dataclasses import replace
from datetime import timedelta

from tests.builders import PLAN, SITE, SPEC
from tests.checks.cases import Example, case, with_rules
from windlass.core.facts import Facts, SeenQuota
from windlass.core.run import Checkpoint, Data, Environment
from windlass.core.site import Area
from windlass.core.source.code import Code

SCRATCH = Area(name="scratch", path="/scratch", purge_days=30)
TAPE = Area(name="nearline", path="/nearline", in_jobs=False)
MONTH = replace(PLAN, total_time=timedelta(days=30))
NO_HOME = with_rules(jobs_from_home=False)
HOME = Facts(home="/home/alice")
FULL = SeenQuota(
    area="scratch",
    path="/scratch/alice",
    used_bytes=19_990_000_000,
    limit_bytes=20_000_000_000,
    used_files=999_990,
    limit_files=1_000_000,
    source="diskusage_report",
)
ROOMY = replace(FULL, used_bytes=0, used_files=0)
VARIABLE = replace(SITE, root="$SCRATCH/windlass", storage=(replace(SCRATCH, path="$SCRATCH"),))
BLOCKING = replace(SITE, storage=(Area(name="store", path="/store", quota_files=1000, blocks_jobs=True),))
OVERFULL = SeenQuota(area="store", path="/store", used_files=1001, source="quota")

EXAMPLES = {
    "C401": Example(
        trips=case(site=NO_HOME, facts=Facts(home="/scratch/alice")),
        passes=case(site=NO_HOME, facts=Facts(home="/scratch/ali")),
        says="jobs at alpha cannot use the home folder, and the run folder is "
        "/scratch/alice/windlass/runs/digits-k3f9w",
        also_trips=(case(site=NO_HOME, plan=replace(PLAN, folder="$HOME/windlass/runs/x")),),
        also_passes=(case(facts=Facts(home="/scratch/alice")), case(site=NO_HOME)),
    ),
    "C402": Example(
        trips=case(facts=Facts(free_mb=149), sent_mb=50),
        passes=case(facts=Facts(free_mb=150), sent_mb=50),
        says="149 MB are free where /scratch/alice/windlass/runs/digits-k3f9w lies, and 150 MB are needed: "
        "50 MB to send, the rest for logs and checkpoints",
        also_passes=(case(sent_mb=10_000),),
    ),
    "C403": Example(
        trips=case(site=replace(SITE, storage=(SCRATCH,)), plan=MONTH),
        passes=case(
            site=replace(SITE, root="/scratch2/alice", storage=(SCRATCH,)),
            plan=replace(MONTH, folder="/scratch2/alice/runs/x"),
        ),
        says="scratch removes files after 30 days; the run may take 30",
        also_trips=(
            # The file says $SCRATCH, and what was seen of the root tells where that is.
            case(site=VARIABLE, plan=MONTH, facts=Facts(root="/scratch/alice/windlass")),
            case(site=VARIABLE, plan=replace(MONTH, folder="$SCRATCH/windlass/runs/x")),
        ),
        also_passes=(case(site=replace(SITE, storage=(SCRATCH,)), plan=replace(PLAN, total_time=timedelta(days=29))),),
    ),
    "C404": Example(
        trips=case(site=NO_HOME, facts=HOME, spec=replace(SPEC, checkpoint=Checkpoint(folder="/home/alice/points"))),
        passes=case(site=NO_HOME, facts=HOME, spec=replace(SPEC, checkpoint=Checkpoint(folder="/home/alice2/points"))),
        says="checkpoint.folder uses /home/alice/points, and jobs at alpha cannot write to the home folder",
        also_trips=(
            case(site=NO_HOME, spec=replace(SPEC, environment=Environment(activate="source ~/env/bin/activate"))),
            case(site=NO_HOME, spec=replace(SPEC, data={"set": Data(source="${HOME}/set.tar")})),
            case(site=NO_HOME, facts=HOME, spec=replace(SPEC, command="python train.py --data=/home/alice/set")),
        ),
        also_passes=(
            case(site=SITE, spec=replace(SPEC, environment=Environment(activate="source ~/env/bin/activate"))),
            # C405 tells it
            case(
                site=replace(NO_HOME, storage=(Area(name="home", path="$HOME", in_jobs=False),)),
                spec=replace(SPEC, environment=Environment(activate="source ~/env/bin/activate")),
            ),
            case(site=NO_HOME, facts=HOME, spec=replace(SPEC, command="python train.py home/alice --lr 1/2")),
        ),
    ),
    "C405": Example(
        trips=case(
            site=replace(SITE, storage=(TAPE,)), spec=replace(SPEC, data={"set": Data(source="/nearline/lab/set.tar")})
        ),
        passes=case(
            site=replace(SITE, storage=(TAPE,)), spec=replace(SPEC, data={"set": Data(source="/nearline2/set.tar")})
        ),
        says="data.set uses /nearline/lab/set.tar, and compute nodes do not see nearline",
        also_trips=(
            case(site=replace(SITE, storage=(TAPE,)), spec=replace(SPEC, command="tar xf /nearline/set.tar")),
            case(site=replace(SITE, storage=(TAPE,)), plan=replace(PLAN, folder="/nearline/runs/x")),
            case(
                site=replace(SITE, storage=(Area(name="home", path="/nashome/a/alice", in_jobs=False),)),
                spec=replace(SPEC, environment=Environment(activate="source ~/env/bin/activate")),
            ),
        ),
    ),
    "C406": Example(
        trips=case(
            spec=replace(SPEC, command="python train.py > logs/out.txt"), code=Code(paths=frozenset({"train.py"}))
        ),
        passes=case(
            spec=replace(SPEC, command="python train.py > logs/out.txt"),
            code=Code(paths=frozenset({"train.py", "logs/keep/.gitkeep"})),
        ),
        says="the command writes to logs/out.txt, and the folder logs does not go along",
        also_trips=(
            case(
                spec=replace(SPEC, command="python train.py | tee -a ./logs/a/out.txt"),
                code=Code(paths=frozenset({"logs/x"})),
            ),
        ),
        also_passes=(
            case(spec=replace(SPEC, command="python train.py > logs/out.txt")),
            case(spec=replace(SPEC, command="mkdir -p logs; x > logs/o"), code=Code(paths=frozenset({"x"}))),
            case(spec=replace(SPEC, command="x 2>/dev/null >out.txt 2>&1"), code=Code(paths=frozenset({"x"}))),
        ),
    ),
    "C407": Example(
        trips=case(facts=Facts(quotas=(FULL,)), sent_mb=11),
        passes=case(facts=Facts(quotas=(replace(FULL, used_bytes=17_000_000_000),)), sent_mb=11),
        says="scratch holds 20.0 GB of 20.0 GB; 0.0 GB are to be sent",
        also_trips=(case(facts=Facts(quotas=(FULL,))),),
        also_passes=(
            case(facts=Facts(quotas=(replace(FULL, is_shared=True),))),
            case(facts=Facts(quotas=(replace(FULL, path="/project/lab", area="project"),))),
            case(facts=Facts(quotas=(replace(FULL, limit_bytes=0),))),
        ),
    ),
    "C408": Example(
        trips=case(facts=Facts(quotas=(FULL,)), sent_files=11),
        passes=case(facts=Facts(quotas=(replace(FULL, used_files=899_900),))),
        says="scratch holds 999990 of 1000000 files; 11 are to be sent",
        also_trips=(
            case(
                site=replace(SITE, storage=(replace(SCRATCH, quota_files=1_000_000),)),
                facts=Facts(quotas=(replace(FULL, limit_files=None),)),
                sent_files=11,
            ),
        ),
        also_passes=(case(facts=Facts(quotas=(replace(FULL, used_files=None),)), sent_files=11),),
    ),
    "C409": Example(
        trips=case(facts=Facts(free_files=109), sent_files=10),
        passes=case(facts=Facts(free_files=110), sent_files=10),
        says="109 files can be made where /scratch/alice/windlass/runs/digits-k3f9w lies; 10 are to be sent",
        also_passes=(case(sent_files=10_000),),
    ),
    "C415": Example(
        trips=case(site=BLOCKING, facts=Facts(quotas=(OVERFULL,))),
        passes=case(site=BLOCKING, facts=Facts(quotas=(replace(OVERFULL, used_files=1000),))),
        says="store holds 1001 of 1000 files, and alpha takes no job from who is over",
        also_passes=(case(site=BLOCKING), case(facts=Facts(quotas=(OVERFULL,)))),
    ),
}
