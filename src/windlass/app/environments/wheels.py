"""`wheels`: whether a site's wheelhouse has what is asked for, what it has, and where packages come from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from windlass.app.environments.seen import make_reader
from windlass.app.session import Session
from windlass.core.environment import Recipe, choose_purge, list_modules, narrow_to_nodes
from windlass.core.run import Environment, Wheels
from windlass.core.site import Site
from windlass.core.toml.layers import Flag
from windlass.core.wheels.checking import Report, check_house
from windlass.core.wheels.house import House, find_wheels
from windlass.core.wheels.names import Wheel, normal_name, read_wheel_names, read_wheel_table
from windlass.core.wheels.platform import Platform, make_platform
from windlass.core.wheels.requirements import read_requirements
from windlass.edges.settings import RUN_FILE, load_spec_without_command, load_wanted_environment
from windlass.edges.site_wheels import SitePython, SiteWheels, fetch_needs, fetch_reach, fetch_site_wheels
from windlass.environments.venv_on_nodes import choose_wheels_of_nodes
from windlass.errors import EnvironmentFailed, UsageError

INDEX = "https://pypi.org"
_REACH_S = 8.0
_REACH_LASTS_S = 24 * 3600.0
_MOST_ROUNDS = 12
_MOST_READ = 600  # wheels whose metadata is asked for
_FILES = ("uv.lock", "requirements.txt", "pyproject.toml")


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Where the packages of a venv come from, and why."""

    wheels: Wheels
    reason: str


@dataclass(frozen=True, kw_only=True)
class HouseSeen:
    site: str
    house: House
    platform: Platform
    python: SitePython


@dataclass(frozen=True, kw_only=True)
class Checked:
    site: str
    file: str
    platform: str  # in words
    folders: tuple[str, ...]
    wheels: int  # in the house
    report: Report
    told: tuple[str, ...] = ()


def check_wheels(session: Session, site: Site, environment: Environment, project: Path) -> Checked:
    """Every requirement and what it needs in turn, against the wheelhouse. Builds and sends nothing."""
    name = environment.venv or _find_file(project)
    wanted = read_requirements(name, make_reader(project))
    seen = look_at_house(session, site, environment)
    metadata: dict[str, tuple[str, ...]] = {}
    report = check_house(wanted, seen.house, seen.platform, metadata)
    for _ in range(_MOST_ROUNDS):
        asked = report.unread[: _MOST_READ - len(metadata)]
        if not asked:
            break
        metadata.update(fetch_needs(session.host(site), asked))
        report = check_house(wanted, seen.house, seen.platform, metadata)
    told = [*wanted.told, *([seen.house.problem] if seen.house.problem else [])]
    if wanted.python is not None and not wanted.python.admits(seen.python.version):
        told.append(f"{wanted.python}, and that of {site.name} is {seen.python.version}: nothing would be built")
    if report.unread:
        told.append(f"{len(report.unread)} wheels were not looked into: what they need is not checked")
    if any(not one.file for one in seen.house.wheels):
        told.append(f"{site.software.wheel_command} tells names only: what the wheels need is not checked")
    return Checked(
        site=site.name,
        file=name,
        platform=str(seen.platform),
        folders=seen.house.folders,
        wheels=len(seen.house.wheels),
        report=report,
        told=tuple(told),
    )


def find_in_house(
    session: Session,
    site: Site,
    environment: Environment,
    words: Sequence[str],
    *,
    all_versions: bool,
    any_python: bool,
) -> tuple[HouseSeen, tuple[Wheel, ...]]:
    """As avail_wheels: a name, a pattern or a requirement."""
    from packaging.requirements import InvalidRequirement

    seen = look_at_house(session, site, environment)
    platform = None if any_python else seen.platform
    try:
        return seen, find_wheels(seen.house, words, platform, all_versions=all_versions)
    except InvalidRequirement as problem:
        raise UsageError(f"{str(problem).splitlines()[0]}", hint="windlass wheels find 'numpy<1.23' '*cdf*'") from None


def look_at_house(session: Session, site: Site, environment: Environment) -> HouseSeen:
    """One round trip: the names of all wheels, and the Python that a venv would have."""
    if site.software.wheelhouse is None and site.software.wheel_command is None:
        raise EnvironmentFailed(
            f"{site.name} has no wheelhouse that Windlass knows of",
            hint='wheelhouse = "/FOLDER" under [software] of its site file; or wheels = "laptop" in [environment]',
        )
    found = fetch_site_wheels(session.host(site), site, make_question(environment, site))
    platform = make_platform(found.python.version, found.python.machine, found.python.glibc)
    return HouseSeen(site=site.name, house=_make_house(found), platform=platform, python=found.python)


def make_question(environment: Environment, site: Site) -> Recipe:
    """As much of a recipe as decides which Python it is."""
    asked = environment.system_packages
    system = bool(environment.modules) if asked is None else asked
    return Recipe(
        kind="venv",
        modules=list_modules(environment, site),
        purge_modules=choose_purge(environment, site),
        settings={"python": environment.python or "", "system": "yes" if system else "no"},
    )


