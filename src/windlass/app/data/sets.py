"""The data sets of a site: listed, told about, given a name, shared and removed."""

from dataclasses import dataclass, field
from pathlib import Path

from windlass.app.refreshing import refresh
from windlass.app.session import Session
from windlass.core.facts import Facts, SeenSet
from windlass.core.seen.areas import find_area
from windlass.core.shell import quote
from windlass.core.site import Site
from windlass.core.toml.reading import nearest
from windlass.edges.data_sets import Sets, make_sets_request, read_sets
from windlass.edges.host import Json, Reply, Request
from windlass.errors import DataFailed, DataInUse, DataNotFound, DiskFull, UsageError, WindlassError

_DAY_S = 86_400.0


@dataclass(frozen=True, kw_only=True)
class KnownSet:
    """One data set of the site's, with what its place means for it."""

    set: SeenSet
    area: str | None = None  # a name of [storage.NAME]
    purge_at: float | None = None  # when the first of its files will be removed if nobody reads it before

    @property
    def name(self) -> str:
        return self.set.name


@dataclass(frozen=True, kw_only=True)
class Listed:
    site: str
    folder: str  # where new ones go
    sets: tuple[KnownSet, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Change:
    """What sharing does to one file or folder."""

    path: str
    old_mode: int
    mode: int
    old_group: str
    group: str


@dataclass(frozen=True, kw_only=True)
class Shared:
    set: SeenSet
    changes: tuple[Change, ...]  # at most 500 of them
    count: int
    blocked: tuple[str, ...] = ()  # folders above it that keep the others out
    is_done: bool = False


@dataclass(frozen=True, kw_only=True)
class Sharing:
    """With whom: a Unix group, or everybody at the site."""

    group: str | None = None
    with_all: bool = False
    undo: bool = False
    apply: bool = True


@dataclass(frozen=True, kw_only=True)
class Removed:
    name: str
    path: str
    files: int | None
    bytes: int | None
    only_the_name: bool = False  # what it pointed to is as it was
    users: tuple[str, ...] = field(default=())
    kept: tuple[str, ...] = ()  # the first of what lies in its folder, is not the data set's, and stays


def list_sets(session: Session, site: Site) -> Listed:
    """In one round trip: what lies there, when it was used last, who may read it."""
    found, facts = _ask(session, site, None)
    known = tuple(_place(one, site, facts) for one in found.sets)
    return Listed(site=site.name, folder=found.folder, sets=known, names=found.names)


def find_set(session: Session, site: Site, what: str) -> KnownSet:
    """By its name, or by its path at the site."""
    is_path = what.startswith(("/", "~", "$"))
    found, facts = _ask(session, site, what, elsewhere={what: what} if is_path else {})
    known = next((one for one in found.sets if one.name == what), None)
    if known is None or (is_path and known.kind == "missing"):
        raise _make_not_found(what, site, found.names)
    return _place(known, site, facts)


def register_set(
    session: Session, site: Site, name: str, path: str, *, description: str | None = None, replace: bool = False
) -> KnownSet:
    """A name for what lies elsewhere at the site."""
    if not path.startswith(("/", "~", "$")):
        whole = Path(path).absolute() if site.is_local else f"/PATH/TO/{path}"
        raise UsageError(
            f"{path[:200]!r} is no absolute path at {site.name}",
            hint=f"windlass data register {name} {quote(str(whole))} --on {site.name}",
            done="nothing was registered",
        )
    arguments: Json = {
        "root": site.root,
        "name": name,
        "path": path,
        "description": description,
        "replace": replace,
    }
    hint = f"windlass data register {name} {path} --replace --on {site.name}"
    _do(session, site, "register_set", arguments, f"{name} was not registered", hint=hint)
    return find_set(session, site, name)


def unregister_set(session: Session, site: Site, name: str) -> str | None:
    """Where it lies: it stays there."""
    known = find_set(session, site, name).set
    if not known.is_pointer or known.of_the_site:
        why = "the site file names it" if known.of_the_site else f"it lies in {known.path} itself"
        hint = None if known.of_the_site else f"windlass data rm {name} --on {site.name}"
        raise UsageError(f"{name} is not only a name: {why}", hint=hint, done="nothing was changed")
    reply = _do(session, site, "unregister_set", {"root": site.root, "name": name}, f"{name} is still registered")
    path: str | None = reply.values.get("path")
    return path


def look_before_removing(session: Session, site: Site, name: str) -> Removed:
    """What would go. Raises DataInUse when a run that lives reads it."""
    known = find_set(session, site, name).set
    if known.of_the_site:
        raise UsageError(f"{name} is the centre's own: the site file names {known.path}", done="nothing was removed")
    users = find_users(session, site, name, known.path)
    if users:
        raise DataInUse(
            f"{name} is read by {', '.join(users)}",
            hint=f"windlass wait {users[0]}, or windlass cancel {users[0]}",
            done="nothing was removed",
        )
    size = known.archived if known.archived is not None else known.bytes
    kept: tuple[str, ...] = ()
    if not known.is_pointer:
        kept = _do_remove(session, site, name, apply=False)
    return Removed(name=name, path=known.path, files=known.files, bytes=size, only_the_name=known.is_pointer, kept=kept)


def remove_set(session: Session, site: Site, removed: Removed) -> None:
    """What is not the data set's stays where it is."""
    if removed.only_the_name:
        arguments = {"root": site.root, "name": removed.name}
        _do(session, site, "unregister_set", arguments, f"{removed.name} could not be removed")
    else:
        _do_remove(session, site, removed.name, apply=True)


def _do_remove(session: Session, site: Site, name: str, *, apply: bool) -> tuple[str, ...]:
    arguments = {"root": site.root, "name": name, "apply": apply}
    told = _do(session, site, "remove_set", arguments, f"{name} could not be removed").values
    more = int(told["count"]) - len(told["kept"])
    return (*told["kept"], *([f"{more} more"] if more > 0 else ()))


def share_set(session: Session, site: Site, name: str, sharing: Sharing) -> Shared:
    """Modes and group; with `apply` False only what would change."""
    known = find_set(session, site, name).set
    arguments: Json = {
        "root": site.root,
        "name": name,
        "group": sharing.group,
        "with_whom": "all" if sharing.with_all else "group",
        "undo": sharing.undo,
        "apply": sharing.apply,
    }
    what = "it was never shared by Windlass" if sharing.undo else f"{name} could not be shared"
    told = _do(session, site, "share_set", arguments, what).values
    return Shared(
        set=known,
        changes=tuple(_read_change(one) for one in told["changes"]),
        count=int(told["count"]),
        blocked=tuple(told["blocked"]),
        is_done=sharing.apply,
    )


def _ask(session: Session, site: Site, name: str | None, elsewhere: dict[str, str] | None = None) -> tuple[Sets, Facts]:
    request = make_sets_request(site, None if name is None else [name])
    request.arguments["elsewhere"].update(elsewhere or {})
    look = Request(operation="facts", arguments={"root": site.root}, idempotent=True)
    machine, sets = session.host(site).ask([look, request])
    seen = machine.values if machine.ok else {}
    facts = Facts(user=seen.get("user"), home=seen.get("home"), root=seen.get("root"))
    return read_sets(sets, site), facts


def _place(one: SeenSet, site: Site, facts: Facts) -> KnownSet:
    area = find_area(one.path, site, facts)
    purge_at = None
    if area is not None and area.purge_days is not None and one.oldest_use is not None:
        purge_at = one.oldest_use + area.purge_days * _DAY_S
    return KnownSet(set=one, area=area.name if area else None, purge_at=purge_at)


def find_users(session: Session, site: Site, name: str, path: str) -> tuple[str, ...]:
    """Runs that wait or run: those this laptop knows, and those whose agent says so."""
    arguments = {"root": site.root, "name": name, "path": path}
    reply = _do(session, site, "find_users", arguments, "the runs that read it cannot be listed")
    named: list[Json] = reply.values["runs"]
    if not named:
        return ()
    refresh(session, session.store.live_runs(site.name))
    live = {record.run_id for record in session.store.live_runs(site.name)}
    return tuple(str(one["run_id"]) for one in named if one["is_running"] or one["run_id"] in live)


def _do(session: Session, site: Site, operation: str, arguments: Json, what: str, *, hint: str | None = None) -> Reply:
    reply = session.host(site).ask([Request(operation=operation, arguments=arguments)])[0]
    if reply.ok:
        return reply
    kinds: dict[str, type[WindlassError]] = {"not-found": DataNotFound, "no-space": DiskFull, "exists": UsageError}
    kind = kinds.get(reply.kind, DataFailed)
    listing = f"windlass data ls --on {site.name}"
    raise kind(f"{what}: {reply.problem}", hint=hint if reply.kind == "exists" else listing, done="nothing was changed")


def _make_not_found(what: str, site: Site, names: tuple[str, ...]) -> DataNotFound:
    close = nearest(what, names)
    listing = f"windlass data ls --on {site.name}"
    bring = f"windlass data send FOLDER --name {what} --on {site.name}"
    return DataNotFound(
        f"{site.name} has no data set {what[:200]!r}",
        details=[f"there are: {', '.join(names[:20])}"] if names else [],
        hint=f"did you mean {close!r}?" if close else listing if names or "/" in what else bring,
    )


def _read_change(told: Json) -> Change:
    return Change(
        path=str(told["path"]),
        old_mode=int(told["old_mode"]),
        mode=int(told["mode"]),
        old_group=str(told["old_group"]),
        group=str(told["group"]),
    )
