"""Which files of the project a command runs: the scripts it names, and the local modules those import."""

import ast
import posixpath
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from windlass.core.case import Case
from windlass.core.plan import Plan
from windlass.core.run import RunSpec
from windlass.core.source.code import Code, Language
from windlass.core.source.guards import UNKNOWN, evaluate
from windlass.core.source.options import Options, Words, overrides_defaults, read_arguments, read_words
from windlass.core.source.python_code import read_python
from windlass.core.source.python_module import Call, Guard, Place, PythonModule, Text
from windlass.core.source.shell_commands import ShellCommand, find_exports, read_commands

_MOST_FILES = 300
_MOST_LETTERS = 2_000_000  # of all Python files together: one second or two
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*")
_LONGEST_LITERAL = 1_000
_TAKES_VALUE = frozenset({"-W", "-X", "--check-hash-based-pycs"})
# After these nothing is there that was not there before.
_HARMLESS = frozenset({"cd", "export", "source", ".", "module", "ml", "set", "echo", "mkdir", "ulimit", "nvidia-smi"})


@dataclass(frozen=True, kw_only=True)
class ReachedPython:
    path: str  # "run.command" for code that stands in the command
    module: PythonModule
    is_entry: bool

    def where(self, line: int) -> str:
        return f"{self.path}:{line}"

    @property
    def takes_settings(self) -> bool:
        """Names of the module are set by the command, or by a file that it names: exec(open(…).read())"""
        return any(call.name == "exec" for call in self.module.calls)


@dataclass(frozen=True, kw_only=True)
class ReachedShell:
    path: str  # "run.command" for the command itself
    text: str
    commands: tuple[ShellCommand, ...]

    def where(self, line: int) -> str:
        return f"{self.path}:{line}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Reached:
    python: tuple[ReachedPython, ...] = ()
    shell: tuple[ReachedShell, ...] = ()
    missing: tuple[str, ...] = ()  # scripts the command runs that are not sent
    variables: Mapping[str, str] = field(default_factory=dict)  # that the command, a script or the code sets
    options: Options = field(default_factory=Options)
    constants: Mapping[str, object] = field(default_factory=dict)  # that a file of settings in the command gives
    words: Words = field(default_factory=Words)
    live: frozenset[str] = frozenset()  # functions that something calls or names
    shut: frozenset[Guard] = frozenset()  # conditions that certainly do not hold

    @property
    def arguments(self) -> Mapping[str, str]:
        """Options of the command, or their defaults: "num_workers" -> "4"."""
        return self.options.texts

    def is_live(self, place: Place, file: ReachedPython) -> bool:
        """Not in a function that nothing names, nor in what only runs when the file is started or a switch is given."""
        return self.is_open(place, file) and (place.function is None or place.function in self.live)

    def is_open(self, place: Place, file: ReachedPython) -> bool:
        """No branch around it is certainly not taken."""
        if (place.in_main and not file.is_entry) or place.switches & self.options.off:
            return False
        return self.shut.isdisjoint(place.guards)

    def find_value(self, node: ast.expr | None, file: ReachedPython) -> object:
        """Of a constant, a setting or an option, and what follows from them; UNKNOWN otherwise."""
        return evaluate(node, lambda one: self._look_up(one, file))

    def _look_up(self, node: ast.expr, file: ReachedPython) -> object:
        match node:
            case ast.Name(id=name):
                return self._find_setting(name, file)
            case ast.Attribute(value=ast.Name(id=home) | ast.Attribute(attr=home), attr=name):
                return self.options.values.get(name, UNKNOWN) if home in self.options.namespaces else UNKNOWN
        return UNKNOWN

    def _find_setting(self, name: str, file: ReachedPython) -> object:
        node = file.module.assigned.get(name)
        if not isinstance(node, ast.Constant) or any(name in one.module.stored for one in self.python):
            return UNKNOWN
        if not file.takes_settings:
            return UNKNOWN if name in self.words.flags else node.value
        if name in self.words.given:
            return _read_literal(self.words.given[name])
        if name in self.words.flags or self.words.is_open:
            return UNKNOWN
        return self.constants.get(name, node.value)

    def calls(self) -> Iterator[tuple[ReachedPython, Call]]:
        for file in self.python:
            for call in file.module.calls:
                if self.is_live(call.place, file):
                    yield file, call

    def texts(self) -> Iterator[tuple[ReachedPython, Text]]:
        for file in self.python:
            for text in file.module.texts:
                if self.is_live(text.place, file):
                    yield file, text

    @property
    def modules(self) -> frozenset[str]:
        """All that is imported, by its first word."""
        return frozenset(name for file in self.python for name in file.module.modules)


def look_at_code(case: Case) -> Reached:
    """What the command of this run leads to."""
    return find_reached(case.code, case.spec.command, case.spec.workdir, list_before(case.plan, case.spec))


