"""Wheels at a site: what its wheelhouse holds, for which Python it is asked, and those that are sent there."""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from windlass.core.environment import Recipe
from windlass.core.site import Site
from windlass.edges.host import Completed, Host, Json, Reply, Request, expect, make_command, read_completed
from windlass.environments.scripts import load_modules
from windlass.environments.venv_script import find_python
from windlass.errors import EnvironmentFailed, SiteNotReady

_MARK = "windlass-python:"
_LONGEST_S = 120.0
_AT_ONCE = 100  # wheels whose metadata is asked for together

# Run by the Python that a venv there would have, any Python 3. Where pip looks by itself, the site's settings tell.
_PROBE = """
import configparser, json, os, platform, re, sys
links = os.environ.get("PIP_FIND_LINKS", "").split()
settings = configparser.RawConfigParser()
try:
    settings.read(os.environ.get("PIP_CONFIG_FILE", ""))
    for section in ("global", "install"):
        if settings.has_option(section, "find-links"):
            links += settings.get(section, "find-links").split()
except Exception:
    pass
packages = {}
if sys.argv[1] == "yes":
    try:
        from importlib.metadata import distributions
        for one in distributions():
            packages.setdefault(str(one.metadata["Name"]), one.version)
    except ImportError:
        pass
others = set()
for folder in os.environ.get("PATH", "").split(os.pathsep):
    try:
        others.update(name[6:] for name in os.listdir(folder or ".") if re.match(r"python3\\.[0-9]+$", name))
    except OSError:
        pass
told = {"version": platform.python_version(), "machine": platform.machine(), "glibc": platform.libc_ver()[1]}
told.update(path=sys.executable, links=links, packages=packages, others=sorted(others))
print(sys.argv[2] + json.dumps(told))
"""


@dataclass(frozen=True, kw_only=True)
class SitePython:
    """The one that a venv would be made with."""

    version: str  # "3.11.4"
    machine: str
    glibc: str | None = None
    path: str = ""
    links: tuple[str, ...] = ()  # where pip there looks by itself
    packages: dict[str, str] = field(default_factory=dict)  # what its modules bring; empty where that was not asked
    others: tuple[str, ...] = ()  # "3.11": versions that are on the PATH by their number


@dataclass(frozen=True, kw_only=True)
class SiteWheels:
    """Raw: `app/environments/wheels` makes a House of it."""

    python: SitePython
    files: dict[str, list[str]] = field(default_factory=dict)  # names by folder
    table: str = ""  # what the site's own command printed, where there is no folder
    problem: str | None = None


def fetch_site_python(host: Host, site: Site, recipe: Recipe) -> SitePython:
    """One round trip: a login shell with the recipe's modules; `python` and `system` of its settings count."""
    return _read_python(host.ask([_make_python_request(recipe)])[0], site)


def fetch_site_wheels(host: Host, site: Site, recipe: Recipe) -> SiteWheels:
    """The same, and all names of the wheelhouse, in the same round trip."""
    requests = [_make_python_request(recipe)]
    software = site.software
    if software.wheelhouse is not None:
        requests.append(Request(operation="list_wheels", arguments={"folder": software.wheelhouse}, idempotent=True))
    elif software.wheel_command is not None:
        line = f"{software.wheel_command} '*' --all-versions --all-pythons"
        script = "\n".join((*load_modules(recipe), line))
        requests.append(make_command(["bash", "-l", "-c", script], timeout_s=_LONGEST_S, idempotent=True))
    told, *listed = host.ask(requests)
    python = _read_python(told, site)
    if not listed:
        return SiteWheels(python=python, problem=f"{site.name} has no wheelhouse that Windlass knows of")
    if software.wheelhouse is None:
        return _read_table(python, read_completed(listed[0]), str(software.wheel_command))
    reply = expect(listed[0], SiteNotReady, f"the wheelhouse of {site.name} cannot be listed")
    files: dict[str, list[str]] = json.loads(zlib.decompress(reply.payload))
    return SiteWheels(python=python, files=files, problem=reply.values.get("problem"))


