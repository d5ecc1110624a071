"""Which branches are certainly not taken, by constants and by options of the command."""

import ast

import pytest

from tests.core.test_reach import live_calls
from windlass.core.source.guards import UNKNOWN, evaluate

KNOWN: dict[str, object] = {"yes": True, "no": False, "name": "gpt2-xl", "count": 3, "nothing": None}


def value_of(text: str) -> object:
    def find(node: ast.expr) -> object:
        return KNOWN.get(node.id, UNKNOWN) if isinstance(node, ast.Name) else UNKNOWN

    return evaluate(ast.parse(text, mode="eval").body, find)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("not yes", False),
        ("no and mystery", False),
        ("yes or mystery", True),
        ("yes and mystery", UNKNOWN),
        ("name == 'gpt2-xl'", True),
        ("name.startswith('gpt2')", True),
        ("name.startswith(('a', 'b'))", False),
        ("name in ('scratch', 'resume')", False),
        ("name not in ['scratch', mystery]", UNKNOWN),
        ("'gpt' in name", True),
        ("count > 2", True),
        ("count > '2'", UNKNOWN),
        ("1 < count < 2", UNKNOWN),
        ("nothing is not None", False),
        ("mystery", UNKNOWN),
        ("name.upper()", UNKNOWN),
        ("f(no)", UNKNOWN),
        ("not " * 90 + "yes", UNKNOWN),
    ],
)
def test_what_follows_from_what_is_known(text: str, value: object) -> None:
    assert value_of(text) is value


def is_reached(code: str, command: str = "python train.py", **files: str) -> bool:
    """Whether `fetch()` in it may be called."""
    return "fetch" in live_calls({"train.py": code, **files}, command)


CONSTANT = "LOG = {}\nif LOG:\n    fetch()\n"
OPTION = "p.add_argument({})\nargs = p.parse_args()\nif {}:\n    fetch()\n"
FIELD = (
    "@dataclass\nclass Mine:\n    to: Optional[str] = field(default=None)\n    big: bool = False\n"
    "mine, theirs = HfArgumentParser((Mine, TrainingArguments)).parse_args_into_dataclasses()\n"
    "if {}:\n    fetch()\n"
)
EXEC = "log = False\nexec(open('c.py').read())\nif log:\n    fetch()\n"


@pytest.mark.parametrize(
    ("code", "command"),
    [
        (CONSTANT.format("False"), "python train.py"),
        (CONSTANT.format("True").replace("if", "if not"), "python train.py"),
        ("x = fetch() if False else 1", "python train.py"),
        (OPTION.format("'--log', action='store_true'", "args.log"), "python train.py"),
        (OPTION.format("'--log', default=False, type=str2bool", "args.log"), "python train.py"),
        (OPTION.format("'--log', default=True, type=str2bool", "args.log"), "python train.py --log no"),
        (OPTION.format("'--no-log', dest='log', action='store_false'", "args.log"), "python train.py --no-log"),
        (OPTION.format("'--to', default='none'", "args.to == 'wandb'"), "python train.py"),
        (OPTION.format("'--to', default='wandb'", "args.to == 'wandb'"), "python train.py --to=csv"),
        (OPTION.format("'-t', '--to', default='wandb'", "args.to == 'wandb'"), "python train.py -t csv"),
        (OPTION.format("'--n', type=int, default=1", "args.n > 1"), "bash run.sh"),
        (
            "if args.log:\n    start()\ndef start(): fetch()\np.add_argument('--log', action='store_true')",
            "python train.py",
        ),
        (FIELD.format("mine.to is not None"), "python train.py --lr 1"),
        (FIELD.format("mine.big"), "python train.py --big False"),
        (EXEC, "python train.py"),
        (EXEC, "python train.py --log=False"),
    ],
)
def test_a_branch_that_is_certainly_not_taken_is_passed_over(code: str, command: str) -> None:
    assert not is_reached(code, command, **{"run.sh": 'python train.py "$@"'})


@pytest.mark.parametrize(
    ("code", "command"),
    [
        (CONSTANT.format("False"), "python train.py --LOG=1"),  # who knows
        (CONSTANT.format("False") + "LOG = read()", "python train.py"),
        (CONSTANT.format("False") + "def f():\n    global LOG\n    LOG = 1", "python train.py"),
        (CONSTANT.format("False") + "(LOG := 1)", "python train.py"),
        (CONSTANT.format("False") + "import train\ntrain.LOG = True", "python train.py"),
        ("LOG = False\ndef f(LOG):\n    if LOG:\n        fetch()\nf(1)", "python train.py"),
        ("try:\n    import x\nexcept ImportError:\n    x = None\nif x:\n    fetch()", "python train.py"),
        (OPTION.format("'--log', action='store_true'", "args.log"), "python train.py --log"),
        (OPTION.format("'-l', '--log', action='store_true'", "args.log"), "python train.py -l"),
        (OPTION.format("'--to', default='none'", "args.to == 'wandb'"), "python train.py --to wandb"),
        (OPTION.format("'--to', default='none'", "args.to == 'wandb'"), "python train.py $MORE"),
        (OPTION.format("'--to', default=None", "args.to"), "MORE='--to x'; python train.py $MORE"),
        (OPTION.format("'--logger', default=''", "args.logger"), "python train.py --log x"),  # argparse takes both
        (OPTION.format("'--to', default=read()", "args.to == 'wandb'"), "python train.py"),
        (OPTION.format("'to'", "args.to == 'wandb'"), "python train.py wandb"),
        (OPTION.format("'--to', default=''", "args.to") + "args.to = 'x'", "python train.py"),
        (OPTION.format("'--to', default=''", "args.to") + "p.set_defaults(**read())", "python train.py"),
        (OPTION.format("'--to', default=''", "args.to") + "vars(args).update(read())", "python train.py"),
        (OPTION.format("'--to', default=''", "args.to") + "q.add_argument('--to', default='x')", "python train.py"),
        (OPTION.format("'--to', default=''", "model.to"), "python train.py"),
        (FIELD.format("mine.to is not None"), "python train.py --to x"),
        (FIELD.format("mine.big"), "python train.py --big"),
        (FIELD.format("mine.to").replace("HfArgumentParser", "Other"), "python train.py"),
        (EXEC, "python train.py --log=True"),
        (EXEC, "python train.py c.py"),
    ],
)
def test_a_branch_that_may_be_taken_is_not(code: str, command: str) -> None:
    assert is_reached(code, command, **{"c.py": "log = True"})
