"""A command taken apart: `torchrun --nproc_per_node=4 train.py --lr $LR` into who starts it and what is started.

What is left is still to be read by bash, as it was written.
"""

import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass
from io import StringIO

from windlass.errors import PlanError

_OPERATORS = frozenset("();<>|&\n")
_OF_BASH = frozenset({"time", "!", "{", "coproc", "eval", "source", ".", "if", "for", "while", "until", "case"})
_MODULES = frozenset({"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"})
_STARTERS = ("torchrun", "torch.distributed.launch", "accelerate", "deepspeed")
# Options of those programs that are followed by no value; all others are.
_FLAGS = frozenset(
    {
        *("-h", "-m", "-q", "--module", "--no_python", "--quiet", "--standalone", "--run_path", "--virtual_local_rank"),
        *("--use_env", "--cpu", "--multi_gpu", "--tpu", "--enable_cpu_affinity", "--dynamo_use_fullgraph"),
        *("--dynamo_use_dynamic", "--dynamo_use_regional_compilation", "--use_deepspeed", "--use_fsdp"),
        *("--use_parallelism_config", "--use_megatron_lm", "--same_network", "--tpu_cluster", "--no_tpu_cluster"),
        *("--tpu_use_sudo", "--downcast_bf16", "--fp8_use_autocast_during_eval", "--debug", "--use_mps_device"),
        *("--use_xpu", "--ipex", "--no_local_rank", "--no_ssh", "--no_ssh_check", "--force_multi", "--save_pid"),
        "--bind_cores_to_rank",
    }
)


@dataclass(frozen=True, kw_only=True)
class Option:
    name: str  # with underscores: --nproc_per_node
    written: str  # with its value, as it stands in the command


@dataclass(frozen=True, kw_only=True)
class Start:
    starter: str | None = None  # torchrun, accelerate, deepspeed or torch.distributed.launch; None: Python itself
    program: str = ""  # the starter, as it is called in the command
    python: str | None = None  # as it is called in the command, or as it lies beside the starter; None: not named
    options: tuple[Option, ...] = ()  # of the starter
    script: str  # or `-m MODULE`
    arguments: str

    def keep(self, without: Collection[str]) -> str:
        """The starter's options, without those that Windlass sets."""
        return "".join(f"{one.written} " for one in self.options if one.name not in without)

    def has(self, *names: str) -> bool:
        return any(one.name in names for one in self.options)


def is_one_program(command: str) -> bool:
    """Whether bash, given this line, becomes the program itself: no pipe, no list, nothing that bash does by itself."""
    text = command.replace("\\\n", "").strip()
    try:
        return _is_one_command(text) and _take_word(text)[0] not in _OF_BASH
    except ValueError:
        return False


def is_plain(command: str) -> bool:
    """Whether `read_start` can take it apart."""
    try:
        read_start(command, launcher="")
    except PlanError:
        return False
    return True


def read_start(command: str, *, launcher: str, starters: Collection[str] = _STARTERS) -> Start:
    """`starters`: those that the launcher can take the place of."""
    text = command.replace("\\\n", "").strip()  # a line that goes on
    try:
        is_one = _is_one_command(text)
    except ValueError as error:
        raise PlanError(f"{launcher} needs a plain command, and this one cannot be split: {error}") from error
    if not is_one:
        raise _refuse(command, launcher)
    first, written, rest = _take_word(text)
    name = first.rpartition("/")[2]
    if name.startswith("python"):
        start = _read_python(written, rest)
    elif name in {"torchrun", "deepspeed"}:
        start = _read_starter(name, written, _beside(written, name), rest)
    elif name == "accelerate" and _take_word(rest)[0] == "launch":
        start = _read_starter(name, f"{written} launch", _beside(written, name), _take_word(rest)[2])
    else:
        start = _read_script(rest, written) if first.endswith(".py") else None
    if start is None or (start.starter is not None and start.starter not in starters):
        raise _refuse(command, launcher)
    return start


def _read_python(python: str, rest: str) -> Start | None:
    word, _, after = _take_word(rest)
    while word == "-u":  # the agent sets PYTHONUNBUFFERED
        rest = after
        word, _, after = _take_word(rest)
    module, _, tail = _take_word(after)
    if word == "-m" and module in _MODULES:
        starter = "accelerate" if module.startswith("accelerate") else module
        starter = "torchrun" if module == "torch.distributed.run" else starter
        return _read_starter(starter, f"{python} -m {module}", python, tail)
    if word == "-m" and module:
        return Start(python=python, script=f"-m {shlex.quote(module)}", arguments=tail.strip())
    return _read_script(after, _take_word(rest)[1], python=python) if word and not word.startswith("-") else None


def _read_script(rest: str, script: str, *, python: str | None = None) -> Start:
    return Start(python=python, script=script, arguments=rest.strip())


def _read_starter(starter: str, program: str, python: str | None, rest: str) -> Start | None:
    options: list[Option] = []
    word, written, after = _take_word(rest)
    while word.startswith("-"):
        name = word.partition("=")[0]
        name = f"--{name[2:].replace('-', '_')}" if name.startswith("--") else name
        if name not in _FLAGS and "=" not in word:
            _, value, after = _take_word(after)
            written = f"{written} {value}"
        options.append(Option(name=name, written=written))
        word, written, after = _take_word(after)
    if not word:
        return None
    return Start(
        starter=starter, program=program, python=python, options=tuple(options), script=written, arguments=after.strip()
    )


def _beside(written: str, name: str) -> str | None:
    """`/venv/bin/deepspeed` -> `/venv/bin/python`; a name alone says nothing of Python's place."""
    return re.sub(rf"{name}(?=[\"']?$)", "python", written) if "/" in written else None


def _is_one_command(text: str) -> bool:
    """No pipe, list, redirection or second line; what stands in quotes or behind a backslash is none. ValueError: open
    quotes."""
    quote = ""
    letters = iter(text)
    for letter in letters:
        if letter == "\\" and quote != "'":
            next(letters, "")
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in _OPERATORS:
            return False
    if quote:
        raise ValueError("No closing quotation")
    return True


def _take_word(text: str) -> tuple[str, str, str]:
    """The first word as bash reads it and as it was written, and the text after it."""
    text = text.lstrip()
    stream = StringIO(text)
    lexer = shlex.shlex(stream, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    word = lexer.get_token() or ""
    rest = stream.read()
    return word, text[: len(text) - len(rest)].rstrip(), rest


def _refuse(command: str, launcher: str) -> PlanError:
    return PlanError(
        f"{launcher} needs `python SCRIPT ARGUMENTS`, not a shell line: {command[:200]!r}",
        hint='use launcher = "srun", or move the line into a script',
    )