def make_question_of(recipe: Recipe) -> Recipe:
    """The same of a whole one: what it has in files decides nothing about the Python."""
    return replace(recipe, files={}, read_private=None)


def choose_wheels(session: Session, site: Site, environment: Environment, *, index: str = INDEX) -> Chosen:
    """Never AUTO. The login node is asked at most once a day, for a few seconds, whether it reaches the index."""
    if environment.wheels is not Wheels.AUTO:
        return Chosen(wheels=environment.wheels, reason="as you say")
    if site.software.wheelhouse is not None:
        return Chosen(wheels=Wheels.WHEELHOUSE, reason=f"{site.name} has wheels of its own: {site.software.wheelhouse}")
    if site.rules.login_internet is False:
        return Chosen(wheels=Wheels.LAPTOP, reason=f"the login nodes of {site.name} have no internet")
    reaches = _ask_reach(session, site, index)
    if reaches is None:
        known = site.rules.login_internet
        wheels = Wheels.LAPTOP if known is None else Wheels.PYPI
        return Chosen(wheels=wheels, reason=f"{site.name} could not be asked whether it reaches PyPI")
    where = "this machine" if site.is_local else f"the login node of {site.name}"
    if reaches:
        return Chosen(wheels=Wheels.PYPI, reason=f"{where} reaches PyPI")
    return Chosen(wheels=Wheels.LAPTOP, reason=f"{where} did not reach PyPI within {_REACH_S:.0f} s")


def choose_wheels_in_jobs(site: Site, asked: Wheels) -> Chosen:
    """The same where a compute node installs them, whatever the login node reaches."""
    chosen = choose_wheels_of_nodes(asked, site)
    if asked is not Wheels.AUTO:
        return Chosen(wheels=chosen, reason="as you say")
    reasons = {
        Wheels.WHEELHOUSE: f"{site.name} has wheels of its own: {site.software.wheelhouse}",
        Wheels.PYPI: f"compute nodes of {site.name} have internet",
        Wheels.LAPTOP: f"compute nodes of {site.name} are not known to have internet",
    }
    return Chosen(wheels=chosen, reason=reasons[chosen])


def _ask_reach(session: Session, site: Site, index: str) -> bool | None:
    key = f"reach:{site.name}:{site.login.host}:{index}"
    kept = session.store.kept(key, max_age_s=_REACH_LASTS_S, kind=bool)
    if kept is not None:
        return kept
    reaches = fetch_reach(session.host(site), site, index, timeout_s=_REACH_S)
    if reaches is not None:
        session.store.keep(key, reaches)
    return reaches


def _make_house(found: SiteWheels) -> House:
    """Where the site's pip names folders of the house itself, only those count: the others are for other processors."""
    files = found.files
    named = {one.rstrip("/") for one in found.python.links}
    if named & set(files):
        files = {folder: names for folder, names in files.items() if folder in named}
    wheels = [wheel for folder, names in files.items() for wheel in read_wheel_names(names, folder)]
    return House(
        folders=tuple(files),
        wheels=tuple(wheels) or read_wheel_table(found.table),
        problem=found.problem,
        installed={normal_name(name): version for name, version in found.python.packages.items()},
    )


def _find_file(project: Path) -> str:
    for name in _FILES:
        if (project / name).is_file():
            return name
    raise UsageError(
        f"{project} has none of {', '.join(_FILES)}",
        hint="windlass wheels check FILE; or venv = FILE in [environment]",
    )


def load_environment(session: Session, project: Path, site_name: str, flags: Sequence[Flag] = ()) -> Environment:
    """[environment] as all layers together say it; a folder without windlass.toml has none."""
    if not (project / RUN_FILE).is_file() and not flags:
        return Environment()
    return load_wanted_environment(project, site_name, session.environ, flags)


def narrow_site(session: Session, project: Path, site: Site) -> Site:
    """To the nodes that a run of the project gets: they decide which environment is meant."""
    if not (project / RUN_FILE).is_file():
        return site
    return narrow_to_nodes(site, load_spec_without_command(project, site.name, session.environ).resources)


def override(
    environment: Environment, *, file: str | None = None, python: str | None = None, modules: Sequence[str] = ()
) -> Environment:
    """What the command line says on top of windlass.toml."""
    changed = replace(environment, venv=file) if file else environment
    changed = replace(changed, python=python) if python else changed
    return replace(changed, modules=tuple(modules)) if modules else changed


def locate(file: str, project: Path, here: Path) -> tuple[Path, str]:
    """(the folder it is read in, its name there) of a file named at the prompt: extras may stand behind it."""
    path, bracket, extras = file.partition("[")
    whole, root = (here / path).resolve(), project.resolve()
    if whole.is_relative_to(root):
        return project, f"{whole.relative_to(root)}{bracket}{extras}"
    return whole.parent, f"{whole.name}{bracket}{extras}"