def list_before(plan: Plan, spec: RunSpec) -> tuple[str, ...]:
    """Shell lines that run before the command; the user's own also where a container runs it inside."""
    own = spec.environment.activate
    return (*plan.activate, own) if own and plan.inside else tuple(plan.activate)


@lru_cache(maxsize=8)
def find_reached(code: Code, command: str, workdir: str = ".", activate: tuple[str, ...] = ()) -> Reached:
    """From the command on; what it does not lead to is passed over."""
    walk = _Walk(code=code, base=_normal(workdir))
    for line in activate:
        walk.shell.append(ReachedShell(path="environment.activate", text=line, commands=read_commands(line)))
    walk.read_shell("run.command", command)
    walk.follow()
    variables: dict[str, str] = {}
    for script in walk.shell:
        variables |= find_exports(script.commands)
    for file in walk.python.values():
        variables |= file.module.variables
    words = read_words(one for script in walk.shell for one in script.commands)
    modules = [file.module for file in walk.python.values()]
    found = Reached(
        python=tuple(walk.python.values()),
        shell=tuple(walk.shell),
        missing=tuple(dict.fromkeys(walk.missing)),
        variables=variables,
        options=read_arguments(modules, words),
        constants=_find_constants(walk),
        words=words,
    )
    found = _judge_branches(found, command)
    if any(overrides_defaults(call, found.options.namespaces) for _, call in found.calls()):
        options = read_arguments(modules, words, are_defaults_sure=False)
        found = _judge_branches(replace(found, options=options), command)
    return found


def _judge_branches(found: Reached, command: str) -> Reached:
    judged = [(test, found.find_value(test, file)) for file in found.python for test in file.module.tests]
    found = replace(found, shut=frozenset((test, not value) for test, value in judged if value is not UNKNOWN))
    return replace(found, live=_find_live(found, command))


@dataclass(kw_only=True)
class _Walk:
    code: Code
    base: str
    python: dict[str, ReachedPython] = field(default_factory=dict)
    shell: list[ReachedShell] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)  # folders that modules are looked for in
    waiting: list[str] = field(default_factory=list)

    def read_shell(self, path: str, text: str) -> None:
        if len(self.shell) >= _MOST_FILES or any(one.path == path for one in self.shell):
            return
        commands = read_commands(text)
        self.shell.append(ReachedShell(path=path, text=text, commands=commands))
        here: str | None = self.base
        is_untouched = True
        for command in commands:
            words = list(command.words)
            if words[:1] == ["cd"]:
                here = self._change(here, words[1:], path)
                continue
            self._read_words(words, here)
            if is_untouched and here is not None and path == "run.command":
                self.missing += self._find_missing(words, here)
            is_untouched = is_untouched and (not words or words[0] in _HARMLESS)

    def _change(self, here: str | None, words: list[str], path: str) -> str | None:
        target = words[0] if len(words) == 1 else ""
        if "dirname" in target:
            return posixpath.dirname(path)
        if here is None or not target or target.startswith(("/", "~", "-")) or "$" in target:
            return None
        return _normal(posixpath.join(here, target))

    def _read_words(self, words: list[str], here: str | None) -> None:
        for at, word in enumerate(words):
            if word == "-m" and at + 1 < len(words):
                self._enter_module(words[at + 1], here)
            elif word == "-c" and at + 1 < len(words) and any(_PYTHON.fullmatch(one) for one in words[:at]):
                self._enter_inline(words[at + 1])
            elif word == "-c" and at + 1 < len(words) and at and posixpath.basename(words[0]) in {"bash", "sh"}:
                self.read_shell(f"run.command, {words[0]} -c", words[at + 1])
            elif path := self._find_file(word, here):
                self._enter(path)
        if words:
            self._enter_console_script(words[0])

    def _find_file(self, word: str, here: str | None) -> str | None:
        word = re.sub(r"^\$(?:\{\w+\}|\w+)/", "", word)
        if word.startswith(("/", "-")) or "$" in word or not word:
            return None
        for folder in dict.fromkeys((here or self.base, self.base, "")):
            path = _normal(posixpath.join(folder, word))
            if path in self.code.by_path:
                return path
        return None

    def _enter(self, path: str) -> None:
        file = self.code.by_path[path]
        if file.language is Language.SHELL:
            self.read_shell(path, file.text)
        elif file.language is Language.PYTHON:
            self._take(path, is_entry=True)

    def _enter_inline(self, text: str) -> None:
        name = "run.command"
        self.python.setdefault(name, ReachedPython(path=name, module=read_python(text), is_entry=True))
        self.waiting.append(name)

    def _enter_module(self, name: str, here: str | None) -> None:
        for folder in dict.fromkeys((here or self.base, self.base, "", "src")):
            stem = _normal(posixpath.join(folder, name.replace(".", "/")))
            for path in (f"{stem}.py", f"{stem}/__main__.py"):
                if path in self.code.by_path:
                    self.roots.append(folder)
                    for package in self._find_modules("", 0, name, ()):
                        self._take(package, is_entry=False)
                    self._take(path, is_entry=True)
                    return

    def _enter_console_script(self, name: str) -> None:
        project = self.code.named("pyproject.toml")
        if project is None or name not in project.text:
            return
        target = _read_console_scripts(project.text).get(name, "")
        self._enter_module(target.partition(":")[0], None)

    def _take(self, path: str, *, is_entry: bool) -> None:
        known = self.python.get(path)
        letters = sum(len(self.code.by_path[one].text) for one in self.python if one in self.code.by_path)
        if known is None and (len(self.python) >= _MOST_FILES or letters > _MOST_LETTERS):
            return
        if known is None or (is_entry and not known.is_entry):
            module = read_python(self.code.by_path[path].text)
            self.python[path] = ReachedPython(path=path, module=module, is_entry=is_entry)
            self.waiting.append(path)
        if is_entry:
            self.roots.append(posixpath.dirname(path))

    def follow(self) -> None:
        """Local imports, until there are no new ones."""
        while self.waiting:
            file = self.python[self.waiting.pop()]
            for level, module, names in file.module.imports:
                for path in self._find_modules(posixpath.dirname(file.path), level, module, names):
                    self._take(path, is_entry=False)

    def _find_modules(self, folder: str, level: int, module: str, names: Collection[str]) -> Iterator[str]:
        roots = list(dict.fromkeys((*self.roots, self.base, "", "src")))
        if level:
            for _ in range(level - 1):
                folder = posixpath.dirname(folder)
            roots = [folder]
        parts = [part for part in module.split(".") if part]
        for root in roots:
            found = False
            for depth in range(1, len(parts) + 1):
                stem = _normal(posixpath.join(root, *parts[:depth]))
                for path in (f"{stem}.py", f"{stem}/__init__.py"):
                    if path in self.code.by_path:
                        found = True
                        yield path
            stem = posixpath.join(root, *parts)
            inner = [_normal(f"{stem}/{name}") for name in names if name != "*"]
            for path in (ending for one in inner for ending in (f"{one}.py", f"{one}/__init__.py")):
                if path in self.code.by_path and (parts or level):
                    found = True
                    yield path
            if found:
                return

    def _find_missing(self, words: list[str], here: str) -> Iterator[str]:
        """A script that python is asked to run, and that is not among the files."""
        script = _find_script(words)
        if script is None or self.code.paths is None or not re.fullmatch(r"[\w./-]+\.py", script):
            return
        if not script.startswith("/") and _normal(posixpath.join(here, script)) not in self.code.paths:
            yield script


