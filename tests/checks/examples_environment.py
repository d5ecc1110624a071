"""C301, C303 to C305: what must be there before the command can run."""

from dataclasses import replace

from tests.builders import PLAN, SITE, SPEC
from tests.checks.cases import Example, case
from windlass.core.facts import Facts
from windlass.core.run import Environment, RunSpec
from windlass.core.site import ModuleSystem, Software


def with_env(**env: str) -> RunSpec:
    return replace(SPEC, env=env)


EXAMPLES = {
    "C301": Example(
        trips=case(spec=replace(SPEC, environment=Environment(venv="requirements.txt"))),
        passes=case(spec=replace(SPEC, environment=Environment(venv="env", activate="source env/bin/activate"))),
        says="environment.venv = 'requirements.txt' is not built by this version",
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
