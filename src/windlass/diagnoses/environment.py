"""What must be there before a program can run: shells, modules, libraries, containers."""

import re
from collections.abc import Iterator

from windlass.core.ending.symptoms import Symptoms, set_to
from windlass.core.finding import Diagnosis, Setting
from windlass.core.seen.areas import fill_in

_CONDA = re.compile(
    r"CommandNotFoundError: Your shell has not been properly configured to use 'conda activate'|"
    r"CondaError: Run 'conda init' before 'conda activate'|(?:^|[ :])conda: command not found|"
    r"EnvironmentNameNotFound: Could not find conda environment|EnvironmentLocationNotFound: Not a conda environment",
    re.MULTILINE,
)
# Lmod breaks its sentences where 80 columns end.
_MODULES = re.compile(
    r"Lmod has detected the following error:|The following module\(s\) are unknown:|"
    r"Unable to locate a modulefile for '[^'\n]+'|(?:^|[ :])module: command not found|"
    r"These module\(s\) (?:or extension\(s\) )?exist\s+but\s+cannot\s+be\s+loaded|"
    r"Module cannot be loaded due to (?:a conflict|missing prereq)",
    re.MULTILINE,
)
_MODULE_NAME = re.compile(
    r"(?:are unknown:|as\s+requested:|Cannot load module)\s+\"(?P<lmod>[^\"\n]+)\"|a modulefile for '(?P<tcl>[^'\n]+)'"
)
_WINDOWS = re.compile(r"\^M: bad interpreter|\\r'?: (?:command not found|No such file or directory)|[‘'\"]\w+\\r[’'\"]")
_GLIBC = re.compile(r"version [`'](?P<version>(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)' not found")
_CONTAINER = re.compile(
    r"(?:FATAL:|While (?:making image|performing build)|mksquashfs|conveyor failed|writing blob)"
    r"(?:(?!FATAL:|While |mksquashfs|conveyor|writing blob)[^\n])*"
    r"no space left on device|no space left on device(?:(?!no space left)[^\n])*(?:oci|bundle-temp|SIF|squashfs)",
    re.IGNORECASE,
)
_SCONTROL = re.compile(
    r"scontrol: (?:not found|command not found)|No such file or directory: 'scontrol'|"
    r"exec: \"scontrol\": executable file not found"
)
_ARCHITECTURE = re.compile(
    r"cannot execute binary file: Exec format error|\[Errno 8\] Exec format error|"
    r"image's architecture \(\w+\) could not run on the host's"
)
_OTHER_PYTHON = re.compile(r"windlass: the environment was built for (?P<what>[^,\n]{1,100}), (?P<now>[^\n]{1,200})")
_LIBRARY = re.compile(
    r"error while loading shared libraries: (?P<name>[^:\s]+): cannot open shared object file|"
    r"(?:OSError|ImportError): (?P<other>lib[^:\s]+): cannot open shared object file"
)


