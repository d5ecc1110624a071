"""What `site check` says of full and shared disks."""

from dataclasses import replace

import pytest

from windlass.app.checking_site import check_quota
from windlass.core.facts import SeenQuota

QUOTA = SeenQuota(area="home", path="/home/x", used_bytes=50 * 10**9, limit_bytes=100 * 10**9, source="quota")


def test_a_quota_is_called_so() -> None:
    line = check_quota(QUOTA)

    assert (line.what, line.words) == ("quota", "home (/home/x): 50.0 GB of 100 GB")


@pytest.mark.parametrize(("used", "verdict"), [(50, "ok"), (95, "warn"), (100, "fail")])
def test_numbers_of_a_whole_file_system_are_nobodys_quota(used: int, verdict: str) -> None:
    line = check_quota(replace(QUOTA, used_bytes=used * 10**9, source="df", is_shared=True))

    assert (line.what, str(line.verdict)) == ("space", verdict)
    assert "used by all; your own quota was not told" in line.words
