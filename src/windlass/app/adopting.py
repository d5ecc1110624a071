"""`adopt`: from a batch script to a windlass.toml that plans to the same job, with the script's body kept."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from windlass.core.sbatch.adoption import Adoption, Left, adopt_script
from windlass.core.sbatch.script import read_script
from windlass.core.sbatch.shell_secrets import hide_in_shell
from windlass.edges.files import save_file
from windlass.edges.script_files import NoScript, load_script
from windlass.edges.settings import RUN_FILE, load_run_spec
from windlass.errors import ConfigError, UsageError, WindlassError

_BODY_MODE = 0o755


@dataclass(frozen=True, kw_only=True)
class Adopted:
    path: Path
    text: str
    body_path: Path | None
    left: tuple[Left, ...]
    refusal: str | None  # what sbatch says to the script, where it refuses it


def adopt(script_path: Path, into: Path, *, force: bool = False) -> Adopted:
    """Writes the run file and, where the script stays one, its body beside it. What is there is not written over."""
    try:
        script = read_script(load_script(script_path))
    except NoScript as problem:
        raise UsageError(f"{script_path} cannot be adopted: {problem}", hint="windlass adopt train.sh") from problem
    adoption = adopt_script(script, name=script_path.stem or "run")
    body_path = into.parent / adoption.body_name if adoption.body is not None else None
    _refuse_to_overwrite(script_path, into, body_path, force=force)
    _refuse_what_does_not_load(adoption, script_path)
    _save(adoption, into, body_path)
    return Adopted(
        path=into,
        text=adoption.toml,
        body_path=body_path,
        left=adoption.left,
        refusal=hide_in_shell(script.troubles[0].said) if script.troubles else None,
    )


def _refuse_to_overwrite(script_path: Path, into: Path, body_path: Path | None, *, force: bool) -> None:
    for path in (into, body_path):
        if path is None:
            continue
        if path.exists() and script_path.exists() and path.samefile(script_path):
            raise UsageError(f"{path} is the script itself", hint="windlass adopt FILE -o windlass.toml")
        if not force and (path.exists() or path.is_symlink()):
            raise UsageError(f"{path} is there already; nothing was written", hint="windlass adopt FILE --force")
    if not into.parent.is_dir():
        raise UsageError(f"there is no folder {into.parent}")


def _refuse_what_does_not_load(adoption: Adoption, script_path: Path) -> None:
    """Read as every other command will, but without the user's own settings: they are not what is judged here."""
    with TemporaryDirectory(prefix="windlass-adopt-") as folder:
        save_file(Path(folder, RUN_FILE), _encode(adoption), mode=None, error=WindlassError)
        try:
            load_run_spec(Path(folder), None, {"HOME": folder})
        except ConfigError as problem:
            message = f"no run file can hold what {script_path} says; nothing was written"
            raise ConfigError(message, details=problem.details, hint="shorten that part of the script") from problem


def _encode(adoption: Adoption) -> bytes:
    return adoption.toml.encode("utf-8", "replace")


def _save(adoption: Adoption, into: Path, body_path: Path | None) -> None:
    """The body first: a run file must not name what is not there."""
    if body_path is not None and adoption.body is not None:
        data = adoption.body.encode("utf-8", "surrogateescape")
        save_file(body_path, data, mode=_BODY_MODE, error=WindlassError)
    save_file(into, _encode(adoption), mode=None, error=WindlassError)
