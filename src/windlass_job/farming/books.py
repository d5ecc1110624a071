"""All that one worker writes: `pilots/WORKER.*` in the farm, and files without a name on the node for its tasks."""

import os
from typing import Any, Callable, Dict, List, Mapping, Optional

from windlass_job import disk
from windlass_job.bounded import say
from windlass_job.farming import naming
from windlass_job.farming.measuring import Measures
from windlass_job.farming.outputs import DEFAULT_LIMIT, Outputs, Scratches
from windlass_job.farming.results import Results
from windlass_job.farming.tally import Tally


class Books:
    def __init__(self, folder: bytes, card: "Dict[str, Any]", slots: int, env: "Mapping[str, str]", name: str) -> None:
        """folder: of all workers; name: without its last part. May raise OSError."""
        self.place: "Optional[str]" = env.get("SLURM_TMPDIR") or env.get("TMPDIR")
        self.limit = int(card.get("output_limit") or DEFAULT_LIMIT)  # bytes of what one task prints
        self.scratches = Scratches(self.place, self.limit)
        self.name, self.journal = naming.open_journal(folder, name, say)
        stem = os.path.join(folder, disk.as_path(self.name))
        self.card_path = stem + b".json"
        self.outputs, self.results = Outputs(stem, say), Results(stem, say)
        self.measures = Measures(stem, self.place, card.get("patterns") or {}, say)
        self.tally = Tally(self.journal, int(card.get("retries") or 0), slots)

    def list_flushes(self) -> "List[Callable[[], None]]":
        """Results first: their records say that they are there."""
        return [one.flush for one in (self.results, self.journal, self.outputs, self.measures)]

    def close(self) -> None:
        held: "List[Any]" = [self.journal, self.outputs, self.results, self.measures, self.scratches]
        for one in held:
            one.close()
