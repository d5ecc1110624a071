"""The rules of ARCHITECTURE.md that no linter knows."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import windlass
from windlass import api, errors, formats
from windlass.core import site
from windlass.core.launch import Launcher
from windlass.core.run import KINDS_OF_ENVIRONMENT
from windlass.core.toml.run_file import ENVIRONMENT
from windlass.core.watching import alarms
from windlass.environments import KINDS
from windlass.errors import ERRORS, WindlassError
from windlass.formats.form import Format

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "windlass"
JOB = ROOT / "src" / "windlass_job"

PURE = ("core", "checks", "lint", "diagnoses", "advice", "launchers", "schedulers", "environments")
WORLD_CALLS = {"open", "print", "input", "exec", "eval", "breakpoint"}
WORLD_MODULES = {
    *("asyncio", "glob", "http", "logging", "os", "random", "secrets", "select", "shutil", "signal", "socket"),
    *("sqlite3", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid"),
}
WORLD_ATTRIBUTES = {
    *("environ", "getenv"),
    *("read_text", "read_bytes", "write_text", "write_bytes", "mkdir", "unlink", "iterdir", "exists", "is_file"),
}
CLOCK_CALLS = {"now", "today", "utcnow"}  # not as attributes: the time a rule judges by comes in with its case
# Each function (or value) of these rooms must be in the room's catalogue.
CATALOGUES = {
    "checks": "CHECKS",
    "diagnoses": "DIAGNOSES",
    "advice": "ADVICE",
    "lint": "RULES",
    "launchers": "LAUNCHERS",
}
LONGEST_FILE = 400
# Where a checkout, a home or a mirror of somebody's would show.
WORKPLACES = re.compile(
    r"""(?<![\w./$-])/(?:root|Users/\w+|work|workspace|builds|github)/\w
      | --(?:extra-)?index-url | PIP_(?:EXTRA_)?INDEX | trusted-host
      | https?://[^/\s]*(?:artifactory|nexus|mirror|\.internal|\.corp|\.lan)\b
      | https?://[^/\s]+/(?:simple|pypi/simple)\b""",
    re.VERBOSE,
)


def python_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def pure_files() -> list[Path]:
    return [file for room in PURE for file in python_files(SOURCE / room)]