def conda_not_active(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """conda is not there, or not set up, in the job's shell: it is not interactive and reads no .bashrc.

    Source conda's own file first, or name the environment's Python by its full path.
    """
    if line := symptoms.fatal(_CONDA):
        yield Diagnosis(
            code="D601",
            message="conda is not set up in the job's shell",
            evidence=(line,),
            hint="conda info --base tells the folder on the login node",
            patch=_use_conda(symptoms),
        )


def module_unknown(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A module could not be loaded: its name or version is not there, or needs others first, or there is no `module`.

    `windlass modules find NAME --on SITE`, or `module spider NAME` on the login node, tells which versions there are
    and what must be loaded before. Modules may differ between login and compute nodes.
    """
    line = symptoms.fatal(_MODULES)
    if line is None:
        return
    if "command not found" in line:
        message, hint = (
            "there is no `module` in the job's shell",
            "#!/bin/bash -l, or [software] modules in the site file",
        )
    else:
        name = _find_module(symptoms, line)
        message = f"the module {name} could not be loaded" if name else "a module could not be loaded"
        hint = _search_module(symptoms, name or "NAME")
    yield Diagnosis(
        code="D602",
        message=message,
        evidence=(line, *_next_lines(symptoms, line)),
        hint=f"{hint}; then [environment] modules",
    )


def windows_line_ends(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A script has Windows line ends: the shell takes the invisible character for a part of the word."""
    if line := symptoms.fatal(_WINDOWS):
        yield Diagnosis(
            code="D603",
            message="a script has Windows line ends (CR LF)",
            evidence=(line,),
            hint="sed -i 's/\\r$//' SCRIPT; in git: * text=auto eol=lf in .gitattributes",
        )


def library_too_old(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A package was built on a newer system than the node's: its C library is too old, or a library is missing.

    Use a container, the site's modules or conda-forge. Never preload another libc.
    """
    if line := symptoms.fatal(_GLIBC):
        found = _GLIBC.search(line)
        wanted = found["version"] if found else "a newer libc"
        have = f"; the login node has glibc {symptoms.facts.glibc}" if symptoms.facts.glibc else ""
        yield Diagnosis(
            code="D604",
            message=f"a package wants {wanted}, which the node's system lacks{have}",
            evidence=(line,),
            hint="a container, the site's modules, or conda-forge: [environment]",
        )


def container_space(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Apptainer unpacks an image in /tmp, which is small or in memory, and keeps its cache in home.

    Build once, on a large local disk, and send the image; never build in every rank.
    """
    if line := symptoms.fatal(_CONTAINER):
        cache = symptoms.site.software.container_cache if symptoms.site else None
        disk = f"a large disk, here {cache}" if cache else "a large disk"
        yield Diagnosis(
            code="D605",
            message="the container's image did not fit into the folder where it is unpacked",
            evidence=(line,),
            hint=f"APPTAINER_TMPDIR and APPTAINER_CACHEDIR on {disk}; build once and send the .sif file",
            patch=_use_cache(fill_in(cache, symptoms.facts)) if cache else (),
        )


def scontrol_missing(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A framework called scontrol where there is none: inside a container, or on a node without Slurm's commands.

    It wants to requeue its own job. Windlass's chains do not need that: switch it off (Lightning:
    SLURMEnvironment(auto_requeue=False)).
    """
    if line := symptoms.stuck(_SCONTROL):
        yield Diagnosis(
            code="D608",
            message="the program called scontrol, which is not there inside the container or on the node",
            evidence=(line,),
            hint="switch its own requeuing off (Lightning: SLURMEnvironment(auto_requeue=False)): the chain goes on",
        )


def wrong_architecture(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A program or image was built for another kind of processor than the node has (x86_64, aarch64, ppc64le)."""
    if line := symptoms.fatal(_ARCHITECTURE):
        yield Diagnosis(
            code="D609",
            message="a program was built for another kind of processor than the node has",
            evidence=(line,),
            hint="build or install it on that machine, or choose another partition: [resources] partition",
        )


def library_missing(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A library was not found: the module that has it is not loaded in the job, or a package lacks it."""
    if line := symptoms.fatal(_LIBRARY):
        found = _LIBRARY.search(line)
        name = (found["name"] or found["other"]) if found else "a library"
        yield Diagnosis(
            code="D610",
            message=f"the library {name} was not found",
            evidence=(line,),
            hint="load the module that has it: [environment] modules",
        )


def environment_of_another_python(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The environment was built for another Python or processor than the job has, and the job stopped before it.

    A module was replaced at the site, or the run loads other modules than the environment was built with. Build it
    again: `windlass env build`.
    """
    if line := symptoms.fatal(_OTHER_PYTHON):
        site = f" --on {symptoms.site.name}" if symptoms.site else ""
        yield Diagnosis(
            code="D612",
            message=line.partition("windlass: ")[2],
            evidence=(line,),
            hint=f"windlass env build{site}; or the modules it was built with: [environment] modules",
        )


def _use_conda(symptoms: Symptoms) -> tuple[Setting, ...]:
    plan = symptoms.plan
    text = " ".join((*plan.activate, plan.command)) if plan else ""
    found = re.search(r"conda activate ([\w./-]+)", text)
    if found is None:
        return ()
    line = f'source "$(conda info --base)/etc/profile.d/conda.sh" && conda activate {found[1]}'
    return () if "profile.d/conda.sh" in text else (set_to("environment.activate", line),)


def _use_cache(folder: str) -> tuple[Setting, ...]:
    """Nothing where the path still holds a variable: what is in [run.env] stands in quotes, and none is filled in."""
    if "$" in folder:
        return ()
    return tuple(set_to(f"run.env.{name}", folder) for name in ("APPTAINER_CACHEDIR", "APPTAINER_TMPDIR"))


def _find_module(symptoms: Symptoms, line: str) -> str | None:
    """The first that is named from this line on."""
    found = _MODULE_NAME.search(_text_from(symptoms, line))
    return (found["lmod"] or found["tcl"]) if found else None


def _search_module(symptoms: Symptoms, name: str) -> str:
    if symptoms.is_foreign or symptoms.site is None:
        return f"module spider {name}"
    return f"windlass modules find {name.partition('/')[0]} --on {symptoms.site.name}"


def _next_lines(symptoms: Symptoms, line: str) -> tuple[str, ...]:
    """Lmod writes the name, or the rest of its sentence, on the next line."""
    if not line.startswith("Lmod") or _MODULE_NAME.search(line):
        return ()
    after = _text_from(symptoms, line).split("\n")[1:2]
    return tuple(one.strip() for one in after if one.strip())


def _text_from(symptoms: Symptoms, line: str) -> str:
    start = symptoms.text.rfind(line)
    return symptoms.text[max(0, start) :][:2000]
