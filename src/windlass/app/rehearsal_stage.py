"""Setting the stage of a rehearsal: folders that stand for the site's, and the world its jobs will see."""

import os
import platform
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from windlass.core.facts import Facts
from windlass.core.rehearsal.stage import HOME, Folder, make_folders, make_root, make_variables
from windlass.core.seen.areas import is_under
from windlass.core.site import Login, Site
from windlass.edges.folders import find_home
from windlass.edges.laptop_software import SYSTEM, find_software
from windlass.edges.local_host import LocalHost
from windlass.pocket import launch
from windlass.pocket import world as worlds
from windlass.pocket.submission import find_submitter
from windlass.pocket.world import Seen, World

_POCKET_INSIDE = "/run/pocket"
_WORLD = "world.json"
_QUESTIONS = "asked"
MODULES = "modules"
# What a job has of the laptop's environment: its Python and its language. A site knows nothing of the rest.
_KEPT_NAMES = ("PATH", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
_KEPT_BEGINNINGS = ("LC_", "CONDA", "PYTHON", "PYENV", "JAVA_HOME")
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy")
_CLOSED_PORT = "http://127.0.0.1:9"
_NAME_SERVICE = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"


@dataclass(frozen=True, kw_only=True)
class Stage:
    folder: Path  # of this rehearsal, on the laptop
    folders: tuple[Folder, ...]
    variables: Mapping[str, str]
    root: str  # for run folders, as jobs see it
    is_closed: bool
    has_network: bool
    pocket_inside: str
    node_folders: tuple[str, ...]

    @property
    def pocket(self) -> Path:
        return self.folder / "pocket"

    @property
    def questions(self) -> Path:
        return self.folder / _QUESTIONS

    def find_outside(self, path: str) -> Path | None:
        """Where a path of the site really lies; None where it is none of the pretended ones."""
        if not self.is_closed:
            return Path(path)
        holding = [one for one in self.folders if is_under(path, one.path)]
        if not holding:
            return self.folder / "areas" / "root" / path.lstrip("/") if is_under(path, self.root) else None
        area = max(holding, key=lambda one: len(one.path))
        return self.folder / "areas" / area.name / path.removeprefix(area.path.rstrip("/")).lstrip("/")


def set_stage(folder: Path, site: Site, facts: Facts, environ: Mapping[str, str]) -> Stage:
    """Folders are made; the world is written down by `write_world`, once all that it shows is known."""
    user = environ.get("USER") or find_submitter().user
    folders = make_folders(site, facts, user)
    has_network = site.rules.compute_internet is True
    is_closed = worlds.is_possible(without_network=not has_network)
    if not is_closed:
        folders = tuple(replace(one, path=str(folder / "areas" / one.name)) for one in folders)
        facts = replace(facts, root=None, home=None)
    variables = make_variables(folders, site, facts, user)
    if not is_closed:
        variables |= {one.name.upper().replace("-", "_"): one.path for one in folders}
    stage = Stage(
        folder=folder,
        folders=folders,
        variables=variables,
        root=make_root(site, facts, variables),
        is_closed=is_closed,
        has_network=has_network,
        pocket_inside=_POCKET_INSIDE if is_closed else str(folder / "pocket"),
        node_folders=_choose_node_folders(site) if is_closed else (),
    )
    _make_folders(stage)
    return stage


def write_world(stage: Stage, site: Site, environ: Mapping[str, str], extra: tuple[Seen, ...] = ()) -> None:
    user = {"LOGNAME": stage.variables["USER"]}
    variables = {**stage.variables, **user, **_make_software_variables(stage, environ)}
    if not stage.is_closed:
        variables |= _make_refusals(stage)
    world = World(
        base=str(stage.folder / "root"),
        is_closed=stage.is_closed,
        seen=(*_list_seen(stage, environ), *extra) if stage.is_closed else (),
        links=_list_links() if stage.is_closed else {},
        has_network=stage.has_network,
        interface=site.network.interface,
        questions=str(stage.questions),
        variables=variables,
        unset=tuple(name for name in environ if not _is_kept(name)),
        pocket=stage.pocket_inside,
    )
    worlds.save_world(stage.folder / _WORLD, world)


def make_host(stage: Stage) -> LocalHost:
    """This machine, seen from inside the world."""
    return LocalHost(inside=launch.command("world", str(stage.folder / _WORLD)))


def make_local_site(stage: Stage, site: Site) -> Site:
    """The site as it is reached in a rehearsal; its script was made from the true one."""
    software = replace(site.software, slurm_path=f"{stage.pocket_inside}/bin", python=sys.executable)
    return replace(site, login=Login(), software=software, rules=replace(site.rules, poll_s=1))


def _choose_node_folders(site: Site) -> tuple[str, ...]:
    """What each node has for itself: /tmp, and the site's local disk where it is a path."""
    local = site.local_scratch
    found = ["/tmp"] if not is_under(str(Path(sys.executable)), "/tmp") else []
    return tuple([*found, local] if local.startswith("/") and local != "/tmp" else found)


def _make_folders(stage: Stage) -> None:
    for name in ("root", "areas", "pocket", "tmp", "etc", "samples", "kept"):
        (stage.folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    for one in stage.folders:
        (stage.folder / "areas" / one.name).mkdir(exist_ok=True)
    outside = stage.find_outside(stage.root)
    if outside is not None:
        outside.mkdir(parents=True, exist_ok=True)
    profile = "# A rehearsal: PATH stays as the laptop has it.\n"
    (stage.folder / "etc" / "profile").write_text(profile, encoding="utf-8")
    (stage.folder / "etc" / "nsswitch.conf").write_text(_NAME_SERVICE, encoding="utf-8")
    (stage.folder / "etc" / "resolv.conf").write_text("nameserver 127.0.0.1\noptions attempts:1 timeout:2\n")
    stage.questions.touch()


def _list_seen(stage: Stage, environ: Mapping[str, str]) -> list[Seen]:
    seen = [Seen(source=f"/{name}", target=f"/{name}") for name in SYSTEM if _is_own_folder(f"/{name}")]
    seen += [Seen(source=f"/{name}", target=f"/{name}", may_write=True) for name in ("proc", "dev", "sys")]
    seen += [Seen(source=str(stage.folder / "tmp"), target=path, may_write=True) for path in ("/tmp", "/var/tmp")]
    seen += [Seen(source=str(path), target=str(path)) for path in find_software(environ, find_home(environ))]
    seen.append(Seen(source=str(stage.pocket), target=stage.pocket_inside, may_write=True))
    seen += [Seen(source="", target=path) for path in stage.node_folders if path != "/tmp"]
    for one in stage.folders:
        holds_root = is_under(stage.root, one.path)
        if one.in_jobs or holds_root:
            source = str(stage.folder / "areas" / one.name)
            seen.append(Seen(source=source, target=one.path, may_write=one.may_write or holds_root))
    if not any(is_under(stage.root, one.path) for one in stage.folders):
        seen.append(Seen(source=str(stage.find_outside(stage.root)), target=stage.root, may_write=True))
    return seen + _list_covered(stage)


def _list_covered(stage: Stage) -> list[Seen]:
    """Files of the system that would let the laptop shine through."""
    names = ["profile"] if stage.has_network else ["profile", "nsswitch.conf", "resolv.conf"]
    found = ((name, os.path.realpath(f"/etc/{name}")) for name in names if os.path.lexists(f"/etc/{name}"))
    return [Seen(source=str(stage.folder / "etc" / name), target=target) for name, target in found]


def _is_own_folder(path: str) -> bool:
    return Path(path).is_dir() and not Path(path).is_symlink()


def _list_links() -> dict[str, str]:
    links = (Path(f"/{name}") for name in SYSTEM)
    return {str(path): str(path.readlink()) for path in links if path.is_symlink()}


def _is_kept(name: str) -> bool:
    return name in _KEPT_NAMES or name.startswith(_KEPT_BEGINNINGS)


def _make_software_variables(stage: Stage, environ: Mapping[str, str]) -> dict[str, str]:
    home = find_home(environ)
    user_packages = home / ".local" if home is not None else None
    if user_packages is None or "PYTHONUSERBASE" in environ or not user_packages.is_dir():
        return {}
    return {"PYTHONUSERBASE": str(user_packages)}


def _make_profile(stage: Stage, path: str) -> str:
    """After the system's own profile, which sets PATH anew and may bring a `module` that knows none of the site's."""
    note = shlex.quote(f"{stage.pocket_inside}/{MODULES}")
    function = f"() {{ printf '%s\\n' \"$*\" >> {note}; }}"
    programs = shlex.quote(f"{stage.pocket_inside}/bin:{path}")
    return f"unset BASH_ENV\nexport PATH={programs}\nmodule{function}\nml{function}\n"


def _make_refusals(stage: Stage) -> dict[str, str]:
    """Where there are no namespaces: what well-behaved programs ask for before they connect."""
    home = stage.folder / "areas" / HOME
    (home / ".bash_profile").write_text(_make_profile(stage, os.environ.get("PATH", "")), encoding="utf-8")
    if not next(one for one in stage.folders if one.name == HOME).may_write:
        home.chmod(0o500)
    if stage.has_network:
        return {}
    proxies = {name: _CLOSED_PORT for word in _PROXIES for name in (word, word.upper())}
    near = f"localhost,127.0.0.1,{platform.node()}"
    hook = str(Path(launch.ROOT) / "windlass" / "pocket" / "hook")
    return {
        **proxies,
        "no_proxy": near,
        "NO_PROXY": near,
        "PYTHONPATH": ":".join(filter(None, (hook, os.environ.get("PYTHONPATH")))),
        "WINDLASS_REHEARSAL_QUESTIONS": str(stage.questions),
    }
