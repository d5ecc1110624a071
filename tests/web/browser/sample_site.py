"""What a site told of itself and of one's hours there, for the sample."""

from datetime import timedelta

from tests.web.house import House
from windlass.app.budgets.spending import Budgets, LimitUse
from windlass.app.queues import QueuesSeen
from windlass.app.session import Session
from windlass.app.storage.quota import AreaUse, Quotas
from windlass.app.watching.site_sheets import Sheet
from windlass.app.watching.why import Told
from windlass.core.facts import Association, Facts, SeenQuota
from windlass.core.finding import Diagnosis, Setting
from windlass.core.record import RunRecord
from windlass.core.seen.fair_share import FairShare
from windlass.core.seen.free import Free, Maintenance, NodeKind, QueueView
from windlass.core.site import Area
from windlass.core.spending.amounts import Amount
from windlass.core.spending.uses import AccountUse, PersonUse, RunUse, Spending
from windlass.core.watching.looks import Look

_DAY = 86_400.0
_TB = 10**12


def fill_site(house: House, name: str) -> None:
    now, store = house.session.clock(), house.session.store
    look = Look(seen=now - 240, tried=now - 241, ended=now - 240)
    store.keep(f"asked:sheet:{name}", look)
    store.keep(f"asked:budget:{name}", look)
    store.keep(f"sheet:{name}", _make_sheet(name, now))
    store.keep(f"budget:{name}", _make_budgets(name, now))
    limits = Association(
        account="hai",
        max_jobs=24,
        max_submit=200,
        max_time=timedelta(days=1),
        qos=("normal", "test"),
        is_default=True,
        max_per_job={},
        group_minutes={},
        group_at_once={"gres/gpu": 64},
    )
    facts = Facts(associations=(limits,), taken_at=now - 240)
    with Session(folders=house.session.folders, environ=house.session.environ) as aside:  # nobody is to be asked there
        aside.pretend(aside.site(name), aside.host(aside.site("here")), facts)


def _make_sheet(name: str, now: float) -> Sheet:
    rest = Maintenance(name="spring", starts=now + 5 * _DAY, ends=now + 5.5 * _DAY)
    node = NodeKind(nodes=936, cores=48, memory_mb=512_000, gpus=(("a100", 4),))
    big = Free(
        nodes_idle=12,
        nodes_mixed=7,
        nodes_full=902,
        nodes_down=15,
        cores_free=640,
        cores=44_928,
        gpus={"a100": (61, 3744)},
    )
    day = timedelta(days=1)
    queues = (
        QueueView(
            name="booster",
            is_default=True,
            max_time=day,
            kinds=(node,),
            free=big,
            running=412,
            waiting=1290,
            maintenance=rest,
        ),
        QueueView(
            name="develbooster",
            for_tests=True,
            max_time=timedelta(hours=2),
            kinds=(node,),
            free=Free(nodes_idle=3, nodes_full=7, cores_free=144, cores=480, gpus={"a100": (12, 40)}),
            running=7,
            waiting=2,
            maintenance=rest,
        ),
        QueueView(
            name="largebooster",
            max_time=timedelta(hours=6),
            kinds=(node,),
            free=Free(nodes_full=936, cores=44_928, gpus={"a100": (0, 3744)}),
            running=3,
            waiting=41,
            closed="only for accounts of large projects",
            maintenance=rest,
        ),
    )
    areas = (
        AreaUse(
            area=Area(name="home", path="$HOME", backed_up=True),
            quota=SeenQuota(
                area="home",
                path="/p/home",
                used_bytes=17 * 10**9,
                limit_bytes=20 * 10**9,
                used_files=61_000,
                limit_files=80_000,
            ),
        ),
        AreaUse(
            area=Area(name="scratch", path="$SCRATCH", purge_days=90),
            quota=SeenQuota(
                area="scratch",
                path="/p/scratch",
                used_bytes=41 * _TB,
                limit_bytes=90 * _TB,
                used_files=3_800_000,
                limit_files=4_000_000,
            ),
        ),
        AreaUse(area=Area(name="data", path="$DATA")),
    )
    return Sheet(
        queues=QueuesSeen(site=name, queues=queues, qos=(), asked=now - 240),
        quotas=Quotas(site=name, areas=areas, taken_at=now - 240),
        shares=(FairShare(account="hai", factor=0.612), FairShare(account="hai-old", factor=0.08)),
    )


def _make_budgets(name: str, now: float) -> Budgets:
    unit = "core-hours"
    runs = (
        RunUse(
            run_id="resnet50-k3f9w",
            account="hai",
            used=6_912,
            gpu_hours=576,
            still=12_288,
            jobs=2,
            links_left=1,
            is_live=True,
            wasted=0.04,
        ),
        RunUse(run_id="bert-base-qq0ce", account="hai", used=4_420, gpu_hours=368, jobs=3, wasted=0.31),
        RunUse(run_id="vit-large-p0q2z", account="hai", used=1_536, gpu_hours=128, still=9_216, jobs=1, is_live=True),
        RunUse(run_id=None, account="hai", used=811, jobs=14),
    )
    account = AccountUse(
        account="hai",
        unit=unit,
        limit=250_000,
        used=181_340,
        source="sshare",
        burn_per_day=4_870,
        burn_of_all=True,
        ends=now + 14 * _DAY,
        still=21_504,
    )
    spending = Spending(
        site=name,
        unit=unit,
        is_charged=True,
        since=now - 17 * _DAY,
        now=now - 240,
        days=7,
        used=13_679,
        gpu_hours=1_072,
        core_hours=13_679,
        still=21_504,
        burn_per_day=1_240,
        wasted=0.14,
        accounts=(account,),
        runs=runs,
        people=(
            PersonUse(person="mustermann1", account="hai", used=96_120),
            PersonUse(person="alice2", account="hai", used=13_679),
        ),
    )
    own = LimitUse(scope="month", of="resnet50", limit=Amount(hours=20_000, unit=unit), used=6_912)
    return Budgets(spending=spending, limits=(own,))


def fill_why(house: House, record: RunRecord) -> None:
    """What `explain` told, with a change for the project's file, which lies in the folder of the sample."""
    house.session.folders.state.joinpath("windlass.toml").write_text(
        '[run]\ncommand = "python train.py"\n\n[resources]\nmemory = "8G"\ntime = "4h"\n', encoding="utf-8"
    )
    said = Diagnosis(
        code="D201",
        message="it ran out of memory: 8.0 GB were asked for, and it wanted more",
        evidence=("slurmstepd: error: Detected 1 oom_kill event in StepId=8812399.0",),
        hint="ask for more memory, or load less at once",
        patch=(Setting(key="resources.memory", value='"12G"'),),
    )
    subject, now = f"why:{record.run_id}", house.session.clock()
    house.session.store.keep(f"asked:{subject}:{record.site}", Look(seen=now - 60, tried=now - 61, ended=now - 60))
    house.session.store.keep(f"{subject}:{record.site}", Told(diagnoses=(said,)))
