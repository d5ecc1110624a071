"""Nodes that could not talk to each other: what the network test before the training found."""

import re
from collections.abc import Iterator

from windlass.core.ending.symptoms import Symptoms
from windlass.core.finding import Diagnosis
from windlass_job import wire

_VERDICT = re.compile(r"windlass: network test: (?P<sentence>.+)")
_ADVICE = re.compile(r"windlass resume \S+ --exclude \S+")


def nodes_cannot_talk(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Before the training started, its nodes called each other, and some did not answer.

    The rest of the run is submitted again without them by itself, where jobs may submit jobs and enough nodes are left.
    Where not, exclude them by hand. When all nodes fail, the names or the interface of the site file are wrong:
    network.host_suffix, network.interface.
    """
    line = symptoms.fatal(_VERDICT)
    if line is None or symptoms.record.exit_code != wire.EXIT_NETWORK:
        return
    found = _VERDICT.search(line)
    advice = _ADVICE.search(symptoms.record.reason or "")
    yield Diagnosis(
        code="D414",
        message=found["sentence"] if found else line,
        evidence=(line,),
        hint=advice[0] if advice else "ask the centre; network.host_suffix and network.interface in the site file",
    )
