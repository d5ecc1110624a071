"""The centres whose files come with Windlass, and the user that the tests are there."""

from collections.abc import Mapping
from functools import cache

from tests.cluster.centre import Centre, Member
from tests.sites.shipped import CENTRES
from windlass.core.site import Site
from windlass.edges.folders import find_folders
from windlass.edges.site_files import load_site

ALLIANCE = ("beluga", "cedar", "graham", "narval")
JSC = ("jureca-dc", "juwels-booster")
NAMES = tuple(sorted(CENTRES))

# Kept tight, to see what Slurm does with a job that is over an account's limits.
TIGHT = Member(
    account="tight", limits={"MaxWall": "30", "MaxJobs": "1", "MaxSubmitJobs": "3", "MaxTRESPerJob": "cpu=4"}
)
SPENT = Member(account="spent", group_limits={"GrpTRESMins": "cpu=0"})
_WILSON = ("wc_test", "wc_beams", "wc_cosmo", "wc_lattice", "wc_neutrino", "wc_theory")


@cache
def load(name: str) -> Site:
    """The file as it comes, whatever the person who runs the tests has at home."""
    return load_site(name, find_folders({"HOME": "/nonexistent"}))


def make_centre(name: str) -> Centre:
    site = load(name)
    if name in ALLIANCE:
        # Several accounts and no default: every job must name one.
        members: tuple[Member, ...] = (Member(account="def-prof"), Member(account="rrg-prof"))
        return _make(site, members, {"SCRATCH": "/scratch/rosa"}, has_default_account=False)
    if name in JSC:
        members = (Member(account="training2441"), Member(account="deepneuro"))
        return _make(site, members, {"SCRATCH": "/p/scratch/training2441"}, has_default_account=False)
    if name == "daint":
        return _make(site, (Member(account="d123"), SPENT), {"SCRATCH": "/scratch/snx3000/rosa"})
    if name == "sdumont":
        members = (Member(account="lncc"), Member(account="dev-only", partition="nvidia_dev"), TIGHT)
        return _make(site, members, {"SCRATCH": "/scratch/lncc/rosa"})
    if name == "wilson":
        return _make(site, tuple(Member(account=one) for one in _WILSON), {"HOME": "/nashome/r/rosa"})
    raise AssertionError(f"say here which accounts the user of the tests has at {name}, and where her files lie")


def _make(
    site: Site, members: tuple[Member, ...], variables: Mapping[str, str], *, has_default_account: bool = True
) -> Centre:
    return Centre(site=site, members=members, variables=variables, has_default_account=has_default_account)
