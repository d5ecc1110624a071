"""The settings of a run: the project's windlass.toml, the user's config.toml, variables and flags, put together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from windlass.core.names import make_slug
from windlass.core.notices import Notices
from windlass.core.run import Environment, RunSpec
from windlass.core.toml.layers import Flag, Layer, Merged, Origin, make_environ_layer, make_flags_layer, merge
from windlass.core.toml.reading import FromText, Problem
from windlass.core.toml.reading import Path as KeyPath
from windlass.core.toml.run_file import EXCLUSIVE, SECTIONS, find_problems, make_defaults, read_run
from windlass.core.toml.user_file import SECTION as NOTICES
from windlass.core.toml.user_file import read_notices
from windlass.edges.folders import find_folders, find_home
from windlass.edges.toml_file import TomlFile, is_there, load_toml
from windlass.errors import ConfigError
from windlass_job import wire

RUN_FILE = "windlass.toml"
USER_FILE = "config.toml"
_NOT_SETTINGS = frozenset(value for name, value in vars(wire).items() if name.startswith("ENV_"))
_MOST_SHOWN = 30
_BEGIN = "windlass init writes a windlass.toml for this folder"
_COMMAND = Flag(key="run.command", value="true")

Located = tuple[str, Problem]


def find_project(start: Path, environ: Mapping[str, str]) -> Path | None:
    """The nearest folder upwards with a windlass.toml; not beyond the git repository, nor in home by accident."""
    home = find_home(environ)
    here = start.absolute()
    for folder in (here, *here.parents):
        if folder != here and (folder == home or _is_open_to_all(folder)):
            return None
        if _has(folder, RUN_FILE):
            return folder
        if _has(folder, ".git"):
            return None
    return None


def load_run_spec(
    project: Path, site_name: str | None, environ: Mapping[str, str], flags: Sequence[Flag] = ()
) -> tuple[RunSpec, dict[str, Origin]]:
    """The run as all layers together want it; one ConfigError lists everything that is wrong in any of them."""
    layers, located = _load_layers(project, site_name, environ, flags)
    merged = merge(layers, EXCLUSIVE)
    spec = read_run(merged.values)
    if isinstance(spec, RunSpec) and not located:
        return spec, merged.origins
    if not isinstance(spec, RunSpec):
        told = find_problems(merged.values)
        located += [(_find_place(merged, problem.path), problem) for problem in spec if problem not in told]
    if _is_all_missing(project, located):
        raise ConfigError(f"there is no {RUN_FILE} in this folder or above it", hint=_BEGIN)
    raise make_config_error(located, hint=_advise(project, located))


def load_wanted_environment(
    project: Path, site_name: str | None, environ: Mapping[str, str], flags: Sequence[Flag] = ()
) -> Environment:
    """[environment] alone."""
    return load_spec_without_command(project, site_name, environ, flags).environment


def load_spec_without_command(
    project: Path, site_name: str | None, environ: Mapping[str, str], flags: Sequence[Flag] = ()
) -> RunSpec:
    """All but the command: of a project whose windlass.toml has none too, because it holds only notebooks."""
    if not any(flag.key == _COMMAND.key for flag in flags):
        flags = (*flags, _COMMAND)
    return load_run_spec(project, site_name, environ, flags)[0]


def load_settings(
    project: Path, site_name: str | None, environ: Mapping[str, str], flags: Sequence[Flag] = ()
) -> tuple[dict[str, object], dict[str, Origin]]:
    """Every value that is set, by its dotted key, and where it came from; problems are told as for a run."""
    load_run_spec(project, site_name, environ, flags)
    layers, _ = _load_layers(project, site_name, environ, flags)
    merged = merge(layers, EXCLUSIVE)
    return {key: _find_value(merged.values, origin.path) for key, origin in merged.origins.items()}, merged.origins


def load_site_name(project: Path, environ: Mapping[str, str]) -> str | None:
    """[run] site = "…" of the project or the user, or WINDLASS_RUN_SITE; None: nobody said."""
    layers, _ = _load_layers(project, None, environ, ())
    run = merge(layers).values.get("run")
    name = run.get("site") if isinstance(run, Mapping) else None
    return str(name) if isinstance(name, str) and name else None


def load_named_sites(project: Path, environ: Mapping[str, str]) -> frozenset[str]:
    """Those with a [site.NAME] in the project's or the user's file, and the one where runs go. ConfigError."""
    tables = [file.values.get("site") for file in _load_files(project, environ)]
    named = {name for table in tables if isinstance(table, Mapping) for name in table}
    chosen = load_site_name(project, environ)
    return frozenset(named | ({chosen} if chosen else set()))


def load_notices(environ: Mapping[str, str]) -> Notices | None:
    """[notices] of config.toml; None where nothing is said of them. ConfigError lists what is wrong."""
    path = find_folders(environ).config_file
    if not is_there(path):
        return None
    file = load_toml(path, shown=USER_FILE)
    notices, problems = read_notices(file.values)
    if problems:
        raise make_config_error(list(locate(file, problems)))
    return notices


def make_config_error(located: Sequence[Located], *, hint: str | None = None) -> ConfigError:
    """`windlass.toml:15  resources.gpuz   unknown key; did you mean "gpus"?`, one line a problem, in columns."""
    files = {place.partition(":")[0] for place, _ in located}
    count = "1 problem" if len(located) == 1 else f"{len(located)} problems"
    file = files.pop() if len(files) == 1 else ""
    subject = f"{file} has" if file.endswith(".toml") else "there is" if len(located) == 1 else "there are"
    suffix = "" if subject.endswith("has") else " in the settings"
    rows = [(place, _format_subject(problem), problem.message) for place, problem in located[:_MOST_SHOWN]]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    details = [f"{place:{widths[0]}}  {key:{widths[1]}}   {message}" for place, key, message in rows]
    if len(located) > _MOST_SHOWN:
        details.append(f"and {len(located) - _MOST_SHOWN} more")
    return ConfigError(f"{subject} {count}{suffix}", details=details, hint=hint)


def locate(file: TomlFile, problems: Iterable[Problem]) -> Iterator[Located]:
    for problem in problems:
        line = file.line_of(problem.path)
        yield (f"{file.shown}:{line}" if line else file.shown), problem


def _find_value(values: object, path: KeyPath) -> object:
    for key in path:
        values = values[key] if isinstance(values, Mapping) else None
    return str(values) if isinstance(values, FromText) else values


def _load_layers(
    project: Path, site_name: str | None, environ: Mapping[str, str], flags: Sequence[Flag]
) -> tuple[list[Layer], list[Located]]:
    files = _load_files(project, environ)
    variables = make_environ_layer(environ, SECTIONS, ignored=_NOT_SETTINGS)
    given = make_flags_layer(flags)
    located = [one for file in files for one in locate(file, _find_problems(file))]
    for layer in (variables, given):
        located += [(_find_name(layer, one.path), one) for one in find_problems(layer.values)]
    name = {"name": make_slug(project.absolute().name)}
    layers = [Layer(label="default", values=_with_name(make_defaults(), name))]
    layers += [Layer(label=file.shown, values=_general(file), file=file.shown, line_of=file.line_of) for file in files]
    if site_name is not None:
        layers += [_make_site_layer(file, site_name) for file in files]
    return [*layers, variables, given], located


def _load_files(project: Path, environ: Mapping[str, str]) -> list[TomlFile]:
    """Those of config.toml and windlass.toml that exist; a run may be told by flags alone."""
    user = find_folders(environ).config_file
    wanted = ((user, USER_FILE), (project / RUN_FILE, RUN_FILE))
    return [load_toml(path, shown=shown) for path, shown in wanted if is_there(path)]


def _find_problems(file: TomlFile) -> tuple[Problem, ...]:
    """config.toml holds more than what is about runs."""
    if file.shown != USER_FILE:
        return find_problems(file.values)
    of_runs = {key: value for key, value in file.values.items() if key != NOTICES}
    return (*find_problems(of_runs), *read_notices(file.values)[1])


def _general(file: TomlFile) -> dict[str, object]:
    return {key: value for key, value in file.values.items() if key not in ("site", NOTICES)}


def _make_site_layer(file: TomlFile, name: str) -> Layer:
    sites = file.values.get("site")
    values = sites.get(name) if isinstance(sites, Mapping) else None
    return Layer(
        label=f"site {name}",
        values=values if isinstance(values, Mapping) else {},
        file=file.shown,
        line_of=file.line_of,
        below=("site", name),
    )


def _with_name(defaults: dict[str, object], name: dict[str, str]) -> dict[str, object]:
    run = defaults.get("run")
    return {**defaults, "run": {**(run if isinstance(run, Mapping) else {}), **name}}


def _find_name(layer: Layer, path: KeyPath) -> str:
    for length in range(len(path), 0, -1):
        if path[:length] in layer.names:
            return layer.names[path[:length]]
    return next((name for key, name in layer.names.items() if key[: len(path)] == path), layer.label)


def _find_place(merged: Merged, path: KeyPath) -> str:
    origin = merged.origin_of(path)
    return origin.place if origin and origin.layer.label != "default" else RUN_FILE


def _format_subject(problem: Problem) -> str:
    return problem.key if problem.value is None else f"{problem.key} = {problem.value}"


def _is_all_missing(project: Path, located: Sequence[Located]) -> bool:
    """No command, because there is no windlass.toml; what else is wrong would be told first."""
    only = located[0][1] if len(located) == 1 else None
    return only is not None and _is_command_missing(only) and not is_there(project / RUN_FILE)


def _advise(project: Path, located: Sequence[Located]) -> str | None:
    if any(_is_command_missing(problem) for _, problem in located) and not is_there(project / RUN_FILE):
        return _BEGIN
    return None


def _is_command_missing(problem: Problem) -> bool:
    return problem.path == ("run", "command") and problem.value is None


def _has(folder: Path, name: str) -> bool:
    try:
        (folder / name).lstat()
    except OSError:
        return False
    return True


def _is_open_to_all(folder: Path) -> bool:
    """Anybody may put a windlass.toml into /tmp: it would run commands in another's name."""
    try:
        return bool(folder.stat().st_mode & 0o002)
    except OSError:
        return True
