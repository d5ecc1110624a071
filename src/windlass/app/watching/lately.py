"""What the nodes of a run did lately, from the mirror. Nobody is asked."""

from windlass.core.gauges.cutting import cut_end
from windlass.core.gauges.lines import read_files
from windlass.core.gauges.series import RunGauges
from windlass.edges.mirror import Index, Mirror
from windlass_job import wire

_LATELY_S = 900.0
_BYTES = 200_000  # of each node: more than a quarter of an hour


def load_lately(mirror: Mirror, run_id: str, index: Index) -> RunGauges:
    """The last quarter of an hour in which any node told something: nodes of earlier links are not in it."""
    texts = {}
    for path in sorted(path for path in index.files if path.startswith(f"{wire.GAUGES}/")):
        text = mirror.read(run_id, path, most=_BYTES).decode(errors="replace")
        texts[path.removeprefix(f"{wire.GAUGES}/")] = text
    return cut_end(read_files(texts), _LATELY_S)