def our_files() -> list[Path]:
    """What is, or would be, committed."""
    listing = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    found = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("this is no git checkout")
    files = (ROOT / name for name in found.stdout.split("\0") if name)
    return [file for file in files if file.is_file() and not file.is_symlink()]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def uses_of_the_world(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in WORLD_CALLS:
                yield f"{name}() in line {node.lineno}"
            case ast.Call(func=ast.Attribute(attr=name)) if name in CLOCK_CALLS:
                yield f".{name}() in line {node.lineno}"
            case ast.Import(names=names):
                for one in names:
                    if one.name.split(".")[0] in WORLD_MODULES:
                        yield f"import {one.name} in line {node.lineno}"
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in WORLD_MODULES:
                yield f"from {module} import in line {node.lineno}"
            case ast.Attribute(attr=attribute) if attribute in WORLD_ATTRIBUTES:
                yield f".{attribute} in line {node.lineno}"


@pytest.mark.parametrize("file", pure_files(), ids=named)
def test_pure_rooms_touch_neither_files_nor_processes_nor_clock(file: Path) -> None:
    assert list(uses_of_the_world(ast.parse(file.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "text",
    ["open('x')", "print(1)", "import subprocess", "from os import environ", "datetime.now()", "path.read_text()"],
)
def test_a_use_of_the_world_is_seen(text: str) -> None:
    assert list(uses_of_the_world(ast.parse(text)))


def words_of_code(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Names and texts, but neither comments nor docstrings: those may name a site as an example."""
    with_docstring = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, with_docstring) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                yield node.lineno, text
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.FunctionDef(name=text) | ast.ClassDef(name=text):
                yield node.lineno, text


def test_no_code_knows_a_site_by_name() -> None:
    # `here` is this very machine: the one site that is always there.
    sites = [file.stem for file in (SOURCE / "sites").glob("*.toml") if file.stem != "here"]
    if not sites:
        pytest.skip("there are no site files")
    pattern = re.compile(rf"(?<![a-z0-9])(?:{'|'.join(map(re.escape, sites))})(?![a-z0-9])", re.IGNORECASE)

    found = [
        f"{named(file)}:{line}: {text[:60]!r}"
        for file in (*python_files(SOURCE), *python_files(JOB))
        for line, text in words_of_code(ast.parse(file.read_text(encoding="utf-8")))
        if pattern.search(text)
    ]

    assert found == []


def test_no_code_knows_a_kind_of_environment_by_name() -> None:
    """What sets a kind apart is a fact of `Kind`: a new one is then one file."""
    found = [
        f"{named(file)}:{node.lineno}: {ast.unparse(node)[:60]}"
        for file in (*python_files(SOURCE), *python_files(JOB))
        if file.parent != SOURCE / "environments"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare) and is_about_a_kind(node)
    ]

    assert found == []


def test_every_kind_of_environment_has_its_key() -> None:
    assert tuple(KINDS) == KINDS_OF_ENVIRONMENT
    assert all(name in ENVIRONMENT for name in KINDS)


def is_about_a_kind(node: ast.Compare) -> bool:
    inside = [part for one in (node.left, *node.comparators) for part in ast.walk(one)]
    asks = any(isinstance(part, ast.Attribute) and part.attr == "kind" for part in inside)
    return asks and any(isinstance(part, ast.Constant) and part.value in KINDS for part in inside)


def written_in(room: str) -> Iterator[tuple[str, object]]:
    """What the modules of a room define for its catalogue: public functions, or launchers where the room has those."""
    package = importlib.import_module(f"windlass.{room}")
    for module_info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(module_info.name)
        for name, value in vars(module).items():
            is_rule = inspect.isfunction(value) and value.__module__ == module.__name__ and room != "launchers"
            if not name.startswith("_") and (is_rule or isinstance(value, Launcher)):
                yield f"{module_info.name}.{name}", value


@pytest.mark.parametrize("room", [room for room in CATALOGUES if (SOURCE / room / "__init__.py").exists()])
def test_what_is_written_is_registered(room: str) -> None:
    catalogue = getattr(importlib.import_module(f"windlass.{room}"), CATALOGUES[room])
    registered = list(catalogue.values() if isinstance(catalogue, dict) else catalogue)

    written = dict(written_in(room))

    assert written, f"nothing is written in {room}: does this test still look at the right place?"
    assert [name for name, value in written.items() if value not in registered] == []


def test_every_format_and_alarm_is_registered() -> None:
    modules = [
        importlib.import_module(f"windlass.formats.{one.name}") for one in pkgutil.iter_modules(formats.__path__)
    ]
    written = {value.name: value for module in modules for value in vars(module).values() if isinstance(value, Format)}
    ours = [value for value in vars(alarms).values() if getattr(value, "__module__", "") == alarms.__name__]
    judges = [one for one in ours if inspect.isgeneratorfunction(one)]

    assert written == formats.FORMATS
    assert judges == list(alarms.ALARMS.values())


def test_the_package_has_every_function_of_the_api() -> None:
    """`windlass.api` is what is promised; `windlass` itself is what people type."""
    functions = [name for name in api.__all__ if inspect.isfunction(getattr(api, name))]

    assert [name for name in functions if name not in windlass.__all__] == []


@pytest.mark.parametrize("room", [room for room in CATALOGUES if (SOURCE / room / "__init__.py").exists()])
def test_each_rule_explains_itself(room: str) -> None:
    silent = [name for name, value in written_in(room) if inspect.isfunction(value) and not inspect.getdoc(value)]

    assert silent == []


def test_every_error_is_registered_once_and_explains_itself() -> None:
    defined = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, WindlassError)]

    assert sorted(kind.code for kind in defined) == list(ERRORS)
    assert set(ERRORS.values()) == set(defined)
    assert [kind.__name__ for kind in defined if "code" not in vars(kind)] == []
    assert [kind.__name__ for kind in defined if not vars(kind).get("__doc__")] == []


@pytest.mark.parametrize("file", python_files(JOB), ids=named)
def test_the_job_package_is_python_3_6(file: Path) -> None:
    ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 6))


@pytest.mark.parametrize("room", ["core", "environments", "app/environments"])
def test_the_map_names_every_module(room: str) -> None:
    told = set(re.findall(r"[`/](\w+)`", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")))

    assert [named(file) for file in python_files(SOURCE / room) if file.stem not in {*told, "__init__"}] == []


def test_every_key_of_a_site_file_is_used_or_shown() -> None:
    of_the_file = {SOURCE / "core" / "site.py", SOURCE / "core" / "toml" / "site_file.py"}
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in python_files(SOURCE) if file not in of_the_file]
    read = {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    tables = [kind for kind in vars(site).values() if inspect.isclass(kind) and is_dataclass(kind)]

    assert [f"{kind.__name__}.{one.name}" for kind in tables for one in fields(kind) if one.name not in read] == []


def test_no_file_is_too_long() -> None:
    code = [file for file in our_files() if file.suffix in {".py", ".sh", ".js", ".html", ".css"}]

    lengths = {named(file): len(file.read_text(encoding="utf-8").splitlines()) for file in code}

    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_every_module_says_what_it_is_about() -> None:
    modules = [file for file in our_files() if file.suffix == ".py" and file.stat().st_size]

    assert [named(file) for file in modules if not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))] == []


def test_no_file_tells_where_it_was_written() -> None:
    found = []
    for file in our_files():
        if file == Path(__file__):
            continue  # the patterns themselves
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if WORKPLACES.search(line) or str(ROOT) in line:
                found.append(f"{named(file)}:{number}: {line.strip()[:100]}")

    assert found == []


def test_no_test_replaces_a_part_of_the_program() -> None:
    found = []
    for file in python_files(ROOT / "tests"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.ImportFrom(module="unittest" | "unittest.mock" | "mock") | ast.Name(id="mocker"):
                    found.append(f"{named(file)}:{node.lineno}")
                case ast.Import(names=names) if any("mock" in one.name for one in names):
                    found.append(f"{named(file)}:{node.lineno}")
                case ast.Attribute(value=ast.Name(id="monkeypatch"), attr="setattr" | "setitem"):
                    found.append(f"{named(file)}:{node.lineno}")

    assert found == []


def test_no_test_imports_the_clusters_fixtures() -> None:
    # An imported fixture is a second one: it would wait for the cluster's lock that the first one holds, forever.
    found = [
        f"{named(file)}:{node.lineno}"
        for file in python_files(ROOT / "tests")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "tests.cluster.fixtures"
    ]

    assert found == []
