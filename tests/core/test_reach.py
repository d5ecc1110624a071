"""Which files a command leads to, and which it does not."""

import pytest

from windlass.core.source.code import Code, Language, SourceFile
from windlass.core.source.reach import find_reached

FILES = {
    "train.py": "import torch\nfrom data import load\nfrom models.net import Net\n",
    "data.py": "def load(): ...\ndef prefetch(): ...\nif __name__ == '__main__':\n    prefetch()\n",
    "models/__init__.py": "",
    "models/net.py": "from . import layers\nfrom .blocks import Block\n",
    "models/layers.py": "",
    "models/blocks.py": "",
    "prefetch.py": "",
    "scripts/run.sh": "cd src\npython main.py\n",
    "src/main.py": "import tool.core\n",
    "src/tool/core.py": "",
    "src/tool/__init__.py": "",
    "src/tool/__main__.py": "",
    "pyproject.toml": '[project.scripts]\nfit = "tool.core:main"\n',
}


def make_code(files: dict[str, str]) -> Code:
    kinds = {"py": Language.PYTHON, "sh": Language.SHELL}
    made = [
        SourceFile(path=p, text=t, language=kinds.get(p.rpartition(".")[2], Language.OTHER)) for p, t in files.items()
    ]
    return Code(files=tuple(made), paths=frozenset(files))


def reached(command: str, workdir: str = ".") -> set[str]:
    return {one.path for one in find_reached(make_code(FILES), command, workdir).python}


WHOLE = {"train.py", "data.py", "models/__init__.py", "models/net.py", "models/layers.py", "models/blocks.py"}


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("python train.py --epochs 3", WHOLE),
        ("torchrun --nproc_per_node=4 ./train.py", WHOLE),
        ("accelerate launch train.py", WHOLE),
        ("X=1 srun -n 2 python -u $PWD/train.py", WHOLE),
        ("python -m models.net", WHOLE - {"train.py", "data.py"}),
        ("python -c 'import data'", {"run.command", "data.py"}),
        ("bash scripts/run.sh", {"src/main.py", "src/tool/__init__.py", "src/tool/core.py"}),
        ("cd src && python main.py", {"src/main.py", "src/tool/__init__.py", "src/tool/core.py"}),
        ("fit --epochs 3", {"src/tool/core.py", "src/tool/__init__.py"}),
        ("bash -c 'python data.py'", {"data.py"}),
        ("make train", set()),
        ("echo 'unclosed", set()),
    ],
)
def test_files_a_command_leads_to(command: str, files: set[str]) -> None:
    assert reached(command) == files


def test_the_working_folder_counts() -> None:
    assert "src/main.py" in reached("python main.py", "src")


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("python trian.py", ("trian.py",)),
        ("cd src && python train.py", ("train.py",)),
        ("python train.py", ()),
        ("python $SCRIPT.py", ()),
        ("python /opt/x.py", ()),
        ("cd $HOME && python x.py", ()),
        ("tar xf code.tar && python x.py", ()),
        ("python -m x", ()),
        ("python -W ignore train.py", ()),
    ],
)
def test_a_script_that_is_not_there_is_named(command: str, missing: tuple[str, ...]) -> None:
    assert find_reached(make_code(FILES), command).missing == missing


def live_calls(files: dict[str, str], command: str = "python train.py") -> set[str]:
    return {call.name for _, call in find_reached(make_code(files), command).calls()}


def test_what_only_runs_when_a_file_is_started_itself_is_passed_over() -> None:
    files = {"train.py": "import data\ndata.load()", "data.py": "def load(): a()\nif __name__ == '__main__':\n    b()"}

    assert live_calls(files) == {"data.load", "a"}
    assert live_calls(files, "python data.py") == {"b"}


def test_a_function_that_nothing_names_is_passed_over() -> None:
    text = "def fetch(): a()\ndef inner(): b()\ndef outer(): inner()\nouter()\n"

    assert live_calls({"train.py": text}) == {"b", "inner", "outer"}
    assert "a" in live_calls({"train.py": text + "\nfn = fetch\n"})
    assert "a" in live_calls({"train.py": "@command\ndef fetch(): a()\n"})


def test_a_class_method_that_nothing_names_is_passed_over() -> None:
    text = "class Net:\n    @classmethod\n    def fetch(cls): a()\n    def forward(self): b()\n"

    assert live_calls({"train.py": text}) == {"b"}  # PyTorch calls forward
    assert "a" in live_calls({"train.py": text + "Net.fetch()\n"})


def test_options_of_the_command_win_over_defaults() -> None:
    files = {"train.py": "p.add_argument('--num-workers', default=8)\np.add_argument('--model', default='bert')\n"}

    found = find_reached(make_code(files), "python train.py --num-workers 4 lr=0.1").arguments

    assert (found["num_workers"], found["model"], found["lr"]) == ("4", "bert", "0.1")


def test_modules_that_import_each_other_end() -> None:
    files = {"train.py": "import a", "a.py": "import b", "b.py": "import a, train"}

    assert {one.path for one in find_reached(make_code(files), "python train.py").python} == set(files)


def test_what_a_switch_guards_that_the_command_does_not_give_is_passed_over() -> None:
    text = "p.add_argument('--log', action='store_true')\nif args.log and first:\n    a()\nelse:\n    b()\n"

    assert live_calls({"train.py": text}) == {"p.add_argument", "b"}
    assert live_calls({"train.py": text}, "python train.py --log") == {"p.add_argument", "a", "b"}
