"""C528, C529: what was to be fetched before, for nodes without internet."""

from dataclasses import replace

from tests.checks.cases import Example
from tests.checks.code_cases import OFFLINE, ONE_GPU, REMOTE, code_case
from windlass.core.case import Case
from windlass.core.prefetched import DamagedCard, Ended, Prefetched, PrefetchSeen, Verified
from windlass.core.run import PrefetchPlace
from windlass.core.site import Rules, Site

NOW = {"train.py": "11"}
VERIFIED = Verified(how="a network namespace", made=2.0, ended=Ended.STEP, files=NOW)
CARD = Prefetched(
    id="ab12",
    name="digits",
    command="python download.py",
    where=PrefetchPlace.LOGIN,
    ended=Ended.DONE,
    made=1.0,
    verified=VERIFIED,
)
WANTED = PrefetchSeen(id="ab12", is_wanted=True, files=NOW, is_asked=True)
THERE = replace(WANTED, found=CARD)
DAMAGE = DamagedCard(problem="prefetch-ab12.json cannot be read")


def make_case(seen: PrefetchSeen | None, site: Site = OFFLINE) -> Case:
    return replace(code_case("import torch", site=site), prefetch=seen)


EXAMPLES = {
    "C528": Example(
        trips=make_case(WANTED),
        passes=make_case(THERE),
        also_trips=(make_case(replace(WANTED, damage=DAMAGE)),),
        says="what [prefetch] fetches is not at alpha yet; compute nodes of alpha reach no internet",
        also_passes=(
            make_case(None),
            make_case(replace(WANTED, is_wanted=False)),
            make_case(replace(WANTED, is_asked=False)),
            make_case(WANTED, replace(REMOTE, rules=Rules(compute_internet=True))),
            replace(make_case(WANTED), plan=replace(ONE_GPU, modules=("httpproxy",))),
        ),
    ),
    "C529": Example(
        trips=make_case(replace(THERE, files={"train.py": "22"})),
        passes=make_case(THERE),
        says="train.py has changed since the prefetch at alpha was verified: it may want more now",
        also_trips=(
            make_case(replace(THERE, found=replace(CARD, verified=None, problem="OSError: no"))),
            make_case(replace(THERE, files={**NOW, "data.py": "33"})),
            make_case(replace(WANTED, is_wanted=False, damage=DAMAGE)),
        ),
        also_passes=(
            make_case(WANTED),
            make_case(replace(THERE, files={}), REMOTE),
            make_case(replace(WANTED, damage=DAMAGE)),
        ),
    ),
}
