"""Downloads and what was prefetched for them: what is told any more, and what is refused."""

from dataclasses import replace

from tests.checks.code_cases import BERT, OFFLINE, code_case, run
from tests.checks.examples_prefetch import NOW, THERE, WANTED
from windlass.checks.downloads import code_may_download, command_needs_the_internet
from windlass.core.case import Case
from windlass.core.finding import Severity
from windlass.core.prefetched import PrefetchSeen

ASKED = replace(WANTED, is_wanted=False)
HUB = ".cache/huggingface"
FETCH = ("import requests", "requests.get('https://example.org/a')")


def make_case(seen: PrefetchSeen | None, *lines: str) -> Case:
    return replace(code_case(*lines, site=OFFLINE), prefetch=seen)


def test_a_verified_prefetch_satisfies_the_checks_of_downloads() -> None:
    assert list(code_may_download(make_case(THERE, BERT))) == []
    assert list(command_needs_the_internet(make_case(THERE, *FETCH))) == []


def test_what_certainly_goes_out_is_refused_again_when_the_code_has_changed() -> None:
    changed = replace(THERE, files={**NOW, "data.py": "22"})

    assert [one.severity for one in command_needs_the_internet(make_case(changed, *FETCH))] == [Severity.ERROR]
    assert list(code_may_download(make_case(changed, BERT))) == []  # C529 says it


def test_a_download_is_refused_where_no_cache_can_have_it() -> None:
    def judge(seen: PrefetchSeen | None, *lines: str) -> list[Severity]:
        return [one.severity for one in code_may_download(make_case(seen, *lines))]

    assert judge(ASKED, BERT) == [Severity.ERROR]
    another, old = {HUB, f"{HUB}/hub/models--gpt2"}, {HUB, f"{HUB}/transformers"}
    mine = {HUB, f"{HUB}/hub/models--bert-base-uncased"}
    assert judge(replace(ASKED, home_caches=frozenset(another)), BERT) == [Severity.ERROR]
    assert judge(replace(ASKED, home_caches=frozenset(mine)), BERT) == [Severity.WARNING]
    assert judge(replace(ASKED, home_caches=frozenset(old)), BERT) == [Severity.WARNING]
    assert judge(replace(ASKED, moved=frozenset({"HF_HOME"})), BERT) == [Severity.WARNING]
    assert judge(ASKED, BERT.replace("')", "', cache_dir=FOLDER)")) == [Severity.WARNING]
    unnamed = ("import efficientnet_pytorch as e", "e.EfficientNet.from_pretrained('efficientnet-b0')")
    assert judge(replace(ASKED, home_caches=frozenset(another)), *unnamed) == [Severity.WARNING]
    assert judge(replace(ASKED, is_asked=False), BERT) == [Severity.WARNING]
    assert judge(ASKED, "from torchvision.datasets import MNIST", "MNIST('/data', download=True)") == [Severity.WARNING]
    moved = replace(make_case(ASKED, BERT), plan=replace(code_case().plan, env={"HF_HOME": "/scratch/hub"}))
    assert [one.severity for one in code_may_download(moved)] == [Severity.WARNING]


def test_a_variable_of_ours_silences_a_tracker_and_no_download() -> None:
    from windlass.checks.downloads import tracker_is_online

    case = code_case("import wandb", "wandb.init()", BERT, site=OFFLINE, spec=run("python train.py"))
    ours = replace(case, plan=replace(case.plan, offline_env={"WANDB_MODE": "offline", "HF_HUB_OFFLINE": "1"}))

    assert len(list(tracker_is_online(case))) == 1
    assert list(tracker_is_online(ours)) == []
    assert len(list(code_may_download(ours))) == 1
