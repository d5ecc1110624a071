"""Every check: a case that trips it, and one that nearly does."""

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from tests.builders import CPU, GPU, HOUR, PLAN, SITE, SPEC
from windlass.checks import CHECKS, run_checks
from windlass.core.case import Case
from windlass.core.facts import NOTHING_SEEN, Association, Facts, SeenPartition
from windlass.core.finding import Finding, Severity
from windlass.core.plan import Plan
from windlass.core.run import Data, Environment, Resources, RunSpec
from windlass.core.site import Area, ChainStyle, GpuDialect, Login, ModuleSystem, Rules, Site, Software

ALICE = Association(account="def-prof", qos=("normal", "high"), max_submit=10)
MINE = Facts(associations=(ALICE,))
ONE_GPU = replace(PLAN, partition="gpu", gpus_per_node=1, gpu_dialect=GpuDialect.GRES)


def case(
    *, plan: Plan = PLAN, site: Site = SITE, facts: Facts = NOTHING_SEEN, spec: RunSpec = SPEC, sent_mb: float = 1.0
) -> Case:
    return Case(spec=spec, plan=plan, site=site, facts=facts, snapshot_mb=sent_mb)


def with_env(**env: str) -> RunSpec:
    return replace(SPEC, env=env)


@dataclass(frozen=True, kw_only=True)
class Example:
    trips: Case
    passes: Case
    says: str


NEEDS_ACCOUNT = replace(SITE, rules=Rules(needs_account=True))
CHAIN = replace(PLAN, links=4)
REMOTE = replace(SITE, login=Login(host="login.example.org"))
SCRATCH = Area(name="scratch", path="/scratch", purge_days=30)
MONTH = replace(PLAN, total_time=timedelta(days=30))
WHOLE = replace(SITE, rules=Rules(whole_nodes=True))
NO_HOME = replace(SITE, rules=Rules(jobs_from_home=False))

