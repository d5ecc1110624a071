"""Which versions of a package a project asks for: requirements, pyproject.toml, locks, conda's lists, modules."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from windlass.core.source.code import Code

_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*([^;#]*)")
_SPECIFIER = re.compile(r"(===|==|~=|>=|<=|!=|<|>|\^|=)\s*v?([\w.*+!-]+)")
_INDEX = re.compile(r"download\.pytorch\.org/whl/(?:\w+/)?(cu\d+|cpu|rocm[\d.]+)")
_LOCKED = re.compile(r'\[\[package\]\]\s+name = "([^"]+)"\s+version = "([^"]+)"')
_MODULE = re.compile(r"(?i)(?:py)?torch(?:-bundle)?/v?(\d+(?:\.\d+)+)(?:.*?cuda[-_/]?(\d+\.\d+))?")
# .../linux-64/pytorch-2.4.0-cuda120_py311h1a2b3c4_200.conda, .../torch-2.4.0-cp311-cp311-manylinux_2_28_x86_64.whl
_CONDA_FILE = re.compile(r"/(?:linux-\w+|noarch)/([a-z0-9_.-]+)-(\d[^-/\s]*)-([^-/\s]+)\.(?:conda|tar\.bz2)")
_WHEEL_FILE = re.compile(r"/([A-Za-z0-9_.]+)-(\d[^-/\s]*)-[^/\s]*(?:linux|none-any)[^/\s]*\.whl")
CONDA_LOCKS = frozenset({"explicit.txt", "conda-lock.yml", "pixi.lock"})  # as they are laid for a client
LOCKS = ("uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock")


@dataclass(frozen=True, kw_only=True)
class Pin:
    """One line that asks for a package."""

    where: str  # "requirements.txt:3"
    specifiers: tuple[tuple[str, tuple[int, ...]], ...] = ()  # ("==", (2, 1, 2)); empty: any version
    build: str | None = None  # "cu118" of +cu118 or of the index, "cpu"
    text: str = ""
    other_index: str | None = None  # neither PyPI nor PyTorch's own: what it has nobody knows

    @property
    def name(self) -> str:
        match = _REQUIREMENT.match(self.text)
        return normal_name(match[1]) if match else ""

    @property
    def exact(self) -> tuple[int, ...] | None:
        """The one version that can be installed."""
        for operator, version in self.specifiers:
            if operator in {"==", "===", "="}:
                return version
        return None

    @property
    def newest(self) -> tuple[int, ...] | None:
        """No version from this one on is taken: (2, 5) of `<2.5`; None: there is no such bound."""
        bounds = []
        for operator, version in self.specifiers:
            if operator in {"<", "<="}:
                bounds.append(version if operator == "<" else (*version, 1))
            elif operator == "~=" and len(version) > 1:
                bounds.append((*version[:-2], version[-2] + 1))
            elif operator == "^" and version:
                bounds.append((version[0] + 1,))
        return min(bounds, default=None)


@lru_cache(maxsize=16)
def find_pins(code: Code, names: tuple[str, ...], *, first: str | None = None) -> tuple[Pin, ...]:
    """All lines that ask for one of these packages; the file called `first`, then locks, then the rest."""
    wanted = {normal_name(name) for name in names}
    files = sorted(
        (one for one in code.files if "/" not in one.path or one.path == first),
        key=lambda one: (one.path != first, one.path not in LOCKS, one.path),
    )
    return tuple(pin for file in files for pin in _read_file(file.path, file.text) if pin.name in wanted)


def normal_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def find_torch_module(modules: Iterable[str]) -> tuple[str, tuple[int, ...], str | None] | None:
    """(the module's name, version, CUDA) of a module such as PyTorch/2.1.2-foss-2023a-CUDA-12.1.1."""
    for name in modules:
        if match := _MODULE.search(name):
            return name, read_version(match[1]), match[2]
    return None


def read_version(text: str) -> tuple[int, ...]:
    """The numbers in front: 2.1.2rc1+cu118 -> (2, 1, 2)"""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part[:9]) for part in found[0].split(".")) if found else ()


def make_pin(where: str, line: str, *, build: str | None = None) -> Pin:
    """line: such as torch==2.1.2+cu118; build: by its index, where the line says nothing of it."""
    match = _REQUIREMENT.match(line)
    rest = match[2] if match else ""
    specifiers = [(operator, version) for operator, version in _SPECIFIER.findall(rest) if operator != "!="]
    own = re.search(r"\+(cu\d+|cpu|rocm[\d.]+)", rest)
    return Pin(
        where=where,
        specifiers=tuple((operator, read_version(version)) for operator, version in specifiers),
        build=own[1] if own else build,
        text=line.strip(),
    )


def read_index(addresses: Iterable[str]) -> str | None:
    """cu126 of the index of PyTorch's among them; of several all, which is no build that anybody knows."""
    found = {match[1] for one in addresses if (match := _INDEX.search(one))}
    return " or ".join(sorted(found)) or None


def find_other_index(addresses: Iterable[str]) -> str | None:
    return next((one for one in addresses if "pypi.org" not in one and not _INDEX.search(one)), None)


