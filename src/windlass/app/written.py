"""What a run wrote into its working folder: files that were not sent so."""

from collections import Counter
from collections.abc import Sequence

from windlass.core.codec import from_json
from windlass.core.snapshot import Manifest
from windlass.edges.downloads import Wanted
from windlass.edges.host import Host, Request, expect
from windlass.errors import RunFolderGone
from windlass_job import wire

_OWN = ("__pycache__", ".ipynb_checkpoints")  # nobody's results
_LARGEST = 100_000_000


def load_manifest(host: Host, folder: str) -> Manifest | None:
    """What was sent of the run in this folder; None: it is not known."""
    arguments = {"path": f"{folder}/{wire.MANIFEST}", "from_byte": 0, "limit": _LARGEST}
    reply = host.ask([Request(operation="read", arguments=arguments, idempotent=True)])[0]
    return from_json(reply.payload, Manifest, error=RunFolderGone, what=wire.MANIFEST) if reply.ok else None


def find_written(host: Host, base: str, workdir: str, sent: Manifest, files: Sequence[Wanted]) -> tuple[Wanted, ...]:
    """Of these files of the working folder the new ones and those that are not as they were sent."""
    known = {one.path: one for one in sent.files}
    begin = "" if workdir == "." else f"{workdir}/"
    mine = [one for one in files if not set(one.name.split("/")) & set(_OWN)]
    alike = [one for one in mine if (old := known.get(begin + one.name)) is not None and old.size == one.size]
    hashes = _hash(host, base, alike)
    same = {one.name for one in alike if known[begin + one.name].sha256 == hashes[one.name]}
    return tuple(one for one in mine if one.name not in same)


def propose_pattern(names: Sequence[str]) -> str | None:
    """For `--only`: what most of them have in common. None: there are none."""
    counted = Counter(map(_make_pattern, names))
    return counted.most_common(1)[0][0] if counted else None


def _make_pattern(name: str) -> str:
    folder, slash, _ = name.partition("/")
    if slash:
        return f"{folder}/**"
    stem, dot, ending = name.rpartition(".")
    return f"*.{ending}" if dot and stem else name


def _hash(host: Host, base: str, files: Sequence[Wanted]) -> dict[str, str | None]:
    if not files:
        return {}
    arguments = {"folder": base, "paths": [one.name for one in files]}
    reply = host.ask([Request(operation="hash_files", arguments=arguments, idempotent=True)])[0]
    told = expect(reply, RunFolderGone, f"the files in {base} cannot be compared").values["sha256"]
    return dict(zip((one.name for one in files), told, strict=True))