EXAMPLES: dict[str, Example] = {
    "C101": Example(
        trips=case(site=NEEDS_ACCOUNT, facts=MINE),
        passes=case(site=NEEDS_ACCOUNT, plan=replace(PLAN, account="def-prof")),
        says="alpha wants an account with every job; yours are def-prof",
    ),
    "C102": Example(
        trips=case(facts=MINE, plan=replace(PLAN, account="other")),
        passes=case(facts=MINE, plan=replace(PLAN, account="DEF-prof")),
        says="account 'other' is not yours at alpha; yours: def-prof",
    ),
    "C103": Example(
        trips=case(facts=MINE, plan=replace(PLAN, account="def-prof", qos="vip")),
        passes=case(facts=MINE, plan=replace(PLAN, account="def-prof", qos="high")),
        says="QOS 'vip' is not allowed for you; allowed: high, normal",
    ),
    "C104": Example(
        trips=case(facts=replace(MINE, jobs_in_queue=7), plan=replace(CHAIN, account="def-prof")),
        passes=case(facts=replace(MINE, jobs_in_queue=6), plan=replace(CHAIN, account="def-prof")),
        says="you may have 10 jobs submitted; 7 are, and this run needs 4",
    ),
    "C201": Example(
        trips=case(facts=Facts(partitions=(SeenPartition(name="gpu", state="DOWN"),)), plan=ONE_GPU),
        passes=case(facts=Facts(partitions=(SeenPartition(name="cpu", state="DOWN"),)), plan=ONE_GPU),
        says="partition gpu is DOWN now; the job would wait",
    ),
    "C202": Example(
        trips=case(
            facts=Facts(partitions=(SeenPartition(name="gpu", max_time=HOUR),)),
            plan=replace(ONE_GPU, link_time=2 * HOUR),
        ),
        passes=case(facts=Facts(partitions=(SeenPartition(name="gpu", max_time=HOUR),)), plan=ONE_GPU),
        says="one job asks for 0-02:00:00; gpu gives at most 0-01:00:00",
    ),
    "C203": Example(
        trips=case(site=REMOTE, spec=replace(SPEC, resources=Resources())),
        passes=case(site=SITE, spec=replace(SPEC, resources=Resources())),  # this very machine
        says="no time was given; 0-01:00:00 was taken",
    ),
    "C204": Example(
        trips=case(plan=CHAIN),
        passes=case(plan=replace(CHAIN, checkpoint_folder="checkpoints")),
        says="the run needs 4 jobs one after another, and no checkpoint folder is named",
    ),
    "C205": Example(
        trips=case(plan=CHAIN, facts=Facts(max_array=4)),
        passes=case(plan=CHAIN, facts=Facts(max_array=5)),
        says="the run needs 4 links; arrays here end at 3",
    ),
    "C206": Example(
        trips=case(site=WHOLE, plan=ONE_GPU),
        passes=case(site=WHOLE, plan=replace(ONE_GPU, gpus_per_node=4)),
        says="a node here has 4 GPUs and comes whole; you use 1",
    ),
    "C207": Example(
        trips=case(
            plan=replace(ONE_GPU, tasks_per_node=4, cpus_per_task=13),
            facts=Facts(partitions=(SeenPartition(name="gpu", cpus_per_node=48),)),
        ),
        passes=case(
            plan=replace(ONE_GPU, tasks_per_node=4, cpus_per_task=12),
            facts=Facts(partitions=(SeenPartition(name="gpu", cpus_per_node=48),)),
        ),
        says="4 tasks of 13 cores are 52 on each node; nodes of gpu have 48",
    ),
    "C208": Example(
        trips=case(plan=CHAIN, site=replace(SITE, rules=Rules(chain=ChainStyle.REQUEUE))),
        passes=case(plan=replace(CHAIN, links=1), site=replace(SITE, rules=Rules(chain=ChainStyle.REQUEUE))),
        says="alpha prefers chains by requeue; this one is an array of 4, one at a time",
    ),
    "C209": Example(
        trips=case(plan=replace(CHAIN, link_time=timedelta(seconds=20))),
        passes=case(plan=replace(CHAIN, link_time=timedelta(minutes=5))),
        says="the run is cut into 4 jobs of 0-00:00:20",
    ),
    "C301": Example(
        trips=case(spec=replace(SPEC, environment=Environment(venv="requirements.txt"))),
        passes=case(spec=replace(SPEC, environment=Environment(venv="env", activate="source env/bin/activate"))),
        says="environment.venv = 'requirements.txt' is not built by this version",
    ),
    "C302": Example(
        trips=case(spec=replace(SPEC, data={"set": Data(source="$SCRATCH/set.tar")})),
        passes=case(),
        says="data.set ($SCRATCH/set.tar) is not moved by this version: it must already be at the site",
    ),
    "C303": Example(
        trips=case(plan=replace(PLAN, modules=("gcc", "cuda"))),
        passes=case(
            plan=replace(PLAN, modules=("gcc",)), site=replace(SITE, software=Software(modules=ModuleSystem.LMOD))
        ),
        says="alpha has no modules; the run asks for gcc, cuda",
    ),
    "C304": Example(
        trips=case(spec=with_env(WANDB_API_KEY="0123456789abcdef")),
        passes=case(spec=replace(SPEC, command="python train.py --tokenizer=bert-base-uncased --secret=$KEY")),
        says="run.env.WANDB_API_KEY looks as if it held a secret, which would be written into the script",
    ),
    "C305": Example(
        trips=case(facts=Facts(python_version="3.5.9")),
        passes=case(facts=Facts(python_version="3.6.8")),
        says="python3 at alpha is Python 3.5.9; 3.6 is needed",
    ),
    "C401": Example(
        trips=case(site=NO_HOME, facts=Facts(home="/scratch/alice")),
        passes=case(site=NO_HOME, facts=Facts(home="/scratch/ali")),
        says="jobs at alpha cannot use the home folder, and the run folder is "
        "/scratch/alice/windlass/runs/digits-k3f9w",
    ),
    "C402": Example(
        trips=case(facts=Facts(free_mb=149), sent_mb=50),
        passes=case(facts=Facts(free_mb=150), sent_mb=50),
        says="149 MB are free where /scratch/alice/windlass/runs/digits-k3f9w lies; 50 MB are to be sent",
    ),
    "C403": Example(
        trips=case(site=replace(SITE, storage=(SCRATCH,)), plan=MONTH),
        passes=case(site=replace(SITE, root="/scratch2/alice", storage=(SCRATCH,)), plan=MONTH),
        says="scratch removes files after 30 days; the run may take 30",
    ),
}

