"""`modules`: which there are at a site, how one is loaded, and whether those of a run can be."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from windlass.app.session import Session
from windlass.core.modules.answers import read_keyword, read_names, read_spider, read_whatis
from windlass.core.modules.asking import (
    make_details_script,
    make_names_script,
    make_trial_script,
    read_system,
)
from windlass.core.modules.found import (
    FoundModule,
    list_similar,
    make_found,
    merge_mentions,
    pick_names,
    sort_newest_first,
    split_name,
)
from windlass.core.modules.trial import ModulesSeen, read_trial
from windlass.core.shell import is_module
from windlass.core.site import ModuleSystem, Site
from windlass.edges.modules import fetch_answers
from windlass.errors import EnvironmentNotFound, SiteNotReady, UsageError, WindlassError

_LAST_S = 600.0
_TRIAL_S = 60.0
_MOST = 8  # of which it is asked how they are loaded

Ask = Callable[[str], Mapping[str, str]]  # a script of core/modules/asking in, its answers out


@dataclass(frozen=True, kw_only=True)
class ModulesThere:
    site: str
    system: str  # "lmod 8.6.19", "tcl"
    names: tuple[str, ...]  # with their versions; of Lmod's hierarchy all, of Tcl's what is in sight

    @property
    def versions(self) -> dict[str, tuple[str, ...]]:
        """Of each name, the newest first."""
        found: dict[str, list[str]] = {}
        for full in sort_newest_first(self.names):
            name, version = split_name(full)
            found.setdefault(name, []).append(version)
        return {name: tuple(found[name]) for name in sorted(found, key=str.lower)}


@dataclass(frozen=True, kw_only=True)
class ModuleSearch:
    site: str
    system: str
    found: tuple[FoundModule, ...]  # the newest first
    more: tuple[str, ...] = ()  # older ones, of which it was not asked how they are loaded
    similar: tuple[str, ...] = ()  # other names that may be meant
    mentions: Mapping[str, str]  # other modules that speak of it, and what they say


def list_there(session: Session, site_name: str, *, ask: Ask | None = None) -> ModulesThere:
    """All modules of a site; kept ten minutes. ask: how, where not in a login shell."""
    site = session.site(site_name)
    key = _make_key(site, "names")
    kept = session.store.kept(key, max_age_s=_LAST_S, kind=ModulesThere)
    if kept is not None:
        return kept
    answers = (ask or _make_ask(session, site))(make_names_script(site.software.always_load, purge=_purges(site)))
    system = read_system(answers)
    if system is None or "names" not in answers:
        raise SiteNotReady(
            f"the login shell of {site.name} has no `module`",
            hint="modules_on_login = false under [software] of the site file, where only jobs have it",
        )
    there = ModulesThere(site=site.name, system=system, names=read_names(answers["names"]))
    session.store.keep(key, there)
    return there


def find_modules(
    session: Session, site_name: str, wanted: str, *, version: str | None = None, ask: Ask | None = None
) -> ModuleSearch:
    """Modules of that name, those that hold it as an extension, else those that speak of it, with all they need."""
    if not is_module(wanted) or (version is not None and not is_module(version)):
        given = wanted if not is_module(wanted) else version
        raise UsageError(f"{given!r} is no name or version of a module", hint="windlass modules find PyTorch")
    site = session.site(site_name)
    there = list_there(session, site_name, ask=ask)
    ask = ask or _make_ask(session, site)
    word = wanted.partition("/")[0] or wanted
    names = pick_names(there.names, wanted, version)
    found, mentions = _ask_details(site, ask, names[:_MOST], word)
    if not found and mentions and version is None:
        names = sort_newest_first(mentions)
        found, _ = _ask_details(site, ask, names[:_MOST], "")
        found = tuple(replace(one, about=one.about or mentions.get(one.name, "")) for one in found)
    if not found:
        raise _refuse(site, there, wanted, version)
    # Of an extension and the module that has it the same may be told twice.
    found = tuple(dict.fromkeys(found))
    known = {one.name for one in found} | set(names)
    return ModuleSearch(
        site=site.name,
        system=there.system,
        found=found,
        more=names[_MOST:],
        similar=list_similar(there.names, word, but=tuple(known)),
        mentions={name: about for name, about in mentions.items() if name not in known},
    )


def try_modules(session: Session, site: Site, modules: Sequence[str], *, purge: bool) -> ModulesSeen | None:
    """Loaded in a shell that is thrown away. None: nothing to load, or not to be known at the login node."""
    software = site.software
    if not modules or software.modules is ModuleSystem.NONE or not software.modules_on_login:
        return None
    script = make_trial_script(modules, purge=purge)
    key = _make_key(site, hashlib.sha256(script.encode()).hexdigest()[:16])
    kept = session.store.kept(key, max_age_s=_LAST_S, kind=ModulesSeen)
    if kept is not None:
        return kept
    answers = fetch_answers(session.host(site), script, timeout_s=_TRIAL_S)
    seen = read_trial(answers) if answers is not None and read_system(answers) is not None else None
    if seen is None:
        return None
    if seen.failed is not None:
        seen = _find_another(session, site, seen, seen.failed, modules)
    session.store.keep(key, seen)
    return seen


def _find_another(session: Session, site: Site, seen: ModulesSeen, failed: str, modules: Sequence[str]) -> ModulesSeen:
    """What to load instead of the one that failed: itself with what it needs, else another version of it."""
    try:
        names = list_there(session, site.name).names
        name, version = split_name(failed)
        is_there = bool(pick_names(names, name, version or None))
        search = find_modules(session, site.name, name, version=(version or None) if is_there else None)
    except EnvironmentNotFound:
        return replace(seen, near=list_similar(names, failed))
    except WindlassError:
        return seen
    best = min(search.found, key=lambda one: (one.name != failed, split_name(one.name)[0] not in (name, failed)))
    rest = modules[modules.index(failed) + 1 :] if failed in modules else ()
    before = [one for one in modules[: len(modules) - len(rest) - 1] if split_name(one)[0] not in _names_of(best.load)]
    load = tuple(dict.fromkeys((*before, *best.load, *(one for one in rest if one not in best.load))))
    return replace(seen, near=tuple(one.name for one in search.found if one.name != failed), load=load)


def _names_of(load: Sequence[str]) -> set[str]:
    return {split_name(one)[0] for one in load}


def _ask_details(
    site: Site, ask: Ask, names: Sequence[str], word: str
) -> tuple[tuple[FoundModule, ...], Mapping[str, str]]:
    always_load = site.software.always_load
    answers = ask(make_details_script(names, word, always_load, purge=_purges(site)))
    is_lmod = (read_system(answers) or "").startswith("lmod")
    about = answers.get("about", "")
    mentions = merge_mentions(read_keyword(about) if is_lmod else read_whatis(about))
    found = []
    for name in names:
        for one in make_found(name, read_spider(answers.get(f"module {name}", "")), always_load):
            found.append(replace(one, about=one.about or mentions.get(one.name, "")))
    return tuple(found), mentions


def _refuse(site: Site, there: ModulesThere, wanted: str, version: str | None) -> WindlassError:
    word = wanted.partition("/")[0] or wanted
    others = pick_names(there.names, word)
    if others and (version or "/" in wanted):
        asked = version or wanted.partition("/")[2]
        return EnvironmentNotFound(
            f"{site.name} has {word} but no version {asked}: {', '.join(others[:_MOST])}",
            hint=f"windlass modules find {word} --on {site.name}",
        )
    near = list_similar(there.names, wanted)
    return EnvironmentNotFound(
        f"none of the {len(there.names)} modules of {site.name} is called {wanted}, holds it or speaks of it",
        hint=f"windlass modules find {near[0]} --on {site.name}" if near else f"windlass modules list --on {site.name}",
    )


def _make_ask(session: Session, site: Site) -> Ask:
    """In a login shell of the login node."""
    if not site.software.modules_on_login:
        raise SiteNotReady(
            f"modules of {site.name} are there only in jobs; its login node has none",
            hint=f"windlass modules find NAME --on {site.name} --job   # asks by a short job",
        )

    def ask(script: str) -> Mapping[str, str]:
        answers = fetch_answers(session.host(site), script)
        if answers is None:
            raise SiteNotReady(f"the module system of {site.name} did not answer in time; nothing was changed there")
        return answers

    return ask


def _purges(site: Site) -> bool:
    """As jobs do there, unless a run wants otherwise."""
    return site.software.purge_modules


def _make_key(site: Site, what: str) -> str:
    """By what decides the answer: the file of a site may have been replaced."""
    about = hashlib.sha256(repr((site.login, site.software)).encode()).hexdigest()[:16]
    return f"modules:{site.name}:{about}:{what}"
