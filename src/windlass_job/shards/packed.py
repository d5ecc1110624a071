"""What packing came to."""

from windlass_job.shards.card import Card

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Sequence

    from windlass_job.shards.card import Shard
    from windlass_job.shards.packing import Packing

TOO_DEAD = 0.3


class Packed:
    """What `pack` did. made: shards that are new to the card."""

    def __init__(self, card: Card, packing: "Packing", made: "Sequence[Shard]" = (), kept_shards: int = 0) -> None:
        self.card = card
        self.told = packing.told
        self.kept_shards = kept_shards  # of an earlier attempt that was cut short
        self.new_shards = len(made) - kept_shards
        self.new_files = sum(one.files for one in made)
        self.dead_files = packing.delta.dead_files if packing.delta is not None else 0
        self.why = packing.why
        self.compression = packing.compression
        self.advice = advise(card)


def advise(card: Card) -> "Optional[str]":
    held = sum(one.files for one in card.shards)
    dead = held - card.files
    if not held or dead <= TOO_DEAD * held:
        return None
    return "{} of the {} files in its shards are no longer meant: pack it anew to be rid of them".format(dead, held)
