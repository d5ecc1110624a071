"""A diagnosis's patch as a change of the project's windlass.toml: shown as a diff, written when asked."""

import difflib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass.core.finding import Setting
from windlass.core.record import RunRecord, RunState
from windlass.core.toml.patching import apply_settings, drop_lower
from windlass.core.toml.run_file import read_run
from windlass.edges.files import save_file
from windlass.edges.settings import RUN_FILE
from windlass.edges.toml_file import is_there, load_toml
from windlass.errors import ConfigError, UsageError


@dataclass(frozen=True, kw_only=True)
class Fix:
    path: Path
    before: str
    after: str
    next_command: str  # once it is written
    kept: tuple[str, ...] = ()  # keys that ask for more already than the fix would

    @property
    def diff(self) -> str:
        """Empty when the file says so already."""
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            fromfile=f"a/{RUN_FILE}",
            tofile=f"b/{RUN_FILE}",
        )
        return "".join(line if line.endswith("\n") else line + "\n\\ no newline at the end\n" for line in lines)


def make_fix(record: RunRecord, patch: Sequence[Setting], *, may_lower: bool = False) -> Fix | None:
    """None where the project or its file is not on this machine, or cannot be changed line by line.

    may_lower: it is advice, which asks for less on purpose.
    """
    path = Path(record.project or "") / RUN_FILE
    if not patch or not record.project or not is_there(path):
        return None
    try:
        before = load_toml(path).text
    except ConfigError:
        return None
    wanted = tuple(patch) if may_lower else drop_lower(before, patch, site=record.site)
    after = apply_settings(before, wanted, site=record.site)
    if after is None or _makes_worse(before, after):
        return None
    kept = tuple(one.key for one in patch if one not in wanted)
    return Fix(path=path, before=before, after=after, next_command=make_next_command(record), kept=kept)


def _makes_worse(before: str, after: str) -> bool:
    """A problem that was not there, such as a notice longer than the job."""
    old, new = (read_run(tomllib.loads(text)) for text in (before, after))
    return isinstance(new, tuple) and any(one not in (old if isinstance(old, tuple) else ()) for one in new)


def apply_fix(fix: Fix) -> None:
    """Aside, fsync, rename; refused when somebody has changed the file since it was shown."""
    if load_toml(fix.path).text != fix.before:
        raise UsageError(f"{fix.path} has changed meanwhile", done="it was left as it is")
    content = fix.path.read_bytes()
    mark = b"\xef\xbb\xbf" if content.startswith(b"\xef\xbb\xbf") else b""
    save_file(fix.path, mark + fix.after.encode(), mode=None)


def make_next_command(record: RunRecord) -> str:
    """A run keeps the plan it was sent with, so changed settings need a new one."""
    again = f"windlass run --on {record.site}"
    lives = record.state in (RunState.WAITING, RunState.RUNNING)
    return f"windlass cancel {record.run_id} && {again}" if lives else again
