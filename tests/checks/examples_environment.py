"""C301, C303 to C305, C322, C325, C326: what must be there before the command can run."""

from dataclasses import replace

from tests.builders import PLAN, SITE, SPEC
from tests.checks.cases import Example, case
from windlass.core.case import Case
from windlass.core.environment import Built, Entering, EnvironmentSeen, Recipe
from windlass.core.facts import Facts
from windlass.core.run import Environment, RunSpec, Wheels
from windlass.core.site import ModuleSystem, Software


def with_env(**env: str) -> RunSpec:
    return replace(SPEC, env=env)


RECIPE = Recipe(kind="venv", files={"requirements.txt": "numpy"})
MISSING = EnvironmentSeen(recipe=RECIPE, entering=Entering(), is_asked=True)

PACKED = replace(SPEC, environment=Environment(pack=True))
IMAGE = Built(id="container-1", kind="container", path="/r/envs/container-1/build-1/image.sif", digest="sha256:1")
DAMAGED = replace(MISSING, built=IMAGE, problem=f"{IMAGE.path} has 3 bytes, and had 8 when it was built")


def on_nodes(wheels: Wheels, *, compute_internet: bool | None = None, wheelhouse: str | None = None) -> Case:
    """Every node makes it, on its own disk."""
    recipe = replace(RECIPE, existing="$SLURM_TMPDIR/windlass-venv-1", wheels=wheels)
    rules = replace(SITE.rules, compute_internet=compute_internet)
    site = replace(SITE, rules=rules, software=Software(wheelhouse=wheelhouse))
    return replace(case(site=site), environment=replace(MISSING, recipe=recipe))


EXAMPLES = {
    "C322": Example(
        trips=replace(case(), environment=DAMAGED),
        passes=replace(case(), environment=replace(DAMAGED, problem=None)),
        says=f"the image of the run ({RECIPE.id}) is damaged: {IMAGE.path} has 3 bytes, and had 8 when it was built",
    ),
    "C301": Example(
        trips=replace(case(), environment=MISSING, may_build=False),
        passes=replace(
            case(), environment=replace(MISSING, built=Built(id="venv-1", kind="venv", path="/r/envs/venv-1/build-1"))
        ),
        says=f"the environment of the run ({RECIPE.id}) is not built at alpha, and --no-build was given",
        also_trips=(
            replace(case(), environment=MISSING),
            replace(case(), environment=replace(MISSING, is_left_out=True)),
        ),
        also_passes=(
            replace(case(), environment=replace(MISSING, is_asked=False)),
            replace(case(), environment=replace(MISSING, recipe=Recipe(kind="venv", existing="/opt/env"))),
        ),
    ),
    "C325": Example(
        trips=replace(case(spec=PACKED), environment=replace(MISSING, recipe=Recipe(kind="container"))),
        passes=replace(case(spec=PACKED), environment=replace(MISSING, packed="/r/envs/venv-1/env.tar")),
        says="environment.pack does nothing here: a container",
        also_trips=(
            case(spec=PACKED),
            replace(case(spec=PACKED), environment=replace(MISSING, recipe=Recipe(kind="venv", existing="/opt/env"))),
        ),
        also_passes=(case(), replace(case(spec=PACKED), environment=replace(MISSING, is_left_out=True))),
    ),
    "C326": Example(
        trips=on_nodes(Wheels.PYPI, compute_internet=False),
        passes=on_nodes(Wheels.PYPI, compute_internet=True),
        says="every node fetches its packages from the index, and nodes of alpha have no internet",
        also_trips=(on_nodes(Wheels.WHEELHOUSE),),
        also_passes=(
            on_nodes(Wheels.PYPI),
            on_nodes(Wheels.LAPTOP, compute_internet=False),
            on_nodes(Wheels.WHEELHOUSE, wheelhouse="/house"),
            replace(case(), environment=replace(MISSING, recipe=replace(RECIPE, wheels=Wheels.PYPI))),
        ),
    ),
    "C303": Example(
        trips=case(plan=replace(PLAN, modules=("gcc", "cuda"))),
        passes=case(
            plan=replace(PLAN, modules=("gcc",)), site=replace(SITE, software=Software(modules=ModuleSystem.LMOD))
        ),
        says="alpha has no modules; the run asks for gcc, cuda",
    ),
    "C304": Example(
        trips=case(spec=with_env(WANDB_API_KEY="0123456789abcdef")),
        passes=case(spec=replace(SPEC, command="python train.py --tokenizer=bert-base-uncased --secret=$KEY")),
        says="run.env.WANDB_API_KEY looks as if it held a secret, which would be written into the script",
        also_trips=(
            case(spec=replace(SPEC, command="HF_TOKEN=hf_abcdefghijkl python train.py")),
            case(spec=replace(SPEC, command="huggingface-cli login --token hf_abcdefghijklmnopqrstuvwx")),
            case(spec=replace(SPEC, command="train.py --password='correcthorsebattery'")),
        ),
        also_passes=(
            case(spec=with_env(TOKENIZERS_PARALLELISM="false", HF_TOKEN_PATH="/scratch/alice/token/file")),
            case(spec=replace(SPEC, command="python train.py --max_tokens=1000000000000 --task-sk-learn")),
        ),
    ),
    "C305": Example(
        trips=case(facts=Facts(python_version="3.5.9")),
        passes=case(facts=Facts(python_version="3.6.8")),
        says="python3 at alpha is Python 3.5.9; 3.6 is needed",
        also_trips=(case(facts=Facts(python_version="2.7.18")),),
        also_passes=(case(facts=Facts(python_version="weird")), case(facts=Facts(python_version="3.12.1"))),
    ),
}