def fetch_needs(host: Host, paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What wheels there ask for; one that cannot be read asks for nothing."""
    requests = [
        Request(operation="read_wheels", arguments={"paths": paths[at : at + _AT_ONCE]}, idempotent=True)
        for at in range(0, len(paths), _AT_ONCE)
    ]
    told: dict[str, tuple[str, ...]] = {}
    for reply in host.ask(requests):
        if reply.ok:
            told.update((path, tuple(needs or ())) for path, needs in reply.values["needs"].items())
    return {path: told.get(path, ()) for path in paths}


def find_missing(host: Host, root: str, env_id: str, files: list[Json]) -> tuple[str, tuple[str, ...]]:
    """(the folder of these wheels, the names of those that are not there yet). files: name, size, sha256."""
    request = Request(operation="find_wheels", arguments={"root": root, "id": env_id, "files": files}, idempotent=True)
    reply = expect(host.ask([request])[0], SiteNotReady, f"wheels cannot be laid at {host.name}")
    return str(reply.values["folder"]), tuple(reply.values["missing"])


def make_lay(root: str, env_id: str, file: Json, pieces: Sequence[str]) -> Request:
    arguments = {"root": root, "id": env_id, "name": file["name"], "sha256": file["sha256"], "pieces": list(pieces)}
    return Request(operation="lay_wheel", arguments=arguments)


def fetch_reach(host: Host, site: Site, url: str, *, timeout_s: float) -> bool | None:
    """Whether the login node reaches an address by https; None: it could not be asked."""
    code = (
        "import sys, urllib.error, urllib.request\n"
        "try:\n"
        "    urllib.request.urlopen(sys.argv[1], timeout=float(sys.argv[2]))\n"
        "except urllib.error.HTTPError:\n"
        "    pass\n"
        "except Exception:\n"
        "    sys.exit(3)\n"
    )
    argv = ["bash", "-l", "-c", 'exec "$@"', "bash", site.software.python, "-c", code, url, str(timeout_s)]
    done = read_completed(host.ask([make_command(argv, timeout_s=timeout_s + 5, idempotent=True)])[0])
    if done.timed_out or done.exit_code == 3:
        return False
    return True if done.exit_code == 0 else None


def _make_python_request(recipe: Recipe) -> Request:
    lines = (
        *load_modules(recipe),
        *find_python(recipe.settings.get("python", "")),
        'exec "$windlass_python" -c "$1" "$2" "$3"',
    )
    # The script and what it says of itself come as words, so that nothing is to be quoted.
    words = ["bash", _PROBE, recipe.settings.get("system", "no"), _MARK]
    return make_command(["bash", "-l", "-c", "\n".join(lines), *words], timeout_s=_LONGEST_S, idempotent=True)


def _read_python(reply: Reply, site: Site) -> SitePython:
    done = read_completed(reply)
    for line in reversed(done.out.splitlines()):
        if line.startswith(_MARK):
            told = json.loads(line.removeprefix(_MARK))
            return SitePython(
                version=told["version"],
                machine=told["machine"],
                glibc=told["glibc"] or None,
                path=told["path"],
                links=tuple(told["links"]),
                packages=told["packages"],
                others=tuple(told["others"]),
            )
    raise EnvironmentFailed(
        f"{site.name}: its Python could not be asked" + (" in time" if done.timed_out else ""),
        said=_find_error(done),
        hint=f"windlass site check {site.name}; [environment] modules or python name another one",
        done="nothing was built or sent",
    )


def _find_error(done: Completed) -> str:
    """The last words, and the first of them that is called an error."""
    lines = [line for line in (done.err or done.out).splitlines() if line.strip()]
    named = [line for line in lines if line.startswith("error: ")]
    return "\n".join(named[:1] or lines[-5:])


def _read_table(python: SitePython, done: Completed, command: str) -> SiteWheels:
    if done.exit_code:
        words = (done.err or done.out).strip().splitlines()[-1:] or [f"exit code {done.exit_code}"]
        return SiteWheels(python=python, problem=f"{command}: {words[0]}")
    return SiteWheels(python=python, table=done.out)
