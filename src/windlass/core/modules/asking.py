"""The shell text that asks a module system, for `bash -lc`: one answer after a line that says whose it is."""

import re
from collections.abc import Mapping, Sequence

from windlass.core.shell import format_module, quote

_MARK = "@windlass "
_QUESTION = re.compile(rf"^{_MARK}(\S+(?: .*)?)$", re.MULTILINE)
# No pager, no colours, no line broken in the middle of a name.
_BEGIN = f"""
export LMOD_PAGER=none LMOD_COLORIZE=no LMOD_TERM_WIDTH=1000 MODULES_PAGER= MODULES_COLOR=never
begin() {{ printf '\\n{_MARK}%s\\n' "$1"; }}
type module >/dev/null 2>&1 || exit 0
if [ -n "${{LMOD_VERSION-}}" ]; then begin "lmod $LMOD_VERSION"; else begin tcl; fi
""".strip()
_PYTHON = """
after=$(command -v python3) || exit 0
begin python
[ "$before" = "$after" ] && echo same || echo other
"$after" -I -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])'
""".strip()


def make_names_script(always_load: Sequence[str], *, purge: bool) -> str:
    """All names that are there. Lmod tells those of the whole hierarchy, Tcl only what is in sight."""
    return "\n".join(
        (
            _begin(purge=purge),
            *_by_system(
                lmod=("begin names", "module -t spider 2>&1"),
                tcl=(*_load_quietly(always_load), "begin names", "module avail -t 2>&1"),
            ),
        )
    )


def make_details_script(names: Sequence[str], word: str, always_load: Sequence[str], *, purge: bool) -> str:
    """How each of these is loaded, which Lmod tells; and which modules mention a word."""
    spiders = [f"begin {quote(f'module {name}')}\nmodule spider {format_module(name)} 2>&1" for name in names]
    lines = [_begin(purge=purge), *_by_system(lmod=spiders, tcl=_load_quietly(always_load))]
    return "\n".join([*lines, *([f"begin about\nmodule keyword {quote(word)} 2>&1"] if word else [])])


def make_trial_script(modules: Sequence[str], *, purge: bool) -> str:
    """What a job does with its modules, in a shell that is thrown away; it ends at the first that fails."""
    loads = [
        f"begin {quote(f'load {name}')}\nmodule load {format_module(name)} 2>&1 || {{ begin failed; exit 0; }}"
        for name in modules
    ]
    loaded = "begin loaded\nprintf '%s\\n' \"${LOADEDMODULES-}\""
    return "\n".join(("before=$(command -v python3)", _begin(purge=purge), *loads, loaded, _PYTHON))


def split_answers(text: str) -> dict[str, str]:
    """By the words after the mark. What start files print before the first mark is dropped."""
    marks = list(_QUESTION.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return {mark[1].strip(): text[mark.end() : end].strip("\n") for mark, end in zip(marks, ends, strict=False)}


def read_system(answers: Mapping[str, str]) -> str | None:
    """Such as `lmod 8.6.19` or `tcl`; None: the shell has no `module`."""
    return next((one for one in answers if one.split()[0] in ("lmod", "tcl")), None)


def _begin(*, purge: bool) -> str:
    """As in the job: what is sticky stays, and that is no failure."""
    return f"{_BEGIN}\nmodule purge >/dev/null 2>&1" if purge else _BEGIN


def _by_system(*, lmod: Sequence[str], tcl: Sequence[str]) -> tuple[str, ...]:
    return ('if [ -n "${LMOD_VERSION-}" ]; then :', *lmod, "else :", *tcl, "fi")


def _load_quietly(names: Sequence[str]) -> tuple[str, ...]:
    """With Tcl nothing else shows what a first module brings into sight, such as daint-gpu."""
    return tuple(f"module load {format_module(name)} >/dev/null 2>&1" for name in names)
