"""A diagnosis's patch, or advice, as a change of the project's windlass.toml: shown as a diff, written when asked."""

import difflib
import hashlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass.core.finding import Advice, Setting
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
    def mark(self) -> str:
        """Of exactly this change."""
        return hashlib.sha256("\0".join((str(self.path), self.before, self.after)).encode()).hexdigest()

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


def make_fix_of_advice(record: RunRecord, advice: Sequence[Advice]) -> Fix | None:
    """All of it as one change."""
    return make_fix(record, [setting for one in advice for setting in one.patch], may_lower=True)


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


def apply_seen_fix(fix: Fix | None, mark: str, *, hint: str) -> Fix:
    """mark: of what somebody has seen and agreed to; anything else is refused."""
    if fix is None or not fix.diff or fix.mark != mark:
        raise UsageError(
            "the change is no longer the one that was shown", hint=hint, done="windlass.toml was left as it is"
        )
    apply_fix(fix)
    return fix


def make_next_command(record: RunRecord) -> str:
    """A run keeps the plan it was sent with, so changed settings need a new one."""
    again = f"windlass run --on {record.site}"
    lives = record.state in (RunState.WAITING, RunState.RUNNING)
    return f"windlass cancel {record.run_id} && {again}" if lives else again