# More that must not trip: what a check knows nothing about, and what only looks like it.
QUIET: dict[str, list[Case]] = {
    "C101": [case()],
    "C102": [case(plan=replace(PLAN, account="other")), case(facts=MINE)],
    "C103": [
        case(facts=Facts(associations=(Association(account="x"),)), plan=replace(PLAN, qos="vip")),
        case(facts=MINE),
    ],
    "C104": [case(plan=replace(CHAIN, account="def-prof"), facts=MINE), case(plan=CHAIN)],
    "C202": [case(plan=replace(ONE_GPU, link_time=900 * HOUR), facts=Facts(partitions=(SeenPartition(name="gpu"),)))],
    "C203": [case(site=REMOTE)],
    "C205": [case(facts=Facts(max_array=1)), case(plan=CHAIN)],
    "C206": [
        case(plan=ONE_GPU),
        case(site=WHOLE),
        case(site=replace(WHOLE, partitions=(CPU, replace(GPU, whole_nodes=False))), plan=ONE_GPU),
    ],
    "C304": [
        case(spec=with_env(TOKENIZERS_PARALLELISM="false", HF_TOKEN_PATH="/scratch/alice/token/file")),
        case(spec=replace(SPEC, command="python train.py --max_tokens=1000000000000 --task-sk-learn")),
    ],
    "C305": [case(facts=Facts(python_version="weird")), case(facts=Facts(python_version="3.12.1"))],
    "C401": [case(facts=Facts(home="/scratch/alice")), case(site=NO_HOME)],
    "C402": [case(sent_mb=10_000)],
    "C403": [case(site=replace(SITE, storage=(SCRATCH,)), plan=replace(PLAN, total_time=timedelta(days=29)))],
}

# More that must trip.
LOUD: dict[str, list[Case]] = {
    "C104": [case(plan=CHAIN, site=replace(SITE, rules=Rules(max_submitted=3)))],
    "C205": [case(plan=CHAIN, facts=Facts(max_array=0), site=replace(SITE, rules=Rules(max_array=1000)))],
    "C206": [
        case(plan=replace(ONE_GPU, exclusive=True)),
        case(site=replace(SITE, partitions=(CPU, replace(GPU, whole_nodes=True))), plan=ONE_GPU),
        case(plan=ONE_GPU, facts=Facts(partitions=(SeenPartition(name="gpu", whole_nodes=True),))),
    ],
    "C304": [
        case(spec=replace(SPEC, command="HF_TOKEN=hf_abcdefghijkl python train.py")),
        case(spec=replace(SPEC, command="huggingface-cli login --token hf_abcdefghijklmnopqrstuvwx")),
        case(spec=replace(SPEC, command="train.py --password='correcthorsebattery'")),
    ],
    "C305": [case(facts=Facts(python_version="2.7.18"))],
}


def findings(code: str, of: Case) -> list[Finding]:
    return list(CHECKS[code](of))


def test_every_check_has_its_examples() -> None:
    assert list(EXAMPLES) == list(CHECKS)


@pytest.mark.parametrize("code", EXAMPLES)
def test_it_trips_and_says_both_numbers(code: str) -> None:
    (finding,) = findings(code, EXAMPLES[code].trips)

    assert (finding.code, finding.message) == (code, EXAMPLES[code].says)


@pytest.mark.parametrize("code", EXAMPLES)
def test_a_near_miss_passes(code: str) -> None:
    assert findings(code, EXAMPLES[code].passes) == []


@pytest.mark.parametrize(("code", "quiet"), [(code, one) for code, many in QUIET.items() for one in many])
def test_what_is_unknown_or_fine_passes(code: str, quiet: Case) -> None:
    assert findings(code, quiet) == []


@pytest.mark.parametrize(("code", "loud"), [(code, one) for code, many in LOUD.items() for one in many])
def test_other_ways_to_trip(code: str, loud: Case) -> None:
    assert [finding.code for finding in findings(code, loud)] == [code]


def test_a_plain_run_has_no_findings() -> None:
    assert run_checks(case()) == ()


def test_findings_come_in_the_order_of_the_catalogue() -> None:
    both = case(plan=CHAIN, site=NEEDS_ACCOUNT)

    assert [one.code for one in run_checks(both)] == ["C101", "C204"]


def test_only_what_certainly_fails_is_an_error() -> None:
    warnings = {code for code, one in EXAMPLES.items() if findings(code, one.trips)[0].severity is not Severity.ERROR}

    assert warnings == {"C201", "C203", "C204", "C206", "C208", "C209", "C302", "C403"}


def test_a_secret_is_not_shown_again() -> None:
    (finding,) = findings("C304", EXAMPLES["C304"].trips)

    assert "0123456789abcdef" not in repr(finding)