def _find_script(words: list[str]) -> str | None:
    """`python -u train.py` -> train.py"""
    if not words or not _PYTHON.fullmatch(words[0]):
        return None
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in {"-m", "-c", "-"}:
            return None
        elif word in _TAKES_VALUE:
            skip = True
        elif not word.startswith("-"):
            return word
    return None


def _read_console_scripts(text: str) -> dict[str, str]:
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    project = values.get("project")
    scripts = project.get("scripts") if isinstance(project, dict) else None
    return {str(key): str(value) for key, value in scripts.items()} if isinstance(scripts, dict) else {}


def _find_constants(walk: _Walk) -> dict[str, object]:
    """Of files beside the script that the command names: `python train.py config/large.py`."""
    files = [file for file in walk.python.values() if file.is_entry and not file.takes_settings]
    found: dict[str, object] = {}
    for file in files:
        # What was set twice, or is no constant, cannot be told.
        found |= dict.fromkeys(file.module.bound, UNKNOWN)
        found |= {name: node.value for name, node in file.module.assigned.items() if isinstance(node, ast.Constant)}
    return found


def _read_literal(text: str) -> object:
    try:
        return ast.literal_eval(text) if len(text) < _LONGEST_LITERAL else UNKNOWN
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def _find_live(found: Reached, command: str) -> frozenset[str]:
    """Names that are used somewhere outside the functions that nobody names."""
    live = {"main", *re.findall(r"[A-Za-z_]\w*", command)}
    pending: list[tuple[str, frozenset[str]]] = []
    for file in found.python:
        for place, words in file.module.mentions.items():
            if not found.is_open(place, file):
                continue
            if place.function is None:
                live |= words
            else:
                pending.append((place.function, words))
    is_growing = True
    while is_growing:
        ready = [words for name, words in pending if name in live]
        pending = [(name, words) for name, words in pending if name not in live]
        is_growing = bool(ready)
        live.update(*ready)
    return frozenset(live)


def _normal(path: str) -> str:
    return "" if (normal := posixpath.normpath(path or ".")) == "." else normal
