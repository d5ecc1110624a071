"""How large the data of a run is, and when it was last used, where it lies at the site; a look of some seconds."""

import re
from collections.abc import Mapping

from windlass.core.case import DataSeen
from windlass.core.run import Data
from windlass.core.shell import quote_with_variables
from windlass.edges.host import Host, make_command, read_completed

LONGEST_S = 4
MOST_FILES = 1_000_000
_VARIABLE = re.compile(r"\$\{?(\w+)")

# Each file with its size and the later of its last reading and writing, which is what centres purge by.
_LOOK = """
look() {
  [ -e "$1" ] || { echo missing; return; }
  { timeout LONGEST find -H "$1" -type f -printf '%s %A@ %T@\\n' 2>/dev/null; echo "end $?"; } | head -n MOST |
    awk '$1 == "end" { code = $2; next } { n++; size += $1; last = $2 > $3 ? $2 : $3
      if (n == 1 || last < oldest) oldest = last } END { printf "%d %.0f %.0f %s\\n", n, size, oldest, code }'
}
""".replace("LONGEST", str(LONGEST_S)).replace("MOST", str(MOST_FILES))


def fetch_data_seen(host: Host, data: Mapping[str, Data]) -> tuple[DataSeen, ...]:
    """Those whose source is a path of the site's; what cannot be told in time is not told."""
    asked = {name: one.source for name, one in data.items() if one.source.startswith(("/", "$", "~/"))}
    if not asked:
        return ()
    script = _LOOK + "".join(map(_make_line, asked.values()))
    wait_s = LONGEST_S * len(asked) + 5
    (reply,) = host.ask([make_command(["sh"], stdin=script.encode(), timeout_s=wait_s, idempotent=True)])
    lines = read_completed(reply).out.splitlines()
    pairs = zip(asked, lines, strict=False)
    return tuple(found for name, line in pairs if (found := _read_line(name, line)) is not None)


def _make_line(source: str) -> str:
    """Variables may be set in jobs only: a path with one that is not set here tells nothing."""
    look = f"look {quote_with_variables(source)}"
    for name in _VARIABLE.findall(source):
        look = f'if [ -n "${{{name}-}}" ]; then {look}; else echo unknown; fi'
    return f"{look}\n"


def _read_line(name: str, line: str) -> DataSeen | None:
    words = line.split()
    if words == ["missing"]:
        return DataSeen(name=name, is_missing=True)
    if len(words) not in (3, 4) or not all(word.isdecimal() for word in words):
        return None
    files, size, oldest = map(int, words[:3])
    if files == 0 and words[3:] != ["0"]:
        return None  # it could not be read, or this `find` knows no -printf
    # 124: the time was up; none at all: there were more files than are counted.
    is_partial = words[3:] in ([], ["124"])
    return DataSeen(name=name, bytes=size, files=files, oldest=oldest if files else None, is_partial=is_partial)
