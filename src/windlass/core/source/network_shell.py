"""Commands that need the internet, in shell text."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from windlass.core.secret_words import hide_secrets
from windlass.core.source.shell_commands import ShellCommand, find_exports, read_commands
from windlass.core.source.uses import WANDB_OFFLINE, Use, UseKind, has_proxy, is_on, is_wandb_off

_LONGEST_SHOWN = 90
_DEEPEST = 3
# They run what follows their own options.
_WRAPPERS = frozenset(
    {
        *(
            "sudo",
            "env",
            "exec",
            "nohup",
            "nice",
            "ionice",
            "stdbuf",
            "timeout",
            "srun",
            "mpirun",
            "mpiexec",
            "command",
        ),
        *("xargs", "builtin", "apptainer", "singularity", "time", "numactl"),
    }
)
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_URL = re.compile(
    r"(?:https?|ftps?|git|ssh|s3|gs)://(?:[^/@\s]*@)?([^/:\s]+)|(?:[\w.-]+@)([\w.-]+):|([\w-]+(?:\.[\w-]+)*\.[a-z]{2,})/"
)
_NEAR = re.compile(r"localhost|127\.|0\.0\.0\.0|10\.|192\.168\.|169\.254\.|\[::1|[^.]*$|\$")


@dataclass(frozen=True, kw_only=True)
class _Verdict:
    kind: UseKind
    hint: str
    is_sure: bool = True  # the command itself goes out for certain


_Judge = Callable[[list[str], Mapping[str, str]], _Verdict | None]


def find_in_shell(text: str, env: Mapping[str, str]) -> tuple[Use, ...]:
    return _find(read_commands(text), env, depth=0)


def find_in_words(words: list[str], env: Mapping[str, str], *, line: int, column: int) -> tuple[Use, ...]:
    """A command that somebody starts without a shell."""
    return _find((ShellCommand(words=tuple(words), line=line, column=column),), env, depth=0)


def _find(commands: tuple[ShellCommand, ...], env: Mapping[str, str], *, depth: int) -> tuple[Use, ...]:
    env = {**env, **find_exports(commands)}
    if has_proxy(env):
        return ()
    found: list[Use] = []
    for command in commands:
        own = {**env, **command.assignments}
        words = _unwrap(list(command.words))
        if script := _find_inner_script(words):
            inner = _find(read_commands(script), own, depth=depth + 1) if depth < _DEEPEST else ()
            found += [_move(use, command) for use in inner]
        elif words and (verdict := _judge(words, own)):
            found.append(_make_use(words, command, verdict))
    return tuple(found)


def _unwrap(words: list[str]) -> list[str]:
    """`srun -n 1 wget …` is about wget: the first word after a wrapper that is a program of ours."""
    while words and _base(words[0]) in _WRAPPERS and not _is_pull(words):
        inner = next((at for at in range(1, len(words)) if _is_program(words[at])), None)
        if inner is None:
            return []
        words = words[inner:]
    return words


def _is_program(word: str) -> bool:
    name = _base(word)
    return name in JUDGES or name in _SHELLS or name in _WRAPPERS or _is_python(name) or _is_pip(name)


def _is_pull(words: list[str]) -> bool:
    return _base(words[0]) in {"apptainer", "singularity"} and any("://" in word for word in words)


def _find_inner_script(words: list[str]) -> str | None:
    if words and _base(words[0]) in _SHELLS:
        for at, word in enumerate(words[1:], start=1):
            if re.fullmatch(r"-[a-z]*c[a-z]*", word) and at + 1 < len(words):
                return words[at + 1]
    return None


def _judge(words: list[str], env: Mapping[str, str]) -> _Verdict | None:
    name = _base(words[0])
    rest = words[1:]
    if {"--help", "-h", "--version", "-V"} & set(rest[:2]):
        return None
    if _is_python(name):
        return _judge_module(rest, env)
    if _is_pip(name):
        return _judge_pip(rest, env)
    judge = JUDGES.get(name)
    return judge(rest, env) if judge else None


def _judge_module(rest: list[str], env: Mapping[str, str]) -> _Verdict | None:
    if "-m" not in rest[:4]:
        return None
    at = rest.index("-m")
    module, after = (rest[at + 1 : at + 2] or [""])[0], rest[at + 2 :]
    if module == "pip":
        return _judge_pip(after, env)
    if (module == "spacy" and after[:1] == ["download"]) or module == "nltk.downloader":
        return _Verdict(kind=UseKind.CACHED, hint=f"python -m {' '.join([module, *after])}", is_sure=False)
    return None


def _judge_pip(rest: list[str], env: Mapping[str, str]) -> _Verdict | None:
    plain = _plain(rest)
    if plain[:1] not in (["install"], ["download"], ["wheel"]):
        return None
    if "--no-index" in rest or is_on(env, "PIP_NO_INDEX") or "--dry-run" in rest:
        return None
    is_local = all(_is_local(word) for word in plain[1:]) and plain[1:]
    if is_local and ({"--no-deps", "--no-build-isolation"} <= set(rest) or all(w.endswith(".whl") for w in plain[1:])):
        return None
    hint = "pip download -d wheels …   # there, then in the job: pip install --no-index --find-links wheels …"
    return _Verdict(kind=UseKind.INSTALL, hint=hint, is_sure=bool({"-U", "--upgrade"} & set(rest)))


def _judge_uv(rest: list[str], env: Mapping[str, str]) -> _Verdict | None:
    if "--offline" in rest or is_on(env, "UV_OFFLINE"):
        return None
    plain = _plain(rest)
    if plain[:1] == ["pip"]:
        return _judge_pip(rest[rest.index("pip") + 1 :], env)
    if plain[:1] in (["add"], ["sync"], ["lock"]):
        return _Verdict(kind=UseKind.INSTALL, hint="uv sync   # then in the job: uv run --offline …", is_sure=False)
    return None


def _judge_conda(rest: list[str], env: Mapping[str, str]) -> _Verdict | None:
    plain = _plain(rest)
    wanted = plain[:1] in (["install"], ["create"], ["update"], ["upgrade"]) or plain[:2] in (
        ["env", "create"],
        ["env", "update"],
    )
    if not wanted or "--offline" in rest or is_on(env, "CONDA_OFFLINE"):
        return None
    return _Verdict(kind=UseKind.FETCH, hint="make the environment there once, and only activate it in the job")


def _judge_git(rest: list[str], env: Mapping[str, str]) -> _Verdict | None:
    plain = _plain(rest)
    if plain[:1] == ["clone"] and len(plain) > 1:
        if not _goes_out(plain[1]):
            return None
        return _Verdict(kind=UseKind.FETCH, hint=f"git clone {plain[1]}", is_sure="$" not in plain[1])
    if plain[:1] in (["pull"], ["fetch"]) or plain[:2] in (["submodule", "update"], ["lfs", "pull"], ["lfs", "fetch"]):
        # The remote may be a folder of the site.
        return _Verdict(kind=UseKind.FETCH, hint=f"git {' '.join(plain[:2])}", is_sure=False)
    return None


def _judge_download(program: str) -> _Judge:
    def judge(rest: list[str], env: Mapping[str, str]) -> _Verdict | None:
        addresses = [word for word in rest if _goes_out(word)]
        if not addresses:
            return None
        is_sure = not any("$" in word for word in addresses) and not {"-nc", "--no-clobber"} & set(rest)
        return _Verdict(kind=UseKind.FETCH, hint=f"{program} {addresses[0]}", is_sure=is_sure)

    return judge


def _judge_subcommand(*wanted: tuple[str, ...], kind: UseKind, hint: str) -> _Judge:
    def judge(rest: list[str], env: Mapping[str, str]) -> _Verdict | None:
        plain = _plain(rest)
        if not any(tuple(plain[: len(one)]) == one for one in wanted):
            return None
        return _Verdict(kind=kind, hint=hint, is_sure=False)

    return judge


def _judge_hugging_face(rest: list[str], env: Mapping[str, str]) -> _Verdict | None:
    plain = _plain(rest)
    if plain[:1] != ["download"] or is_on(env, "HF_HUB_OFFLINE"):
        return None
    return _Verdict(kind=UseKind.CACHED, hint=f"hf download {' '.join(plain[1:2])}", is_sure=False)


def _judge_container(rest: list[str], env: Mapping[str, str]) -> _Verdict | None:
    image = next((word for word in rest if re.match(r"(docker|oras|library|shub|https?)://", word)), None)
    if image is None:
        return None
    return _Verdict(kind=UseKind.FETCH, hint=f"apptainer pull image.sif {image}", is_sure=rest[:1] == ["pull"])


def _judge_wandb(rest: list[str], env: Mapping[str, str]) -> _Verdict | None:
    if _plain(rest)[:1] not in (["login"], ["online"], ["agent"], ["sync"]):
        return None
    if is_wandb_off(env) and _plain(rest)[:1] != ["sync"]:
        return None
    return _Verdict(kind=UseKind.TRACKER, hint=WANDB_OFFLINE, is_sure=False)


_CLOUD = "copy it with the site's transfer node first"
JUDGES: dict[str, _Judge] = {
    "wget": _judge_download("wget"),
    "curl": _judge_download("curl -LO"),
    "aria2c": _judge_download("aria2c"),
    "git": _judge_git,
    "conda": _judge_conda,
    "mamba": _judge_conda,
    "micromamba": _judge_conda,
    "uv": _judge_uv,
    "poetry": _judge_subcommand(("install",), ("update",), kind=UseKind.INSTALL, hint="poetry install"),
    "huggingface-cli": _judge_hugging_face,
    "hf": _judge_hugging_face,
    "gsutil": _judge_subcommand(("cp",), ("rsync",), kind=UseKind.FETCH, hint=_CLOUD),
    "aws": _judge_subcommand(("s3", "cp"), ("s3", "sync"), kind=UseKind.FETCH, hint=_CLOUD),
    "gcloud": _judge_subcommand(("storage", "cp"), ("storage", "rsync"), kind=UseKind.FETCH, hint=_CLOUD),
    "kaggle": _judge_subcommand(
        ("datasets", "download"), ("competitions", "download"), kind=UseKind.FETCH, hint="kaggle datasets download …"
    ),
    "gdown": _judge_download("gdown"),
    "apptainer": _judge_container,
    "singularity": _judge_container,
    "dvc": _judge_subcommand(("pull",), ("fetch",), kind=UseKind.CACHED, hint="dvc pull"),
    "wandb": _judge_wandb,
}


def _goes_out(word: str) -> bool:
    """An address of another machine, as far as it shows; `$URL` may be anything and is believed to be one."""
    if word.startswith(("/", "./", "../", "~", "-", "file:", "$HOME", "$SCRATCH")):
        return False
    if re.fullmatch(r"\$\{?\w*URL\w*\}?", word, re.IGNORECASE):
        return True
    match = _URL.match(word)
    host = next((group for group in match.groups() if group), None) if match else None
    return host is not None and not _NEAR.match(host)


def _is_local(word: str) -> bool:
    return word.startswith((".", "/", "~")) or word.endswith((".whl", ".tar.gz", ".zip"))


def _plain(words: list[str]) -> list[str]:
    return [word for word in words if not word.startswith("-")]


def _base(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def _is_python(name: str) -> bool:
    return re.fullmatch(r"python[\d.]*", name) is not None


def _is_pip(name: str) -> bool:
    return re.fullmatch(r"pip[\d.]*", name) is not None


def _make_use(words: list[str], command: ShellCommand, verdict: _Verdict) -> Use:
    return Use(
        line=command.line,
        column=command.column,
        what=make_shown(" ".join(words)),
        kind=verdict.kind,
        hint=make_shown(verdict.hint, longest=300),
        is_certain=command.is_certain and verdict.is_sure,
    )


def make_shown(text: str, *, longest: int = _LONGEST_SHOWN) -> str:
    """Without passwords, for one line of a terminal."""
    text = re.sub(r"(://)[^/@\s]+@", r"\1***@", hide_secrets(text))
    text = "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _move(use: Use, command: ShellCommand) -> Use:
    return Use(
        line=command.line,
        column=command.column,
        what=use.what,
        kind=use.kind,
        hint=use.hint,
        is_certain=use.is_certain and command.is_certain,
    )
