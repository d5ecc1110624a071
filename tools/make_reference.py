"""Write the pages of docs/reference from the code. With --check: write nothing, fail where a page is out of date."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click
import reference_api
import reference_files
import reference_inventory
import reference_job
import reference_sites
from reference_comments import read_comments

from windlass.advice import ADVICE
from windlass.checks import CHECKS
from windlass.cli.main import windlass
from windlass.core.rehearsal.findings import REHEARSED
from windlass.diagnoses import DIAGNOSES
from windlass.errors import ERRORS, ExitCode
from windlass.lint import RULES

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
NOTE = "<!-- Written by tools/make_reference.py: change the code, then run `make docs`. -->"


def main() -> int:
    pages = {name: f"{NOTE}\n\n{text.strip()}\n" for name, text in make_pages().items()}
    stale = [name for name, text in pages.items() if load(FOLDER / name) != text]
    if "--check" in sys.argv:
        if stale:
            print(f"out of date in docs/reference: {', '.join(stale)}; run: make docs", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (FOLDER / name).write_text(pages[name], encoding="utf-8")
    return 0


def make_pages() -> dict[str, str]:
    return {
        "commands.md": make_commands(),
        "run-file.md": reference_files.make_run_file(),
        "site-file.md": reference_files.make_site_file(),
        "sites.md": reference_sites.make_sites(),
        "inventory.md": reference_inventory.make_inventory(),
        "errors.md": make_errors(),
        "checks.md": make_rules("Checks", "before anything is sent", CHECKS),
        "lint-rules.md": make_rules("Lint rules", "in a batch script", RULES),
        "diagnoses.md": make_rules("Diagnoses", "when a run has ended without success", DIAGNOSES),
        "advice.md": make_rules("Advice", "when a run has not used what it asked for", ADVICE),
        "rehearsals.md": make_rules("Findings of a rehearsal", "in a rehearsal", REHEARSED),
        "exit-codes.md": make_exit_codes(),
        "python.md": reference_api.make_api(),
        "run-folder.md": reference_job.make_run_folder(),
        "environment.md": reference_job.make_environment(),
    }


def load(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def make_commands() -> str:
    parts = [f"## {name}\n\n```text\n{text}\n```" for name, text in walk(windlass, "windlass", None)]
    lead = "Every command prints data on stdout and talk on stderr; `--json` may stand anywhere on the line."
    return "\n\n".join(("# Commands", lead, *parts))


def walk(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    # The same width everywhere, whatever the terminal.
    settings = {**command.context_settings, "terminal_width": 100, "max_content_width": 100}
    context = click.Context(command, info_name=name, parent=parent, **settings)
    yield context.command_path, command.get_help(context).strip()
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None:
                yield from walk(found, below, context)


def make_exit_codes() -> str:
    comments = read_comments(ExitCode)
    rows = [f"| {code.value} | {comments[code.name]} |" for code in ExitCode]
    kinds = [f"| {code} | {kind.exit_code.value} |" for code, kind in sorted(ERRORS.items())]
    return "\n".join(
        (
            "# Exit codes",
            "",
            "| exit code | meaning |",
            "| --- | --- |",
            *rows,
            "",
            "`windlass run`, `windlass resume`, `windlass wait` and `windlass logs -f` end with 7 when the run did not "
            "succeed.",
            "`windlass farm run` and `windlass wait` end with 1 when tasks of a farm failed, and with 7 when nobody is "
            "left to run the rest.",
            "",
            "Inside a job the agent ends as your command did; where it has a word of its own, with one of these:",
            "",
            reference_job.make_job_exit_codes(),
            "",
            "| error | exit code |",
            "| --- | --- |",
            *kinds,
        )
    )


def make_errors() -> str:
    parts = [
        f"## {code}: {in_words(kind.__name__)}\n\nExit code {kind.exit_code.value}.\n\n{inspect.getdoc(kind)}"
        for code, kind in sorted(ERRORS.items())
    ]
    return "\n\n".join(("# Errors", "`windlass explain CODE` prints the same.", *parts))


def make_rules(title: str, when: str, rules: Mapping[str, Callable[..., object]]) -> str:
    parts = [f"## {code}: {in_words(rule.__name__)}\n\n{inspect.getdoc(rule)}" for code, rule in sorted(rules.items())]
    lead = f"What Windlass looks at {when}.\n`windlass explain CODE` prints the same."
    return "\n\n".join((f"# {title}", lead, *parts))


def in_words(name: str) -> str:
    """ClusterRefused and time_is_missing, as words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower()


if __name__ == "__main__":
    sys.exit(main())
