"""The one place where text becomes shell."""

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePath

from windlass.errors import PlanError

_LONGEST = 131_071  # bytes in one argument or variable; the kernel takes no more (MAX_ARG_STRLEN)
_LONGEST_IN_DIRECTIVE = 1_024  # Slurm refuses longer accounts, partitions, comments...
_LONGEST_PATH = 4_095
_SAFE_IN_DIRECTIVE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+=@%&|*[]()~^")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# bash refuses to set some of these, gives others values of its own, and takes the value of OPTIND for a formula to run
_OF_BASH = {
    *("BASHOPTS", "BASHPID", "BASH_ALIASES", "BASH_ARGC", "BASH_ARGV", "BASH_ARGV0", "BASH_CMDS", "BASH_COMMAND"),
    *("BASH_LINENO", "BASH_SOURCE", "BASH_SUBSHELL", "BASH_VERSINFO", "COMP_WORDBREAKS", "DIRSTACK", "EPOCHREALTIME"),
    *("EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS", "HISTCMD", "LINENO", "OLDPWD", "OPTERR", "OPTIND", "PIPESTATUS"),
    *("PPID", "PWD", "RANDOM", "SECONDS", "SHELLOPTS", "SHLVL", "SRANDOM", "UID", "_"),
}
_REFERENCE = re.compile(r"(\$[A-Za-z_][A-Za-z0-9_]*|\$\{[A-Za-z_][A-Za-z0-9_]*\})")
_MODULE = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+@:=,~-]*")


def quote(text: str) -> str:
    """One word of bash that means exactly this text, whatever is in it."""
    if "\0" in text:
        raise PlanError("a NUL character cannot be part of a command", hint="remove it")
    if _count_bytes(text) > _LONGEST:
        raise PlanError(f"a text of {len(text)} characters is too long for a command: {text[:80]!r}")
    # sbatch refuses a script with \r\n in it, even inside quotes.
    return shlex.quote(text).replace("\r", "'$'\\r''")


def quote_path(path: PurePath | str) -> str:
    """The same for a path among arguments: `-n` would be read as an option."""
    text = str(path)
    return quote(f"./{text}" if text.startswith("-") else text)


def quote_all(words: Sequence[str]) -> str:
    return " ".join(quote(word) for word in words)


def quote_with_variables(text: str) -> str:
    """One word in which $NAME, ${NAME} and a leading ~ still mean something, and nothing else does."""
    pieces = _REFERENCE.split(text)
    words = [f'"{piece}"' if place % 2 else quote(piece) if piece else "" for place, piece in enumerate(pieces)]
    if text == "~" or text.startswith("~/"):
        words[0] = '"$HOME"' + (quote(pieces[0][1:]) if pieces[0][1:] else "")
    return "".join(words) or "''"


def make_shell_argv(command: str) -> tuple[str, ...]:
    """The user's command line, to be read by bash."""
    if not command.strip():
        raise PlanError("there is no command to run", hint='[run] command = "python train.py"')
    if command.startswith(("-", "+")):
        raise PlanError(f"the command begins with {command[0]!r}, which bash takes for an option: {command[:80]!r}")
    return ("bash", "-c", command)


def format_export(name: str, value: str) -> str:
    """A line that sets a variable of the user's or the site's."""
    if not _VARIABLE.fullmatch(name):
        raise PlanError(f"{name[:80]!r} is no name for a variable", hint="use letters, digits and _")
    if name in _OF_BASH or name.lower().startswith("windlass_"):
        owner = "bash" if name in _OF_BASH else "Windlass"
        raise PlanError(f"the variable {name} is set by {owner} itself", hint="choose another name")
    return f"export {name}={quote(value)}"


def format_module(name: str) -> str:
    """A name for `module load`, which hands it on to a shell of its own making."""
    if not is_module(name):
        hint = 'one name each, such as modules = ["gcc/13.3", "cuda"]; anything else belongs under activate'
        raise PlanError(f"{name[:80]!r} is no name for a module", hint=hint)
    return name


def is_module(name: str) -> bool:
    return _MODULE.fullmatch(name) is not None


def refuse_control_characters(text: str, *, what: str) -> str:
    """sbatch reads directives line by line: a newline in a value would become a line of its own."""
    bad = next((char for char in text if ord(char) < 32 or 127 <= ord(char) < 160 or char in "\u2028\u2029"), None)
    if bad is not None:
        raise PlanError(f"{what} holds the control character {bad!a}, which no job script can carry: {text[:80]!a}")
    return text


def quote_directive(text: str, *, what: str, is_path: bool = False) -> str:
    """A value after `#SBATCH --option=`: sbatch reads quotes and backslashes there, but nothing is ever expanded."""
    refuse_control_characters(text, what=what)
    bad = next((char for char in text if char in '"\\'), None)
    if bad is not None:
        raise PlanError(f"{what} holds {bad!r}, which no #SBATCH line can carry: {text[:80]!r}")
    longest = _LONGEST_PATH if is_path else _LONGEST_IN_DIRECTIVE
    if _count_bytes(text) > longest:
        raise PlanError(f"{what} has {len(text)} characters, and Slurm takes {longest} at most: {text[:80]!r}")
    return text if set(text) <= _SAFE_IN_DIRECTIVE else f'"{text}"'


def _count_bytes(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        message = f"a text holds bytes that are no UTF-8, which no job script can carry: {text[:80]!a}"
        raise PlanError(message) from error
