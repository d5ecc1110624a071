"""What libraries say on a node without internet, word for word: found, and told how to mend it."""

import pytest

from tests.diagnoses.ends import FAILED, after
from windlass.diagnoses import diagnose

TEXTS = [
    # transformers, datasets and huggingface_hub with HF_HUB_OFFLINE=1 and an empty cache
    "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cache",
    "ConnectionError: Couldn't reach 'imdb' on the Hub (OfflineModeIsEnabled)",
    "huggingface_hub.errors.OfflineModeIsEnabled: Cannot reach https://huggingface.co/api/models/a/b: offline mode is "
    "enabled. To disable it, please unset the `HF_HUB_OFFLINE` environment variable.",
    "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files in the disk cache and outgoing "
    "traffic has been disabled. To enable hf.co look-ups and downloads online, set 'local_files_only' to False.",
    "OSError: a/b is not the path to a directory containing a file named config.json. Checkout your internet "
    "connection or see how to run the library in offline mode",
    "ValueError: Couldn't find cache for imdb for config 'plain_text'",
    # without a word to stay offline
    "httpx.ConnectError: [Errno -3] Temporary failure in name resolution",
    "httpx.ConnectTimeout: timed out",
    "urllib.error.URLError: <urlopen error [Errno 110] Connection timed out>",
    "urllib.error.URLError: <urlopen error timed out>",
    # keras.applications
    "Exception: URL fetch failure on https://storage.googleapis.com/tensorflow/a.h5: None -- [Errno 101] no",
    "  Please use the NLTK Downloader to obtain the resource:",
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_was_not_there_offline_is_told_with_a_prefetch(text: str) -> None:
    found = diagnose(after(FAILED, text))

    assert found[0].code == "D203"
    assert "windlass prefetch" in (found[0].hint or "")
