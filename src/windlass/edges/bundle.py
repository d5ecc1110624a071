"""How our code gets to a host without a file there: a bootstrap on the command line, its source on stdin."""

import json
import zlib
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from windlass.core.shell import quote

# In the order in which they import each other.
_MODULES = (
    "wire",
    "faults",
    "disk",
    "deputy_processes",
    "deputy_commands",
    "sbatch_words",
    "submission",
    "deputy_files",
    "deputy_blobs",
    "deputy_farm",
    "deputy_folders",
    "deputy_update",
    "deputy_runs",
    "deputy_mirror",
    "deputy_search",
    "deputy_data",
    "deputy_data_changes",
    "deputy_wheels",
    "deputy_ports",
    "deputy",
)

# Compiled only when they are asked for (`windlass_job/deputy_farm.py`).
_LATE = (
    "claims",
    "farming",
    "farming.ranges",
    "farming.ledger",
    "farming.records",
    "farming.table",
    "farming.packing",
    "farming.entries",
    "farming.roll",
    "farming.adding",
    "farming.reading",
    "farming.news",
)

# What receives and gives large data, in a session of its own.
PORTER = (
    "wire",
    "disk",
    "shards",
    "shards.tarring",
    "shards.index",
    "shards.card",
    "shards.folder",
    "shards.verifying",
    "shards.links",
    "shards.pointers",
    "shards.told",
    "moving",
    "moving.line",
    "moving.lock",
    "moving.parts",
    "moving.receiving",
    "moving.giving",
    "moving.porter",
)

# What leads the connections of a tunnel to their service.
RELAY = ("relaying", "relaying.frames", "relaying.exchange", "relaying.far")

# The same, which also starts a TensorBoard and ends it.
BOARD = (*RELAY, "relaying.board")

# Runs one line of stdin. It has no quote, $, !, backslash or newline: sh, bash, csh, tcsh and fish all pass it on as it
# is. One byte at a time, so that nothing behind the line is swallowed. Python 2 understands it too, and can then say
# that it is too old.
BOOTSTRAP = "import os;exec(bytes().join(iter(lambda:os.read(0,1)or os._exit(9),chr(10).encode())))"

# Isolated (a json.py in the user's home would be imported in place of Python's) and without `site` (slow, not needed).
PYTHON_FLAGS = ("-I", "-S")

_LOADER = """
import os, sys
if sys.version_info < (3, 6):
    os.write(1, ({nonce!r} + ' {{"too_old": "%d.%d.%d"}}\\n' % sys.version_info[:3]).encode("ascii"))
    os._exit(0)
import json, zlib
pieces, left = [], {size}
while left:
    piece = os.read(0, left)
    if not piece:
        os._exit(9)
    pieces.append(piece)
    left -= len(piece)
package = sys.modules["windlass_job"] = type(sys)("windlass_job")
package.__path__ = []
def load(name, source):
    module = sys.modules["windlass_job." + name] = type(sys)("windlass_job." + name)
    above, _, last = ("windlass_job." + name).rpartition(".")
    setattr(sys.modules[above], last, module)
    module.__path__ = []
    exec(compile(source, "windlass_job/" + name + ".py", "exec"), module.__dict__)
    return module
now, package.late = json.loads(zlib.decompress(b"".join(pieces)).decode("utf-8"))
package.load = load
for name, source in now:
    module = load(name, source)
module.main({nonce!r})
"""


def make_remote_command(python: str, *, login_shell: bool = False) -> str:
    """What ssh hands to the user's shell at the site, whichever that is."""
    command = f"exec {_quote_program(python)} {' '.join(PYTHON_FLAGS)} -c"
    if login_shell:
        return f"exec bash --login -c '{command} \"{BOOTSTRAP}\"'"
    return f"{command} '{BOOTSTRAP}'"


def make_opening(nonce: str, modules: tuple[str, ...] = _MODULES) -> bytes:
    """The first bytes of a conversation: the loader as one line, then the source. The last module's `main` is run."""
    bundle = _make_bundle(modules)
    loader = _LOADER.format(nonce=nonce, size=len(bundle))
    return f"exec({loader!r})\n".encode("ascii") + bundle


@cache
def _make_bundle(modules: tuple[str, ...]) -> bytes:
    folder = resources.files("windlass_job")
    late = _LATE if modules is _MODULES else ()
    sources = [
        [(name, _find_source(folder, name).read_text(encoding="utf-8")) for name in some] for some in (modules, late)
    ]
    return zlib.compress(json.dumps(sources).encode(), 9)


def _find_source(package: Traversable, name: str) -> Traversable:
    """shards -> shards/__init__.py, shards.card -> shards/card.py"""
    place = package.joinpath(*name.split("."))
    return place / "__init__.py" if place.is_dir() else package.joinpath(*name.split(".")[:-1], f"{place.name}.py")


def _quote_program(python: str) -> str:
    """A site's own fact, usually a bare word; within a login shell it stands in single quotes already."""
    return python if "'" not in quote(python) else f'"{python}"'
