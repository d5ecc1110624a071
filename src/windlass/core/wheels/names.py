"""Names of wheels: package, version and tags out of a file's name, and which of them fits best."""

from collections.abc import Iterable
from dataclasses import dataclass

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from windlass.core.wheels.platform import Platform, list_tags


@dataclass(frozen=True, kw_only=True)
class Wheel:
    """One of a wheelhouse. Its local version (+computecanada) is part of the version, as pip sees it."""

    name: str  # as pip compares it: lower case, with dashes
    version: Version
    build: tuple[int, str] | tuple[()] = ()
    tags: frozenset[str] = frozenset()
    file: str = ""  # its name; empty where only a program told of it
    folder: str = ""  # where it lies

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.file}" if self.folder else self.file

    @property
    def pythons(self) -> frozenset[str]:
        return frozenset(tag.partition("-")[0] for tag in self.tags)

    def find_place(self, platform: Platform) -> int | None:
        """How well it fits: 0 is best; None: it cannot be installed there."""
        places = list_tags(platform)
        return min((places[tag] for tag in self.tags if tag in places), default=None)


def normal_name(name: str) -> str:
    return str(canonicalize_name(name))


def read_wheel_name(file: str, folder: str = "") -> Wheel | None:
    """None: no wheel, or one that pip passes over as well."""
    try:
        name, version, build, tags = parse_wheel_filename(file)
    except (InvalidWheelFilename, InvalidVersion):
        return None
    return Wheel(
        name=str(name),
        version=version,
        build=build,
        tags=frozenset(str(tag) for tag in tags),
        file=file,
        folder=folder,
    )


def read_wheel_names(files: Iterable[str], folder: str = "") -> tuple[Wheel, ...]:
    return tuple(wheel for file in files if (wheel := read_wheel_name(file, folder)))


def read_wheel_table(text: str) -> tuple[Wheel, ...]:
    """What avail_wheels prints: a head with the names of the columns, a line of dashes, then a wheel a line."""
    head: list[str] = []
    wheels: list[Wheel] = []
    for line in text.splitlines():
        words = line.split()
        if not head:
            head = words if words[:2] == ["name", "version"] else []
        elif words and not set(line) <= {"-", " "}:
            wheels += _read_row(dict(zip(head, words, strict=False)))
    return tuple(wheels)


def _read_row(row: dict[str, str]) -> Iterable[Wheel]:
    """Each is said to be for one Python; of the platform the program says nothing: it lists what fits."""
    try:
        version = Version(row["version"])
    except (InvalidVersion, KeyError):
        return
    pythons = [one.strip() for one in row.get("python", "py3").split(",")]
    tags = frozenset(f"{one}-none-any" for one in pythons)
    yield Wheel(name=normal_name(row["name"]), version=version, tags=tags, folder=row.get("arch", ""))
