"""Modules, conda, pip and containers inside the job."""

import re
from collections.abc import Iterator

from windlass.core.finding import Severity
from windlass.core.site import ModuleSystem
from windlass.lint.mark import Mark
from windlass.lint.subject import CONDA, Subject

_HOOK = re.compile(
    r"conda\.sh|shell[.\s]+(?:\w+\s+)?(?:bash\s+)?hook|shell\.bash|conda\s+shell|mamba\.sh|bin/activate\b"
)
_START_FILES = re.compile(r"(?:~|\$HOME|\$\{HOME\}|/\S*)/\.(bashrc|bash_profile|profile|zshrc)")
_SET_U = re.compile(r"^-\w*u\w*$")
_RUNS_IMAGE = ("exec", "run", "shell")


def conda_is_not_set_up(subject: Subject) -> Iterator[Mark]:
    """`conda activate` is a shell function that batch jobs do not have: CommandNotFoundError, and the wrong Python."""
    activation = subject.conda_activation
    if activation is None or _hook(subject) or _loads_conda(subject) or _reads_files(subject):
        return
    yield subject.at_command(
        activation,
        Severity.ERROR,
        "conda activate does not work in a batch job as it stands",
        hint='eval "$(conda shell.bash hook)"   # before it',
    )


def conda_by_module_only(subject: Subject) -> Iterator[Mark]:
    """Some centres' conda modules set up the shell function, others only the program: the same script then fails."""
    activation = subject.conda_activation
    if activation is not None and _loads_conda(subject) and not _hook(subject) and not _reads_files(subject):
        hint = 'eval "$(conda shell.bash hook)"   # before it: works everywhere'
        message = "conda activate here relies on what the module sets up"
        yield subject.at_command(activation, Severity.ADVICE, message, hint=hint)


def conda_by_bashrc(subject: Subject) -> Iterator[Mark]:
    """~/.bashrc ends at once in shells that nobody types into, so what conda wrote there is often never reached."""
    if subject.conda_activation is None or _hook(subject):
        return
    for command in subject.calls("source", "."):
        if any(_START_FILES.search(word) for word in command.words[1:]):
            hint = 'eval "$(conda shell.bash hook)"'
            message = "conda from ~/.bashrc: it ends early in a batch job"
            yield subject.at_command(command, Severity.WARNING, message, hint=hint)


def unset_variables_stop_conda(subject: Subject) -> Iterator[Mark]:
    """Activation scripts use variables that are not set; with `set -u` they end the job: unbound variable."""
    strict = False
    for command in subject.commands:
        words = command.words
        if words[:1] == ("set",):
            strict = _reads_strict(words[1:], strict)
        elif strict and words and (command is subject.conda_activation or words[:2] == ("source", "activate")):
            message = "set -u is on while conda activates: it uses unset variables"
            yield subject.at_command(command, Severity.WARNING, message, hint="set +u before it, set -u after it")
            return


def conda_init_in_a_job(subject: Subject) -> Iterator[Mark]:
    """`conda init` edits ~/.bashrc and changes nothing in this shell: the activation after it fails."""
    for command in subject.commands:
        if len(command.words) > 1 and subject.base(command.words[0]) in CONDA and command.words[1] == "init":
            hint = 'eval "$(conda shell.bash hook)"'
            yield subject.at_command(command, Severity.ERROR, "conda init has no effect on this shell", hint=hint)


def activation_of_old(subject: Subject) -> Iterator[Mark]:
    """`source activate NAME` is how conda was activated before 4.4."""
    for command in subject.calls("source", "."):
        if len(command.words) > 1 and command.words[1] == "activate":
            hint = 'eval "$(conda shell.bash hook)"; conda activate ' + " ".join(command.words[2:3])
            yield subject.at_command(command, Severity.ADVICE, "source activate is deprecated", hint=hint)


