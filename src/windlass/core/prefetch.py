"""Fetching for nodes without internet: what is fetched, by which script, and whether it is there and fits the code."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from windlass.core.job import list_software_lines, make_workdir
from windlass.core.offline import (
    LIBRARIES,
    Surroundings,
    choose_offline_env,
    list_login_lines,
    make_cache_env,
    make_kept_folder,
    make_silent_env,
)
from windlass.core.plan import Plan
from windlass.core.prefetched import PrefetchSeen
from windlass.core.run import Prefetch, PrefetchPlace, RunSpec
from windlass.core.shell import format_export, make_shell_argv, quote, quote_all, quote_with_variables
from windlass.core.site import Site
from windlass.core.snapshot import Manifest
from windlass.core.source.code import Code
from windlass.core.source.reach import find_reached, list_before
from windlass_job import wire

_WHOLE_TRAINING = Prefetch()
_CHECKPOINTS = ".windlass-checkpoints"  # not the run's own: what is there is none of ours
# As one process that starts alone finds them: a training that asks for its rank goes on.
_ALONE = {
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "LOCAL_WORLD_SIZE": "1",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29577",
}
# bash inside a container: a way out is a route over anything but loopback.
TELL_OFFLINE = f"""if [ -n "${wire.ENV_OFFLINE}" ]; then
  way=unknown
  [ ! -r /proc/net/route ] || way=
  while read -r name _; do case $name in Iface | lo) ;; *) way=$name ;; esac; done </proc/net/route
  while read -r line; do case ${{line##* }} in lo) ;; *) way=$line ;; esac; done </proc/net/ipv6_route
  [ -n "$way" ] || : >"${wire.ENV_OFFLINE}"
fi 2>/dev/null
exec "$@\""""


def get_prefetch(spec: RunSpec) -> Prefetch:
    return spec.prefetch or _WHOLE_TRAINING


def make_prefetch_id(spec: RunSpec) -> str:
    """Of the run's name and what fetches: the code may change in between, and what was fetched stays."""
    wanted = get_prefetch(spec)
    parts = [spec.name, spec.workdir, wanted.command or f"record {spec.command}", wanted.paths]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


def list_kept_patterns(spec: RunSpec) -> tuple[str, ...]:
    """Of files that are not sent with the code: what fetches fills these folders at the site."""
    base = "" if spec.workdir in ("", ".") else f"/{spec.workdir.strip('/')}"
    return tuple(f"{base}/{name.strip('/')}/" for name in get_prefetch(spec).paths)


def name_card(prefetch_id: str) -> str:
    return f"prefetch-{prefetch_id}.json"


def list_files_that_matter(spec: RunSpec, code: Code, manifest: Manifest) -> dict[str, str]:
    """Those that the training, what fetches and what verifies lead to; where none is found, all of the code."""
    wanted = get_prefetch(spec)
    commands = [one for one in (spec.command, wanted.command, wanted.verify) if one]
    reached = [find_reached(code, command, spec.workdir) for command in commands]
    paths = {file.path for one in reached for file in one.python} | {file.path for one in reached for file in one.shell}
    paths = paths & {file.path for file in manifest.files} or {file.path for file in code.files}
    return {file.path: file.sha256 for file in manifest.files if file.sha256 and file.path in paths}


def add_prefetched(
    plan: Plan, spec: RunSpec, site: Site, *, root: str, code: Code, seen: PrefetchSeen | None = None
) -> Plan:
    """The plan with the variables of caches and trackers, and the folders that were filled before."""
    reached = find_reached(code, spec.command, spec.workdir, list_before(plan, spec))
    found = seen.found if seen else None
    surroundings = Surroundings(
        site=site,
        root=root,
        workdir=make_workdir(plan),
        modules=reached.modules,
        loaded=plan.modules,
        taken={**site.network.env, **dict.fromkeys(spec.secrets, ""), **plan.env, **reached.variables},
        fetched=tuple(found.caches) if found else None,
    )
    env, reasons = choose_offline_env(surroundings)
    kept = {name: f"{make_kept_folder(root, found.id)}/{name}" for name in found.paths} if found else {}
    return replace(plan, offline_env=env, kept=kept, reasons=(*plan.reasons, *reasons))


def choose_place(spec: RunSpec, site: Site) -> PrefetchPlace:
    if (asked := get_prefetch(spec).where) is not None:
        return asked
    return PrefetchPlace.LAPTOP if site.rules.login_internet is False else PrefetchPlace.LOGIN


def make_fetch_script(plan: Plan, spec: RunSpec, *, root: str, is_here: bool) -> str:
    """root: below it lie the caches. is_here: on the laptop, whose environment is the one it is called in."""
    asks = {name: "0" for one in LIBRARIES if not one.is_tracker for name in one.offline if name in plan.env}
    caches = make_cache_env(root)
    env = {**caches, **make_silent_env(".", trackers_only=True), **plan.env, **asks}
    logins = list_login_lines(caches.keys() - plan.env.keys())
    return _make_script(plan, get_prefetch(spec).command or spec.command, env, logins, is_here=is_here)


def make_verify_script(plan: Plan, spec: RunSpec, *, root: str) -> str:
    env = {**make_cache_env(root), **make_silent_env(".", trackers_only=False), **plan.env}
    return _make_script(plan, get_prefetch(spec).verify or spec.command, env, is_here=False)


def _make_script(plan: Plan, command: str, env: Mapping[str, str], before: Sequence[str] = (), *, is_here: bool) -> str:
    """It begins where the command is to run."""
    ours = {wire.ENV_LINK: "1", wire.ENV_LINKS: "1"}
    if plan.checkpoint_folder:
        ours[wire.ENV_CHECKPOINTS] = _CHECKPOINTS
    data = [
        f"export {wire.make_data_variable(one.name)}={quote_with_variables(one.path)}"
        for one in sorted(plan.data, key=lambda one: one.name)
        if not is_here
    ]
    lines = [
        "#!/bin/bash",
        *(() if is_here else list_software_lines(plan)),
        *(f"export {name}={quote_all((value,))}" for name, value in sorted({**_ALONE, **ours}.items())),
        *data,
        *before,
        *(format_export(name, value) for name, value in sorted(env.items())),
        # Last: modules, containers and [run.env] have their say about it before.
        f'export PYTHONPATH="${wire.ENV_HOOK}${{PYTHONPATH:+:$PYTHONPATH}}"',
        f"exec {'' if is_here else _enter_container(plan)}{quote_all(make_shell_argv(command))}",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _enter_container(plan: Plan) -> str:
    """As the run does, but in this folder; inside it is told whether the network is off there."""
    if not plan.inside:
        return ""
    words = ['"$PWD"' if word == make_workdir(plan) else quote(word) for word in plan.inside]
    return f"{' '.join((*words, *map(quote, ('bash', '-c', TELL_OFFLINE, 'windlass'))))} "
