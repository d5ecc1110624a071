"""Trouble that passes is waited for."""

import pytest

from windlass.app.patience import Patience
from windlass.errors import ClusterUnavailable, ConnectionLost, HostUnreachable, SiteNotReady, WindlassError


def test_what_passes_is_told_once_and_tried_again_with_growing_pauses() -> None:
    told: list[str] = []
    pauses: list[float] = []
    troubles: list[WindlassError] = [HostUnreachable("no network"), ConnectionLost("it broke")] * 4

    def ask() -> str:
        if troubles:
            raise troubles.pop()
        return "there"

    patience = Patience(tell=told.append)

    assert patience.insist(ask, sleep=pauses.append) == "there"
    assert pauses == [2, 4, 8, 16, 32, 60, 60, 60]
    assert told == ["it broke; trying again"]
    troubles.append(ClusterUnavailable("squeue failed"))
    assert patience.insist(ask, sleep=pauses.append) == "there"
    assert pauses[8:] == [2]
    assert told[1:] == ["squeue failed; trying again"]


def test_what_does_not_pass_is_raised() -> None:
    def ask() -> None:
        raise SiteNotReady("no Python there")

    with pytest.raises(SiteNotReady):
        Patience(tell=print).insist(ask)
