"""What the nodes of a run did lately, from the mirror. Nobody is asked."""

from windlass.core.gauges.cutting import cut_end
from windlass.core.gauges.lines import cut_text, is_node_file, read_files
from windlass.core.gauges.series import RunGauges
from windlass.edges.mirror import Index, Mirror
from windlass_job import wire

_LATELY_S = 900.0
_BYTES = 200_000  # of each node: more than a quarter of an hour


def load_lately(mirror: Mirror, run_id: str, index: Index, *, seconds: float = _LATELY_S) -> RunGauges:
    """Nodes, in the last part of the time in which any of them told something: those of earlier links are not in it."""
    texts = {}
    for path in sorted(path for path in index.files if path.startswith(f"{wire.GAUGES}/")):
        name = path.removeprefix(f"{wire.GAUGES}/")
        if is_node_file(name):
            text = mirror.read(run_id, path, most=_BYTES).decode(errors="replace")
            texts[name] = cut_text(text, seconds)
    return cut_end(read_files(texts), seconds)
