"""Site files: those that come with Windlass, and the user's own, which may extend them."""

import errno
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import windlass.sites as shipped
from windlass.core.site import Site
from windlass.core.toml.layers import Layer, merge
from windlass.core.toml.reading import nearest
from windlass.core.toml.site_file import find_problems, read_site
from windlass.edges.folders import Folders
from windlass.edges.settings import Located, locate, make_config_error
from windlass.edges.toml_file import TomlFile, is_there, load_toml, read_toml
from windlass.errors import ConfigError, DiskFull, NotFound, UsageError

DATA_MARK = "@data"
_MOST_EXTENDS = 8


@dataclass(frozen=True, kw_only=True)
class Sites:
    """All that can be read; a broken file does not hide the others."""

    sites: tuple[Site, ...]
    broken: Mapping[str, ConfigError] = field(default_factory=dict)


def load_sites(folders: Folders) -> Sites:
    """Shipped and own, by name."""
    good: list[Site] = []
    broken: dict[str, ConfigError] = {}
    for name in list_site_names(folders):
        try:
            good.append(load_site(name, folders))
        except ConfigError as error:
            broken[name] = error
    return Sites(sites=tuple(good), broken=broken)


def load_site(name: str, folders: Folders) -> Site:
    """The user's own file wins over a shipped one of the same name."""
    path = _find_file(name, folders)
    if path is None:
        raise _make_not_found(name, folders)
    return _make_site(name, _load_chain(name, path, folders), folders)


def list_site_names(folders: Folders) -> list[str]:
    return sorted({path.stem for folder in (_shipped_folder(), folders.sites) for path in _list_files(folder)})


def list_added_names(folders: Folders) -> list[str]:
    """Those with a file of the user's."""
    return sorted(path.stem for path in _list_files(folders.sites))


def add_site(name: str, text: str, folders: Folders, *, replace: bool = False, hint: str | None = None) -> Path:
    """Save a site file of the user's, after reading it. Whole or not at all, and never over another by accident.

    `hint`: the command that would replace it.
    """
    if not _is_site_name(name):
        raise UsageError(f"{name!r:.80} cannot be the name of a site", hint="use letters, digits, - and _")
    path = folders.sites / f"{name}.toml"
    check_site_text(name, text, folders)
    if not replace and is_there(path):
        raise ConfigError(
            f"there is a site {name!r} of yours already: {path}", hint=hint or "the same command with --replace"
        )
    _save(path, text, replace=replace)
    return path


def check_site_text(name: str, text: str, folders: Folders) -> Site:
    """The site such a file would make; everything that is wrong with it as one ConfigError."""
    file = read_toml(text, shown=f"{name}.toml")
    return _make_site(name, _extend([(name, file)], folders), folders)


def _make_site(name: str, files: Sequence[TomlFile], folders: Folders) -> Site:
    """From the file extended last to the one that was asked for."""
    located: list[Located] = [one for file in files for one in locate(file, find_problems(file.values))]
    layers = [
        Layer(label=file.shown, values=_without_name(file, index, files), file=file.shown, line_of=file.line_of)
        for index, file in enumerate(files)
    ]
    merged = merge(layers)
    site = read_site(merged.values, name)
    if isinstance(site, Site) and not located:
        return _fill_marks(site, folders)
    told = find_problems(merged.values)
    for problem in site if not isinstance(site, Site) else ():
        if problem not in told:
            origin = merged.origin_of(problem.path)
            located.append((origin.place if origin else files[-1].shown, problem))
    raise make_config_error(located)


def _without_name(file: TomlFile, index: int, files: Sequence[TomlFile]) -> dict[str, object]:
    """An extended site's name and title are its own."""
    is_last = index == len(files) - 1
    return {key: value for key, value in file.values.items() if key != "extends" and (is_last or key != "name")}


def _load_chain(name: str, path: Path, folders: Folders) -> list[TomlFile]:
    return _extend([(name, load_toml(path, shown=_show(path)))], folders, {path})


def _extend(chain: list[tuple[str, TomlFile]], folders: Folders, seen: set[Path] | None = None) -> list[TomlFile]:
    """Follow `extends` to its end. A file that extends its own name means the shipped one."""
    paths = set(seen or ())
    while isinstance(base := chain[0][1].values.get("extends"), str):
        name, file = chain[0]
        path = _find_file(base, folders, only_shipped=base == name, as_base=True)
        line = file.line_of(("extends",))
        if path is None:
            found = nearest(base, (one for one in list_site_names(folders) if one != name))
            hint = f"did you mean {found!r}?" if found else "windlass sites lists all"
            raise ConfigError(f"{file.shown}:{line} extends {base[:80]!r}, which is no site", hint=hint)
        if path in paths or len(chain) > _MOST_EXTENDS:
            raise ConfigError(f"{file.shown}:{line} extends {base[:80]!r}, which extends it in turn")
        paths.add(path)
        chain.insert(0, (base, load_toml(path, shown=_show(path))))
    return [file for _, file in chain]


def _fill_marks(site: Site, folders: Folders) -> Site:
    if site.root == DATA_MARK or site.root.startswith(DATA_MARK + "/"):
        return replace(site, root=str(folders.data) + site.root.removeprefix(DATA_MARK))
    return site


def _find_file(name: str, folders: Folders, *, only_shipped: bool = False, as_base: bool = False) -> Path | None:
    if not _is_site_name(name.removeprefix("_") if as_base else name):
        return None
    places = (_shipped_folder(),) if only_shipped else (folders.sites, _shipped_folder())
    return next((path for folder in places if is_there(path := folder / f"{name}.toml")), None)


def _is_site_name(name: str) -> bool:
    """A file whose name begins with _ is no site: it holds what several sites share, for them to extend."""
    plain = name.replace("-", "").replace("_", "")
    return name.isascii() and plain.isalnum() and len(name) <= 64 and name[0].isalnum()


def _make_not_found(name: str, folders: Folders) -> NotFound:
    names = list_site_names(folders)
    found = nearest(name, names)
    hint = "windlass site discover HOST drafts one from its Slurm; windlass site add NAME --host HOST makes a small one"
    hint = f"did you mean {found!r}? windlass site discover HOST drafts a new one" if found else hint
    return NotFound(f"there is no site {name[:80]!r}", details=[f"sites: {', '.join(names)}"], hint=hint)


def _shipped_folder() -> Path:
    # importlib.resources is slow to import, and Windlass is not run from a zip
    return Path(shipped.__path__[0])


def _list_files(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.suffix == ".toml" and _is_site_name(path.stem)]
    except OSError:
        return []


def _show(path: Path) -> str:
    return f"sites/{path.name}" if path.parent == _shipped_folder() else path.name


def _save(path: Path, text: str, *, replace: bool) -> None:
    aside = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            aside.replace(path)
        else:
            path.hardlink_to(aside)  # unlike a rename, refuses when somebody was faster
    except FileExistsError:
        raise ConfigError(f"{path} is there already, or is not a folder where one is needed") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"{path} could not be written: {error.strerror}") from error
        raise ConfigError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from error
    finally:
        with suppress(OSError):
            aside.unlink()
