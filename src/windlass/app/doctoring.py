"""`doctor`: is this laptop ready, and is a site? Each line with a verdict, the reason, and a command that helps."""

import time
from collections.abc import Iterator
from pathlib import Path

from windlass import __version__
from windlass.app.checking_site import check_site
from windlass.app.session import Session
from windlass.app.verdicts import Line, fail, ok, skip, warn
from windlass.core.site import Site
from windlass.edges.folders import find_home
from windlass.edges.host import Request
from windlass.edges.laptop import describe_python, find_open_keys, find_outer_job, find_program, look_at_place
from windlass.edges.settings import RUN_FILE, find_project, load_run_spec
from windlass.edges.site_files import load_sites
from windlass.errors import WindlassError

_FEW_MB = 500
_ROUND_TRIPS = 5
_SLOW_MS = 1000


def examine_laptop(session: Session, where: Path) -> list[Line]:
    return [
        ok("windlass", f"{__version__}, Python {describe_python()}"),
        *_check_programs(session),
        *_check_keys(session),
        *_check_folders(session),
        _check_store(session),
        *_check_sites(session),
        _check_pocket(session),
        *_check_project(session, where),
        *_check_surroundings(session),
    ]


def examine_site(session: Session, name: str) -> list[Line]:
    """`site check`, and what the way there is like."""
    site = session.site(name)
    lines = check_site(session, name)
    return [*_check_way(session, site), *lines] if not site.is_local else lines


def _check_programs(session: Session) -> Iterator[Line]:
    ssh = find_program("ssh", ["-V"], session.environ)
    if ssh.path is None:
        yield fail("ssh", "not on the PATH: no site can be reached", "apt install openssh-client")
    else:
        yield ok("ssh", ssh.version or ssh.path)
    git = find_program("git", ["--version"], session.environ)
    if git.path is None:
        yield warn("git", "not on the PATH: runs are kept without their commit", "apt install git")
    else:
        yield ok("git", git.version or git.path)


def _check_keys(session: Session) -> Iterator[Line]:
    for key in find_open_keys(find_home(session.environ)):
        yield warn("ssh keys", f"others can read {key}; ssh will not use it", f"chmod 600 {key}")


def _check_folders(session: Session) -> Iterator[Line]:
    folders = session.folders
    for what, folder in (("settings", folders.config), ("records", folders.state), ("runs here", folders.data)):
        place = look_at_place(folder)
        free = "" if place.free_mb is None else f", {place.free_mb / 1000:.1f} GB free"
        if not place.is_writable:
            yield fail(what, f"{folder} cannot be written to", f"ls -ld {folder}")
        elif place.free_mb is not None and place.free_mb < _FEW_MB:
            yield warn(what, f"{folder}{free}", f"df -h {folder}")
        else:
            yield ok(what, f"{folder}{free}")


def _check_store(session: Session) -> Line:
    try:
        live = len(session.store.live_runs())
    except WindlassError as problem:
        return fail("store", problem.message, problem.hint)
    return ok("store", f"can be read; {live} run{'' if live == 1 else 's'} not yet ended")


def _check_sites(session: Session) -> Iterator[Line]:
    found = load_sites(session.folders)
    yield ok("sites", ", ".join(site.name for site in found.sites))
    for name, problem in found.broken.items():
        yield fail("sites", f"{name}: {'; '.join((problem.message, *problem.details))}", problem.hint)


def _check_pocket(session: Session) -> Line:
    """The small Slurm of this machine, really asked."""
    try:
        facts = session.facts(session.site("here"), max_age_s=0)
    except WindlassError as problem:
        return fail("pocket", problem.message, problem.hint)
    one = next(iter(facts.partitions or ()), None)
    if one is None:
        return fail("pocket", "it answers, but tells of no partition", "windlass pocket sinfo")
    gpus = ", ".join(f"{count} x {kind or 'GPU'}" for kind, count in one.gpus) or "no GPU"
    return ok("pocket", f"{one.cpus_per_node} CPUs, {(one.memory_mb_per_node or 0) / 1000:.0f} GB, {gpus}")


def _check_project(session: Session, where: Path) -> Iterator[Line]:
    project = find_project(where, session.environ)
    if project is None:
        yield skip("project", f"no {RUN_FILE} here or above", "windlass init")
        return
    try:
        spec, _ = load_run_spec(project, None, session.environ)
    except WindlassError as problem:
        yield fail("project", "; ".join((problem.message, *problem.details)), problem.hint)
        return
    yield ok("project", f"{project / RUN_FILE}: {spec.name}")


def _check_surroundings(session: Session) -> Iterator[Line]:
    job = find_outer_job(session.environ)
    if job:
        yield warn(
            "allocation",
            f"this shell sits inside job {job}; what is submitted from here is kept free of its variables",
            "exit",
        )
    for name in ("SBATCH_PARTITION", "SBATCH_ACCOUNT", "SBATCH_QOS", "SBATCH_TIMELIMIT"):
        if session.environ.get(name):
            yield warn("variables", f"{name}={session.environ[name]} is set; Windlass does not pass it on")


def _check_way(session: Session, site: Site) -> Iterator[Line]:
    """How long one question takes on the open connection."""
    if site.login.vpn:
        yield skip("vpn", f"connect first: {site.login.vpn}")
    try:
        host = session.host(site)
        host.ask([])  # opens the connection, which is not what is measured
        took = sorted(_time_question(session, site) for _ in range(_ROUND_TRIPS))
    except WindlassError:
        return  # `site check` tells why, in its own line
    middle = took[len(took) // 2] * 1000
    words = f"{middle:.0f} ms for one question on the shared connection"
    yield warn("way", f"{words}: slow; everything will wait for it") if middle > _SLOW_MS else ok("way", words)


def _time_question(session: Session, site: Site) -> float:
    began = time.perf_counter()
    session.host(site).ask([Request(operation="expand", arguments={"texts": ["$HOME"]}, idempotent=True)])
    return time.perf_counter() - began