def read_conda_files(files: Mapping[str, str]) -> Iterator[Pin]:
    """Of what a conda environment is built from, whatever it is called; a lock alone where there is one."""
    for path, text in files.items():
        if path in CONDA_LOCKS:
            yield from _read_addresses(path, text)
        elif CONDA_LOCKS.isdisjoint(files) and path.endswith((".yml", ".yaml")):
            yield from _read_conda(path, text)
        elif CONDA_LOCKS.isdisjoint(files) and path.endswith(".toml"):
            yield from _read_pixi(path, text)


def _read_file(path: str, text: str) -> Iterator[Pin]:
    base = path.rpartition("/")[2]
    if re.fullmatch(r"requirements.*\.txt|.*requirements\.txt|constraints.*\.txt", base):
        yield from _read_requirements(path, text)
    elif base in {"uv.lock", "poetry.lock", "pdm.lock"}:
        yield from _read_lock(path, text)
    elif base == "pyproject.toml":
        yield from _read_pyproject(path, text)
    elif re.fullmatch(r"env(?:ironment)?.*\.ya?ml", base):
        yield from _read_conda(path, text)
    elif base == "Pipfile":
        yield from _read_pipfile(path, text)


def _read_requirements(path: str, text: str) -> Iterator[Pin]:
    index = _INDEX.search("\n".join(line for line in text.splitlines() if line.lstrip().startswith("-")))
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split(" #")[0].strip()
        if not line or line.startswith(("#", "-")):
            continue
        yield make_pin(f"{path}:{number}", line, build=index[1] if index else None)


def _read_lock(path: str, text: str) -> Iterator[Pin]:
    for match in _LOCKED.finditer(text):
        line = text.count("\n", 0, match.start(1)) + 1
        following = text[match.end() : match.end() + 400].split("[[package]]")[0]
        index = _INDEX.search(following)
        yield make_pin(f"{path}:{line}", f"{match[1]}=={match[2]}", build=index[1] if index else None)


def _read_pyproject(path: str, text: str) -> Iterator[Pin]:
    values = _read_toml(text)
    project = _table(values.get("project"))
    lists = [project.get("dependencies"), *_table(project.get("optional-dependencies")).values()]
    lists += _table(values.get("dependency-groups")).values()
    index = _INDEX.search(text)
    for one in lists:
        for line in one if isinstance(one, list) else ():
            if isinstance(line, str):
                yield make_pin(_locate(path, text, line), line, build=index[1] if index else None)
    poetry = _table(_table(values.get("tool")).get("poetry"))
    yield from _read_named(path, text, _table(poetry.get("dependencies")))


def _read_pipfile(path: str, text: str) -> Iterator[Pin]:
    yield from _read_named(path, text, _table(_read_toml(text).get("packages")))


def _read_named(path: str, text: str, packages: dict[str, Any]) -> Iterator[Pin]:
    for name, given in packages.items():
        version = given.get("version", "") if isinstance(given, dict) else given
        if isinstance(version, str):
            plain = "" if version == "*" else version
            line = f"{name}{plain if not plain or plain[0] in '=<>~^!' else '==' + plain}"
            yield make_pin(_locate(path, text, name), line)


def _read_conda(path: str, text: str) -> Iterator[Pin]:
    """Line by line: YAML is not read here, and the lists of conda are plain."""
    cuda = re.search(r"pytorch-cuda\s*=+\s*(\d+)\.(\d)", text)
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*-\s*['\"]?(?:[\w-]+::)?([A-Za-z][\w.-]*\s*[=<>~!].*|[A-Za-z][\w.-]*)\s*$", line)
        if match:
            wanted = re.sub(r"(?<![=<>~!])=(?!=)", "==", match[1].split("#")[0].strip(" '\""))
            parts = wanted.split("==")
            build = f"cu{cuda[1]}{cuda[2]}" if cuda else None
            yield make_pin(f"{path}:{number}", "==".join(parts[:2]), build=build)


def _read_addresses(path: str, text: str) -> Iterator[Pin]:
    """Of a lock, where each package has the address of its file."""
    for number, line in enumerate(text.splitlines(), 1):
        if match := _CONDA_FILE.search(line):
            cuda = re.match(r"(?:py\S*?_)?cuda_?(\d+)\.?(\d)|(cpu)", match[3])
            build = (cuda[3] or f"cu{cuda[1]}{cuda[2]}") if cuda else None
            yield make_pin(f"{path}:{number}", f"{match[1]}=={match[2]}", build=build)
        elif match := _WHEEL_FILE.search(line):
            yield make_pin(f"{path}:{number}", f"{match[1]}=={match[2].replace('%2B', '+')}")


def _read_pixi(path: str, text: str) -> Iterator[Pin]:
    """What all of its environments have; features are passed over."""
    values = _read_toml(text)
    table = values if path.endswith("pixi.toml") else _table(_table(values.get("tool")).get("pixi"))
    for key in ("dependencies", "pypi-dependencies"):
        yield from _read_named(path, text, _table(table.get(key)))


def _locate(path: str, text: str, word: str) -> str:
    at = text.find(word)
    return f"{path}:{text.count(chr(10), 0, at) + 1}" if at >= 0 else path


def _read_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
