"""Data sets that the run names: whether the site has them, whole."""

from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.toml.reading import nearest
from windlass.core.toml.writing import format_key

_UNUSABLE = ("missing", "partial")


def set_is_not_there(case: Case) -> Iterator[Finding]:
    """The run reads a data set by its name, and the site has none of that name: the job would stop at its start.

    `windlass data ls --on SITE` lists those that are there; `windlass data send` brings one.
    """
    if case.facts.data_sets is None:
        return
    for name, data in case.spec.data.items():
        wanted = data.set_name
        if wanted is None or case.facts.data_set(wanted) is not None:
            continue
        close = nearest(wanted, case.facts.data_names or ())
        there = f"windlass data ls --on {case.site.name}" if case.facts.data_names else ""
        bring = f"windlass data send FOLDER --name {wanted} --on {case.site.name}"
        yield Finding(
            code="C418",
            severity=Severity.ERROR,
            message=f"data.{name} is the data set {wanted!r}, and {case.site.name} has none of that name"
            + (f"; did you mean {close!r}?" if close else ""),
            hint=f'[{format_key(("data", name))}] source = "set:{close}"'
            if close
            else "\n".join(filter(None, (bring, there))),
            fact=f"windlass data ls --on {case.site.name}",
        )


def raw_files_travel_as_code(case: Case) -> Iterator[Finding]:
    """The run reads a packed data set, and the plain files it was packed from go along with the code as well.

    They lie in the project, and each run would carry them to the site once more, where nobody reads them. `exclude`
    under [run] leaves them out; the packed data set stays where it is.
    """
    for one in case.data:
        if not one.raw_folder:
            continue
        pattern = f'exclude = ["{one.raw_folder}/**"]'
        files = f"{one.raw_files} file{'' if one.raw_files == 1 else 's'}"
        yield Finding(
            code="C420",
            severity=Severity.WARNING,
            message=f"{one.raw_folder}/ ({files}) travels with the code, and data.{one.name} is read packed",
            hint=f"{pattern} under [run]",
            fact="the files that go along with the run",
        )


def set_is_damaged(case: Case) -> Iterator[Finding]:
    """The data set is there and cannot be used as it is: half sent, its card damaged, or a shard of it gone.

    `windlass data verify NAME --on SITE` tells all that is wrong; sending it again mends it and moves only what lacks.
    """
    for name, data in case.spec.data.items():
        known = case.facts.data_set(data.set_name)
        if known is None or not (known.problem or known.kind in _UNUSABLE):
            continue
        again = f"windlass data send FOLDER --name {known.name} --on {case.site.name}"
        elsewhere = f"windlass data register {known.name} PATH --replace --on {case.site.name}"
        yield Finding(
            code="C419",
            severity=Severity.ERROR,
            message=f"data.{name}: the data set {known.name} at {known.path} cannot be used: {known.problem}",
            hint=elsewhere if known.is_pointer else again,
            fact=f"{known.path}/dataset.json" if known.kind == "packed" else f"ls {known.path}",
        )
