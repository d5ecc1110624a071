"""The script as rules look at it: its options by name, its commands, and what it asks for in all."""

import re
from functools import cached_property

from windlass.core.finding import Severity
from windlass.core.names import read_token
from windlass.core.sbatch.script import Magic, Option, Script, Trouble
from windlass.core.sbatch.values import read_megabytes, read_minutes, read_node_counts, read_number
from windlass.core.sbatch.verdict import read_gpus, read_gres
from windlass.core.site import Site
from windlass.core.source.code import Language
from windlass.core.source.network_use import Use, find_network_use
from windlass.core.source.shell_commands import ShellCommand, find_exports, read_commands
from windlass.core.source.starters import TORCHRUN
from windlass.lint.mark import Edit, Mark

TYPOGRAPHIC = re.compile("[\u2010-\u2015\u2212\u2018-\u201f\u00a0\u202f\u2007\ufeff]")
PLACEHOLDER = re.compile(
    r"""<[\w\s./|@:-]*> | <\w | \{\{
      | (?i:\byour[-_ ]?(?:account|e-?mail|mail|project|name|partition|queue|user|group|allocation|username|job)\b
      | \bmy[-_ ](?:account|e-?mail|project|partition|allocation)\b
      | \b(?:change_?me|fixme|todo|xxx+|tbd)\b | def-someuser | @example\. | email@ )""",
    re.VERBOSE,
)
VARIABLE = re.compile(r"\$\{\w[^}]{0,200}\}|\$\(|`|^\$\w+|\$[A-Z_][A-Z0-9_]+")
# They start processes on every node of the job.
TASK_STARTERS = frozenset(["srun", "mpirun", "mpiexec", "mpiexec.hydra", "jsrun", "ibrun", "aprun", "prun"])
# What they start is a Python program, even where none shows.
_PYTHON_STARTERS = frozenset(["torchrun", "accelerate", "deepspeed", "horovodrun"])
_STARTERS = TASK_STARTERS | _PYTHON_STARTERS
_OTHER_STARTERS = frozenset(
    ["ssh", "pdsh", "clush", "ray", "dask", "parallel", "xargs", "launch", "torchrun_jsc", "composer", "colossalai"]
)
CONDA = ("conda", "mamba", "micromamba")
_PYTHON = re.compile(r"python[\d.]*$")
# A script that is sourced for what it sets up, and starts nothing.
_SETS_UP = re.compile(r"conda\.sh$|profile|modules|env|setup|init|activate", re.IGNORECASE)
_TALK = frozenset(
    [
        "echo",
        "printf",
        "which",
        "command",
        "type",
        "module",
        "ml",
        "alias",
        "cat",
        "grep",
        "rm",
        "cp",
        "mv",
        "mkdir",
        "ls",
        "cd",
        "conda",
        "pip",
        "pip3",
        "sed",
        "awk",
    ]
)
_SHELL_PIECES = re.compile(
    r"""\\. | (?<!\\)\$?'[^']*' | "(?:\\.|[^"\\])*" | (?:^|(?<=[\s;&|(]))\#[^\n]* | <<<
      | <<-?\s*\\?(['"]?)(?P<end>[A-Za-z_][\w.-]*)\1 | \n""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


class Subject:
    """One script; `site` where a centre's rules were asked for."""

    def __init__(self, script: Script, site: Site | None = None, *, problem: str | None = None) -> None:
        self.script = script
        self.site = site
        self.problem = problem  # why the file could not be read

    # --- what it says -------------------------------------------------------------------------------------------

    def option(self, name: str) -> Option | None:
        return self.script.last(name)

    def value(self, name: str) -> str:
        found = self.script.last(name)
        return found.value if found else ""

    def has(self, *names: str) -> bool:
        return any(one.name in names for one in self.script.options)

    def number(self, name: str, default: int = 0) -> int:
        return read_number(self.value(name)) or default

    @property
    def is_planned(self) -> bool:
        """Written by Windlass, which knew what the site wants."""
        return bool(read_token(self.value("comment")))

    @cached_property
    def nodes(self) -> int:
        try:
            return read_node_counts(self.value("nodes"))[0]
        except ValueError:
            return 1

    @cached_property
    def tasks(self) -> int:
        return self.number("ntasks") or self.nodes * self.number("ntasks-per-node", 1)

    @cached_property
    def tasks_per_node(self) -> int:
        return self.number("ntasks-per-node") or max(1, self.tasks // max(1, self.nodes))

    @cached_property
    def minutes(self) -> int | None:
        try:
            return read_minutes(self.value("time"))
        except ValueError:
            return None

    @cached_property
    def memory_mb(self) -> int | None:
        try:
            return read_megabytes(self.value("mem"))
        except ValueError:
            return None

    @cached_property
    def gpus_per_node(self) -> int:
        """What is asked for; 0 where none is, or it cannot be told."""
        for name, found in read_gres(self.value("gres")) or ():
            if name == "gpu":
                return sum(one.count for one in found)
        if per_node := self._count("gpus-per-node"):
            return per_node
        if total := self._count("gpus"):
            return max(1, total // max(1, self.nodes))
        return self._count("gpus-per-task") * self.tasks_per_node

    @property
    def is_whole(self) -> bool:
        """The nodes are shared with nobody."""
        return (self.value("exclusive") == "" and self.has("exclusive")) or self._site_is_whole

    @property
    def _site_is_whole(self) -> bool:
        if self.site is None:
            return False
        found = self.site.partition(self.value("partition"))
        own = found.whole_nodes if found is not None else None
        return bool(self.site.rules.whole_nodes if own is None else own)

    def _count(self, name: str) -> int:
        return sum(one.count for one in read_gpus(self.value(name)) or ())

    # --- what it does -------------------------------------------------------------------------------------------

    @cached_property
    def commands(self) -> tuple[ShellCommand, ...]:
        return read_commands(self.script.text)

    @cached_property
    def exports(self) -> dict[str, str]:
        return find_exports(self.commands)

    @cached_property
    def network_uses(self) -> tuple[Use, ...]:
        return find_network_use(self.script.text, Language.SHELL)

    @cached_property
    def conda_activation(self) -> ShellCommand | None:
        return next((one for one in self.calls(*CONDA) if one.words[1:2] == ("activate",)), None)

    @cached_property
    def body(self) -> str:
        """Without directives and comments of whole lines."""
        return "\n".join(
            line for line in self.script.lines[self.script.body - 1 :] if not line.lstrip().startswith("#")
        )

    def calls(self, *programs: str) -> tuple[ShellCommand, ...]:
        found = [one for name in dict.fromkeys(programs) for one in self._by_program.get(name, ())]
        return tuple(sorted(found, key=lambda one: (one.line, one.column)) if len(programs) > 1 else found)

    @cached_property
    def _by_program(self) -> dict[str, list[ShellCommand]]:
        found: dict[str, list[ShellCommand]] = {}
        for one in self.commands:
            if one.words:
                found.setdefault(self.base(one.words[0]), []).append(one)
        return found

    @staticmethod
    def base(word: str) -> str:
        return word.rpartition("/")[2]

    def flat(self, command: ShellCommand) -> list[str]:
        """Its words, with those of `bash -c '...'` one by one."""
        return [part for word in command.words for part in (word.split() if " " in word else (word,))]

    @cached_property
    def trainings(self) -> tuple[tuple[ShellCommand, tuple[str, ...]], ...]:
        """Commands that run a Python program, with what starts it: ("srun",), ("srun", "torchrun"), ()."""
        found = []
        for command in self.commands:
            if not command.words or self.base(command.words[0]) in _TALK:
                continue
            words = self.flat(command)
            starters = tuple(self.base(word) for word in words if self.base(word) in _STARTERS)
            if "torchrun" not in starters and not set(TORCHRUN).isdisjoint(words):
                starters = (*starters, "torchrun")  # the same program by another name
            own = not _PYTHON_STARTERS.isdisjoint(starters)
            if own or self._runs_python(words) or "torch.distributed" in " ".join(words):
                found.append((command, starters))
        return tuple(found)

    def _runs_python(self, words: list[str]) -> bool:
        at = next((i for i, word in enumerate(words) if _PYTHON.match(self.base(word))), None)
        if at is None:
            return False
        rest = [word for word in words[at + 1 :] if word not in ("-u", "-I", "-O", "-B")]
        if not rest or rest[0] in ("-c", "-V", "--version", "-") or rest[:2] in (["-m", "pip"], ["-m", "venv"]):
            return False
        return rest[0] == "-m" or rest[0].endswith((".py", ".pyz")) or rest[0].startswith("$")

    @cached_property
    def starts_elsewhere(self) -> bool:
        """Something that may start processes in a way not seen here: another script, ssh, ray."""
        for command in self.commands:
            words = self.flat(command)
            if words[:1] in (["source"], ["."]) and _SETS_UP.search(" ".join(words[1:2])):
                continue
            names = {self.base(word) for word in words}
            if names & _OTHER_STARTERS or any(word.endswith((".sh", ".bash")) for word in words):
                return True
            if words[:1] and words[0].startswith("$") and "python" not in words[0].lower():
                return True
        return False

    @cached_property
    def hidden_lines(self) -> frozenset[int]:
        """Lines that begin inside quotes or a here-document: no command and no directive stands there."""
        hidden: set[int] = set()
        text, line, at = self.script.text, 1, 0
        waiting: list[str] = []
        for piece in _SHELL_PIECES.finditer(text):
            if piece.start() < at:
                continue
            line += text.count("\n", at, piece.start())
            at = piece.end()
            if piece["end"]:
                waiting.append(piece["end"])
            elif piece[0] == "\n":
                line += 1
                for end in waiting:
                    stop = re.compile(rf"^\t*{re.escape(end)}\r?$", re.MULTILINE).search(text, at)
                    until = stop.end() if stop else len(text)
                    more = text.count("\n", at, until)
                    hidden |= set(range(line, line + more + 1))
                    line, at = line + more, until
                waiting = []
            elif more := piece[0].count("\n"):
                hidden |= set(range(line + 1, line + more + 1))
                line += more
        return frozenset(hidden)

    # --- places -------------------------------------------------------------------------------------------------

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.script.lines:
            starts.append(starts[-1] + len(line) + 1)
        return starts

    def offset(self, line: int, column: int = 1) -> int:
        return self._starts[line - 1] + column - 1

    def text_of(self, line: int) -> str:
        return self.script.lines[line - 1] if 0 < line <= len(self.script.lines) else ""

    def replace(self, line: int, column: int, length: int, text: str) -> tuple[Edit, ...]:
        start = self.offset(line, column)
        return (Edit(start=start, end=start + length, text=text),)

    def at_option(
        self, option: Option, severity: Severity, message: str, *, hint: str | None = None, fix: tuple[Edit, ...] = ()
    ) -> Mark:
        word, last = option.word, option.value_word
        length = (last.end if last.line == word.line else word.end) - word.column
        return Mark(
            severity=severity,
            message=message,
            line=word.line,
            column=word.column,
            length=max(1, length),
            hint=hint,
            fix=fix,
        )

    def at_trouble(
        self, trouble: Trouble, message: str, *, hint: str | None = None, fix: tuple[Edit, ...] = ()
    ) -> Mark:
        return Mark(
            severity=Severity.ERROR,
            message=message,
            line=trouble.line,
            column=trouble.column,
            length=trouble.length,
            hint=hint,
            fix=fix,
        )

    def at_command(self, command: ShellCommand, severity: Severity, message: str, *, hint: str | None = None) -> Mark:
        shown = command.words[0] if command.words else next(iter(command.assignments), "x")
        return Mark(
            severity=severity,
            message=message,
            line=command.line,
            column=command.column,
            length=max(1, len(shown)),
            hint=hint,
        )

    def at_line(self, line: int, severity: Severity, message: str, *, hint: str | None = None) -> Mark:
        text = self.text_of(line).rstrip()
        indent = len(text) - len(text.lstrip())
        return Mark(
            severity=severity,
            message=message,
            line=line,
            column=indent + 1,
            length=max(1, len(text) - indent),
            hint=hint,
        )

    @property
    def head_line(self) -> int:
        """Where something that is missing would stand: the last directive, else the first line."""
        ours = [one.number for one in self.script.directives if one.magic is Magic.SBATCH]
        return ours[-1] if ours else 1
