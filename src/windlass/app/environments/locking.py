"""`env lock`: every package with its version and the sum of its wheel, so that the next build is the same one."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from windlass.app.environments.pythons import check_python
from windlass.app.environments.registry import explain_damage
from windlass.app.environments.seen import make_reader, read_recipe
from windlass.app.environments.wheels import make_question
from windlass.app.session import Session
from windlass.core.environment import Built, Damaged, Lock, Recipe
from windlass.core.run import Environment
from windlass.core.shell import quote
from windlass.core.site import Site
from windlass.core.wheels.platform import make_platform
from windlass.core.wheels.requirements import place_links, read_requirements
from windlass.edges.environments import fetch_built, fetch_listed, fetch_place
from windlass.edges.files import explain, save_file
from windlass.edges.laptop_pip import Pinned, run_resolution
from windlass.edges.site_wheels import fetch_site_python
from windlass.edges.site_work import fetch_root
from windlass.environments import KINDS
from windlass.errors import EnvironmentNotFound, UsageError

_PINS = "requirements.lock"
_HEAD = "# locked by windlass env lock"
_TOOLS = frozenset({"pip", "setuptools", "wheel"})  # of the venv itself: pip refuses to pin them by sum


@dataclass(frozen=True, kw_only=True)
class Locked:
    path: Path
    key: str  # of [environment], which names the file
    count: int
    platform: str  # in words
    source: str
    packages: tuple[Pinned, ...] = ()  # of pip's pins
    left_out: tuple[str, ...] = ()


def lock_resolved(session: Session, site: Site, environment: Environment, project: Path, target: Path) -> Locked:
    """What pip on this laptop would take for the site's Python today."""
    name = environment.venv
    if name is None:
        hint = 'venv = "requirements.txt"; or: windlass env lock FILE'
        if environment.conda is not None:
            hint = f"windlass env lock --built --on {site.name}, when it is built there; conda-lock solves without that"
        raise UsageError("[environment] names no venv", hint=hint)
    found = place_links(read_requirements(name, make_reader(project)), str(project.resolve()))
    python = fetch_site_python(session.host(site), site, make_question(environment, site))
    check_python(session, site, found.python, python)
    platform = make_platform(python.version, python.machine, python.glibc)
    pins = run_resolution(found, platform, session.tell)
    return _save_pins(pins, target, site, source=name, platform=str(platform))


def name_lock(environment: Environment, site: Site, project: Path, *, from_built: bool) -> str:
    recipe = read_recipe(environment, site, project) if from_built else None
    lock = KINDS[recipe.kind].lock if recipe is not None else None
    return lock.name(recipe.platform) if recipe is not None and lock is not None else _PINS


def lock_built(session: Session, site: Site, environment: Environment, project: Path, target: Path) -> Locked:
    """What the environment that was built at the site holds itself."""
    recipe = read_recipe(environment, site, project)
    if recipe is None:
        raise EnvironmentNotFound(f"the environment is not built at {site.name}", hint=_advise_build(site))
    kind = KINDS[recipe.kind]
    if kind.lock is not None:
        return _lock_exactly(session, site, recipe, kind.lock, target)
    if not kind.takes_wheels:
        raise UsageError(
            f"pip's pins of a {recipe.kind} would not build it again: much of it does not come from wheels",
            hint=f"windlass env show --on {site.name} lists what is in it",
        )
    built = _fetch_built(session, site, recipe)
    pins = [
        Pinned(name=name, version=version, sha256=None)
        for name, version in sorted(built.packages.items())
        if name not in _TOOLS and name not in built.outer
    ]
    words = f"Python {built.python or 'unknown'} on {built.platform or 'an unknown processor'}"
    return _save_pins(tuple(pins), target, site, source=built.id, platform=words)


def _fetch_built(session: Session, site: Site, recipe: Recipe) -> Built:
    host = session.host(site)
    built = fetch_built(host, fetch_root(host, site), recipe.id)
    if isinstance(built, Damaged):
        raise explain_damage(site, built)
    if built is None:
        raise EnvironmentNotFound(f"{recipe.id} is not built at {site.name}", hint=_advise_build(site))
    return built


def _advise_build(site: Site) -> str:
    return f"windlass env build --on {site.name}; or leave out --built"


def _lock_exactly(session: Session, site: Site, recipe: Recipe, lock: Lock, path: Path) -> Locked:
    """Also of an environment that nobody built with Windlass, by its name or folder."""
    host, find = session.host(site), KINDS[recipe.kind].find
    if recipe.existing is not None and find is not None:
        source, place = recipe.existing, fetch_place(host, find(recipe, site)).path
    else:
        built = _fetch_built(session, site, recipe)
        source, place = built.id, built.path
    platform = recipe.platform or "its processor"
    head = f"{_HEAD} from {source} for {platform} ({site.name})"
    found = lock.read(fetch_listed(host, lock.make_script(place)), head)
    _write(path, found.text)
    return Locked(
        path=path, key=recipe.kind, count=found.count, platform=platform, source=source, left_out=found.left_out
    )


def refuse_foreign(target: Path, *, force: bool) -> None:
    """A lock of somebody else's is not written over by a slip."""
    if not force and not is_ours(target):
        raise UsageError(
            f"{target} is there, and Windlass did not write it",
            hint=f"windlass env lock -o OTHER, or --force to write over {quote(str(target))}",
            done="nothing was written",
        )


def is_ours(path: Path) -> bool:
    """Nothing is there, or what an earlier lock wrote."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline().startswith(_HEAD)
    except FileNotFoundError:
        return True
    except OSError as problem:
        raise explain(problem, path) from problem


def format_lock(pins: Iterable[Pinned], head: str) -> str:
    """In pip's own format."""
    lines = [f"{_HEAD} {head}\n"]
    for pin in pins:
        end = f" \\\n    --hash=sha256:{pin.sha256}" if pin.sha256 else ""
        lines.append(f"{pin.name}=={pin.version}{end}\n")
    return "".join(lines)


def _save_pins(pins: tuple[Pinned, ...], path: Path, site: Site, *, source: str, platform: str) -> Locked:
    _write(path, format_lock(pins, f"from {source} for {platform} ({site.name})"))
    return Locked(path=path, key="venv", count=len(pins), platform=platform, source=source, packages=pins)


def _write(path: Path, text: str) -> None:
    try:
        save_file(path, text.encode(), mode=None)
    except OSError as problem:
        raise explain(problem, path) from problem
