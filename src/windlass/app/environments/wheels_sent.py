"""Wheels by way of the laptop: downloaded here for the site's Python, kept by their sums, and sent."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from windlass.app.environments.wheels import make_question_of
from windlass.app.session import Session
from windlass.app.shipping import Progress, ignore_progress, send_with_contents
from windlass.core.environment import Recipe
from windlass.core.site import Site
from windlass.core.wheels.checking import check_house
from windlass.core.wheels.house import House
from windlass.core.wheels.names import read_wheel_names
from windlass.core.wheels.platform import Platform, make_platform
from windlass.core.wheels.requirements import Requirements, format_constraints, format_line, read_requirements
from windlass.edges.files import explain, save_file
from windlass.edges.host import Host, Request, expect
from windlass.edges.laptop_pip import load_needs, run_download
from windlass.edges.site_wheels import fetch_site_python, find_missing, make_lay
from windlass.errors import SiteNotReady, WheelsMissing

_PIECE = 8_000_000  # what of a large wheel had arrived is not sent again
_CACHE = "wheels"
_MUCH = 50_000_000


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A wheel in the laptop's cache."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, kw_only=True)
class Brought:
    folder: str  # at the site: for --find-links
    files: int
    bytes: int
    sent: int  # bytes that were not there yet


@dataclass(frozen=True, kw_only=True)
class _Piece:
    sha256: str
    path: Path
    begin: int
    size: int

    def load(self) -> bytes:
        with self.path.open("rb") as file:
            file.seek(self.begin)
            return file.read(self.size)


def bring_wheels(session: Session, site: Site, recipe: Recipe, progress: Progress | None = None) -> Brought:
    """All that the recipe's packages need, into ROOT/wheels/ID of the site. The same call goes on after a cut."""
    show = progress or _make_teller(session)
    python = fetch_site_python(session.host(site), site, make_question_of(recipe))
    platform = make_platform(python.version, python.machine, python.glibc)
    wheels = download_wheels(session, _read_list(recipe), platform)
    return send_with_contents(session.tell, lambda: send_wheels(session, site, recipe.id, wheels, progress=show))


def download_wheels(session: Session, found: Requirements, platform: Platform) -> tuple[Kept, ...]:
    """Those of the last time, where nothing that was asked for has changed."""
    cache = session.folders.cache / _CACHE
    listing = cache / "sets" / f"{_make_key(found, platform)}.json"
    # What lies in a folder may be another file of the same name today.
    from_folder = any(one.name == "find-links" and "://" not in one.value for one in found.options)
    if not from_folder and (kept := _load_set(cache, listing)) is not None:
        session.tell(f"{len(kept)} wheels for {platform} were downloaded before")
        return kept
    session.tell(f"downloading wheels for {platform}")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="new-", dir=cache) as folder:
            run_download(found, platform, Path(folder), session.tell)
            _check_all_there(found, platform, Path(folder))
            kept = tuple(_keep(cache, path) for path in sorted(Path(folder).glob("*.whl")))
        listing.parent.mkdir(exist_ok=True)
        save_file(listing, json.dumps([asdict(one) for one in kept]).encode())
    except OSError as problem:
        raise explain(problem, cache) from problem
    return kept


def send_wheels(
    session: Session, site: Site, env_id: str, wheels: tuple[Kept, ...], *, progress: Progress = ignore_progress
) -> Brought:
    host, cache = session.host(site), session.folders.cache / _CACHE
    folder, missing = find_missing(host, site.root, env_id, [asdict(one) for one in wheels])
    wanted = [one for one in wheels if one.name in missing]
    pieces = {one.name: tuple(_cut(_find_path(cache, one))) for one in wanted}
    lacking = _find_lacking(host, site.root, [piece.sha256 for some in pieces.values() for piece in some])
    total = sum(piece.size for some in pieces.values() for piece in some if piece.sha256 in lacking)
    if wanted:
        session.tell(f"sending {len(wanted)} wheels to {site.name}: {total / 1e6:.0f} MB")
    sent = 0
    for one in wanted:
        for piece in pieces[one.name]:
            if piece.sha256 in lacking:
                reply = host.ask([_make_put(site.root, piece)])[0]
                expect(reply, SiteNotReady, f"{one.name} could not be sent to {site.name}")
                sent += piece.size
                progress(sent, total)
        laid = host.ask([make_lay(site.root, env_id, asdict(one), [piece.sha256 for piece in pieces[one.name]])])[0]
        expect(laid, SiteNotReady, f"{one.name} could not be laid at {site.name}")
    return Brought(folder=folder, files=len(wheels), bytes=sum(one.size for one in wheels), sent=sent)


def _make_teller(session: Session) -> Progress:
    """A line for every tenth of what is large."""
    told = 0

    def tell(done: int, total: int) -> None:
        nonlocal told
        if done - told >= max(_MUCH, total // 10):
            told = done
            session.tell(f"sent {done / 1e6:.0f} of {total / 1e6:.0f} MB")

    return tell


def _read_list(recipe: Recipe) -> Requirements:
    if recipe.read_private is not None:
        return recipe.read_private()
    return read_requirements("requirements.txt", recipe.files.get)


def _make_key(found: Requirements, platform: Platform) -> str:
    """Without credentials: another password fetches the same."""
    lines = [*map(str, found.options), *map(format_line, found.lines), format_constraints(found), repr(platform)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:24]


def _load_set(cache: Path, listing: Path) -> tuple[Kept, ...] | None:
    """None: it was never made, or files of it are gone."""
    try:
        kept = tuple(Kept(**one) for one in json.loads(listing.read_text(encoding="utf-8")))
        is_whole = all(_find_path(cache, one).stat().st_size == one.size for one in kept)
    except (OSError, ValueError, TypeError):
        return None
    return kept if is_whole else None


def _check_all_there(found: Requirements, platform: Platform, folder: Path) -> None:
    """By our own reading of what was downloaded: nothing can be fetched later."""
    names = [path.name for path in folder.iterdir()]
    house = House(wheels=read_wheel_names(names))
    report = check_house(found, house, platform, {name: load_needs(folder / name) for name in names})
    if report.missing:
        raise WheelsMissing(
            f"pip left out what {platform} needs",
            details=[f"{', '.join(one.wanted)} (for {', '.join(one.by)})" for one in report.missing],
            hint="name these in your list of packages",
            done="nothing was sent",
        )


def _keep(cache: Path, path: Path) -> Kept:
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    kept = Kept(name=path.name, sha256=sha256, size=path.stat().st_size)
    place = _find_path(cache, kept)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(path, place)
    return kept


def _find_path(cache: Path, wheel: Kept) -> Path:
    return cache / "files" / wheel.sha256 / wheel.name


def _cut(path: Path) -> Iterator[_Piece]:
    with path.open("rb") as file:
        begin = 0
        while content := file.read(_PIECE):
            digest = hashlib.sha256(content).hexdigest()
            yield _Piece(sha256=digest, path=path, begin=begin, size=len(content))
            begin += len(content)


def _find_lacking(host: Host, root: str, hashes: list[str]) -> frozenset[str]:
    if not hashes:
        return frozenset()
    ask = Request(operation="missing_blobs", arguments={"root": root}, payload="\n".join(hashes).encode())
    reply = expect(host.ask([ask])[0], SiteNotReady, f"the folder {root} at {host.name} cannot be used")
    return frozenset(reply.payload.decode().split())


def _make_put(root: str, piece: _Piece) -> Request:
    named = [{"sha256": piece.sha256, "bytes": piece.size}]
    return Request(operation="put_blobs", arguments={"root": root, "blobs": named}, payload=piece.load())
