"""PyTorch's own launcher: one srun task a node, which starts one process for each GPU."""

import shlex
from io import StringIO

from windlass.core.launch import Launcher
from windlass.core.plan import Plan
from windlass.core.shell import make_shell_argv
from windlass.errors import PlanError
from windlass.launchers.srun import make_rank_env

_OPERATORS = frozenset("();<>|&")


def make_argv(plan: Plan) -> tuple[str, ...]:
    # Older PyTorch knows these options with underscores only.
    line = (
        f"exec torchrun --nnodes={plan.nodes} --nproc_per_node={plan.processes_per_node} "
        '--node_rank="$SLURM_NODEID" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" '
        f"{_without_python(plan.command)}"
    )
    return ("srun", "--kill-on-bad-exit=1", *make_rank_env(plan), *make_shell_argv(line))


def _without_python(command: str) -> str:
    """torchrun wants a script: `python -u train.py --lr $LR` -> `train.py --lr $LR`, still to be read by bash."""
    command = command.replace("\\\n", "")  # a line that goes on
    if "\n" in command.strip() or any(set(word) <= _OPERATORS for word in _split(command)):
        raise _refuse(command)
    first, rest = _take_word(command)
    if not first.rsplit("/", 1)[-1].startswith("python"):
        if not first.endswith(".py"):
            raise _refuse(command)
        return command.strip()
    word, after = _take_word(rest)
    while word == "-u":  # the agent sets PYTHONUNBUFFERED
        rest = after
        word, after = _take_word(rest)
    if not word or (word.startswith("-") and word != "-m"):
        raise _refuse(command)
    return rest.strip()


def _split(command: str) -> list[str]:
    """Words and operators; what stands in quotes is neither split nor an operator."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError as error:
        raise PlanError(f"torchrun needs a plain command, and this one cannot be split: {error}") from error


def _take_word(text: str) -> tuple[str, str]:
    """The first word, and the text after it as it was written."""
    stream = StringIO(text)
    lexer = shlex.shlex(stream, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    return lexer.get_token() or "", stream.read()


def _refuse(command: str) -> PlanError:
    return PlanError(
        f"torchrun needs `python SCRIPT ARGUMENTS`, not a shell line: {command[:200]!r}",
        hint='use launcher = "srun", or move the line into a script',
    )


TORCHRUN = Launcher(
    name="torchrun",
    summary="torchrun on every node, one process a GPU",
    task_for_each_process=False,
    starts_the_rest=True,
    make_argv=make_argv,
)