def installs_for_the_user(subject: Subject) -> Iterator[Mark]:
    """`pip install --user` fills home and shines through into every environment; sudo does not work in jobs."""
    for command in subject.commands:
        words = subject.flat(command)
        if (
            "install" in words
            and "--user" in words
            and any(subject.base(one).startswith(("pip", "python")) for one in words)
        ):
            hint = "python -m venv $SLURM_TMPDIR/env, or an environment made before"
            yield subject.at_command(
                command, Severity.WARNING, "pip install --user reaches into every other job", hint=hint
            )
        elif words[:1] == ["sudo"]:
            yield subject.at_command(command, Severity.WARNING, "nobody has sudo on a compute node")


def container_without_gpu(subject: Subject) -> Iterator[Mark]:
    """Without --nv (NVIDIA) or --rocm (AMD) a container sees no GPU: torch.cuda.is_available() is False."""
    if not subject.gpus_per_node and "gpu" not in subject.value("constraint"):
        return
    for command in subject.commands:
        words = subject.flat(command)
        at = next((i for i, word in enumerate(words) if subject.base(word) in ("apptainer", "singularity")), None)
        if at is None or not any(word in _RUNS_IMAGE for word in words[at + 1 : at + 6]):
            continue
        if not {"--nv", "--nvccli", "--rocm"} & set(words):
            name = subject.base(words[at])
            message = f"{name} without --nv: the container sees no GPU"
            yield subject.at_command(command, Severity.WARNING, message, hint=f"{name} exec --nv …")


def image_cache_in_home(subject: Subject) -> Iterator[Mark]:
    """Images that are pulled or built are kept in ~/.apptainer or ~/.singularity: gigabytes in a small home."""
    if "APPTAINER_CACHEDIR" in subject.script.text or "SINGULARITY_CACHEDIR" in subject.script.text:
        return
    for command in subject.calls("apptainer", "singularity"):
        if any(word in ("pull", "build") or word.startswith(("docker://", "library://")) for word in command.words):
            hint = "export APPTAINER_CACHEDIR=$SCRATCH/apptainer"
            yield subject.at_command(command, Severity.ADVICE, "the image's cache goes to home", hint=hint)


def no_modules_at_this_site(subject: Subject) -> Iterator[Mark]:
    """This centre has no module system: `module` is no command there."""
    if subject.site is None or subject.site.software.modules is not ModuleSystem.NONE:
        return
    for command in subject.calls("module", "ml"):
        message = f"{subject.site.name} has no modules"
        yield subject.at_command(command, Severity.WARNING, message, hint="an environment or a container of your own")
        return


def base_module_is_missing(subject: Subject) -> Iterator[Mark]:
    """At this centre other modules are found only after a first one is loaded, such as the year's software stage."""
    if subject.site is None:
        return
    loads = subject.calls("module", "ml")
    loaded = {word.partition("/")[0] for one in loads for word in one.words[1:]}
    missing = [name for name in subject.site.software.always_load if name.partition("/")[0] not in loaded]
    if loads and missing:
        hint = f"module load {missing[0]}"
        yield subject.at_command(loads[0], Severity.ADVICE, f"{missing[0]} comes first here", hint=hint)


def _hook(subject: Subject) -> bool:
    return bool(_HOOK.search(subject.body)) or bool(re.match(r"#!\S*sh\s+-\w*[li]", subject.script.text))


def _loads_conda(subject: Subject) -> bool:
    loads = subject.calls("module", "ml")
    return any(re.search(r"conda|mamba|forge", " ".join(one.words), re.IGNORECASE) for one in loads)


def _reads_files(subject: Subject) -> bool:
    """Some other file is read: it may do anything."""
    return bool(subject.calls("source", ".", "eval"))


def _reads_strict(words: tuple[str, ...], strict: bool) -> bool:
    for at, word in enumerate(words):
        if word.startswith("+") and "u" in word:
            strict = False
        elif _SET_U.match(word) or words[at - 1 : at + 1] == ("-o", "nounset"):
            strict = True
    return strict
