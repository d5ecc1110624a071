"""What the checks of code and environment advise, and that they bear whatever stands in a file."""

from dataclasses import replace

import pytest

from tests.builders import PLAN
from tests.checks.code_cases import (
    BERT,
    FOUR_GPUS,
    IMAGENET,
    K40,
    LOADER,
    OFFLINE,
    ONE_GPU,
    V100,
    code_case,
    pinned,
    run,
    site_with,
)
from tests.checks.examples_built_software import built
from tests.checks.examples_privacy import EXAMPLES as PRIVACY
from tests.checks.examples_software import EXAMPLES as SOFTWARE
from tests.checks.examples_software import V100_OR_A100
from tests.core.test_any_code import BAD
from windlass.checks import CHECKS, run_checks
from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.plan import Plan
from windlass.core.site import GpuKind, Rules, Software


def findings(code: str, of: Case) -> list[Finding]:
    return list(CHECKS[code](of))


def test_the_hint_names_the_last_build_that_works() -> None:
    old = findings("C306", SOFTWARE["C306"].trips)[0].hint
    older = findings("C306", pinned("torch==1.3.1", K40))[0].hint
    new = findings("C306", pinned("torch==1.13.1", site_with(GpuKind(name="h100"))))[0].hint

    assert old == ('"torch==2.10.*" from PyPI, or "torch==2.14.*" with -i https://download.pytorch.org/whl/cu126')
    assert older == '"torch==1.2.*" from PyPI, or a build for it: https://example.org/legacy'
    assert new == '"torch>=2.1"'


def test_kernels_and_driver_lead_to_the_same_advice() -> None:
    old = site_with(GpuKind(name="p100"), software=Software(driver="515.48.07", cuda="11.7"))
    kernels, driver = (findings(code, pinned("torch", old))[0].hint for code in ("C307", "C308"))

    assert kernels == '"torch==2.0.*" from PyPI, or "torch==2.7.*" with -i https://download.pytorch.org/whl/cu118'
    assert driver == f"{kernels}, or the site's module"


@pytest.mark.parametrize(
    ("plan", "workers", "hint"),
    [
        (ONE_GPU, 9, "[resources] cpus = 9, or in the code {}"),
        (ONE_GPU, 17, "in the code {}; 16 cores are the most here: [resources] cpus = 16"),
        (replace(ONE_GPU, cpus_per_task=16), 17, "in the code {}; a process gets no more cores here"),
        (FOUR_GPUS, 17, "in the code {}; 16 cores are the most here: [resources] cpus = 16"),
        (replace(ONE_GPU, exclusive=True), 40, "[resources] cpus = 40, or in the code {}"),
        (replace(PLAN, partition="cpu"), 200, "in the code {}; 128 cores are the most here: [resources] cpus = 128"),
        (replace(PLAN, partition="unknown"), 200, "[resources] cpus = 200, or in the code {}"),
    ],
)
def test_no_more_cores_are_advised_than_there_are(plan: Plan, workers: int, hint: str) -> None:
    (finding,) = findings("C506", code_case(LOADER, f"DataLoader(d, num_workers={workers})", plan=plan))

    assert finding.hint == hint.format("num_workers = len(os.sched_getaffinity(0))")


def test_the_hint_for_downloads_is_to_be_pasted() -> None:
    (finding,) = findings(
        "C502", code_case(BERT, site=replace(OFFLINE, rules=Rules(compute_internet=False, jobs_from_home=False)))
    )

    assert finding.hint == (
        "windlass prefetch --on alpha\n"
        "or on login.example.org, before: hf download bert-base-uncased\n"
        '[run.env]\nHF_HUB_OFFLINE = "1"\nHF_HOME = "/scratch/alice/windlass/caches/huggingface"'
    )
    assert finding.where == "train.py:2"
    assert finding.fact == "rules.compute_internet of alpha"


def test_where_another_gpu_may_come_its_kind_is_advised() -> None:
    (finding,) = findings("C306", pinned("torch==2.13.0", V100_OR_A100))

    assert finding.severity is Severity.WARNING
    assert finding.message.endswith("; the job may get one")
    assert (finding.hint or "").startswith("--gpu a100, or ")


def test_what_was_built_is_judged_by_the_same_rule() -> None:
    (finding,) = findings("C323", built(V100_OR_A100))
    (alone,) = findings("C323", built(V100))

    assert (finding.severity, alone.severity) == (Severity.WARNING, Severity.ERROR)
    assert finding.message == f"{alone.message}; the job may get one"
    assert finding.hint == f"--gpu a100, or {alone.hint}"
    assert alone.hint == (
        '"torch==2.10.*" from PyPI, or "torch==2.14.*" with -i https://download.pytorch.org/whl/cu126; '
        "then: windlass env build"
    )


def test_a_folder_that_each_run_has_for_itself_is_told() -> None:
    (finding,) = findings(
        "C502", code_case("from torchvision.datasets import MNIST", "MNIST('../data', download=True)", site=OFFLINE)
    )
    (shared,) = findings(
        "C502", code_case("from torchvision.datasets import MNIST", "MNIST('/data', download=True)", site=OFFLINE)
    )

    assert (finding.hint or "").splitlines() == [
        "windlass prefetch --on alpha",
        "or on login.example.org, before: python -c "
        """'import torchvision; torchvision.datasets.MNIST("/scratch/alice/windlass/data", download=True)'""",
        "'../data' is another folder in each run: give the script /scratch/alice/windlass/data, as an option",
    ]
    assert "another folder" not in (shared.hint or "")


def test_the_model_that_the_command_chooses_is_named() -> None:
    (finding,) = findings(
        "C502", code_case(IMAGENET, site=OFFLINE, spec=run("python train.py --arch resnet50 --pretrained"))
    )

    assert "torchvision.models.resnet50(weights=" in (finding.hint or "")


def test_what_is_not_known_of_the_internet_is_told_once() -> None:
    found = run_checks(code_case(BERT, "import wandb", "wandb.init()", spec=run("pip install x; python train.py")))

    assert [(one.code, one.hint) for one in found if one.code.startswith("C5")] == [
        ("C520", "windlass site check alpha --deep")
    ]


def test_a_secret_is_not_shown_again() -> None:
    (finding,) = findings("C507", PRIVACY["C507"].trips)

    assert "abcdef0123456789" not in repr(finding)


@pytest.mark.parametrize("name", BAD)
def test_whatever_stands_in_a_file_is_borne(name: str) -> None:
    names = ("run.sh", "requirements.txt", "environment.yml", "pyproject.toml", "uv.lock", "Pipfile")

    run_checks(
        code_case(
            BAD[name], site=OFFLINE, spec=run("bash run.sh; python train.py"), files=dict.fromkeys(names, BAD[name])
        )
    )


@pytest.mark.parametrize("name", BAD)
def test_whatever_stands_in_the_command_is_borne(name: str) -> None:
    run_checks(code_case(site=OFFLINE, spec=run(BAD[name] or "true")))


def test_code_in_the_command_itself_is_in_no_file() -> None:
    asked = code_case(spec=run("python -c 'print(1)'"), plan=replace(PLAN, checkpoint_folder="checkpoints"))

    assert findings("C525", asked) == []
