"""The inventory: what five centres' documents say, row by row, and what covers each row, or why nothing does yet."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_FOLDER = _ROOT / "tests" / "inventory"
_ORDER = ("sdumont", "alliance_1", "alliance_2", "jsc", "cscs", "wilson")


@dataclass(frozen=True, kw_only=True)
class Row:
    number: str
    centre: str
    topic: str
    says: str
    tests: tuple[str, ...]
    pages: tuple[str, ...]
    not_yet: str | None

    @property
    def standing(self) -> str:
        """In one word, for the summary."""
        if not self.tests and not self.pages:
            return "nothing to do" if (self.not_yet or "").startswith("nothing to do") else "not yet"
        if self.not_yet is not None:
            return "in part"
        return "by a test" if self.tests else "by a page"


def make_inventory() -> str:
    rows = [row for name in _ORDER for row in load_rows(_FOLDER / f"{name}.toml")]
    centres = list(dict.fromkeys(row.centre for row in rows))
    lead = (
        f"Windlass began with {len(rows)} rows from the documents of five centres.",
        "Here is each of them in short, with the tests and pages that cover it, or why it is not covered yet.",
        "The rows are data (`tests/inventory/*.toml`), and a test holds that every test and page named here exists.",
        "The facts themselves are on [Sites](sites.md), with the document each is from.",
    )
    parts = ["# The inventory", "\n".join(lead), make_summary(rows, centres)]
    for centre in centres:
        parts += [f"## {centre}", make_table(row for row in rows if row.centre == centre)]
    return "\n\n".join(parts)


def load_rows(path: Path) -> list[Row]:
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    return [make_row(number, values["centre"], row) for number, row in values["rows"].items()]


def make_row(number: str, centre: str, values: Mapping[str, object]) -> Row:
    places = values.get("covered_by", [])
    assert isinstance(places, list)
    return Row(
        number=number,
        centre=centre,
        topic=str(values["topic"]),
        says=str(values["says"]),
        tests=tuple(one for one in places if one.startswith("tests/")),
        pages=tuple(one for one in places if one.startswith("docs/")),
        not_yet=str(values["not_yet"]) if "not_yet" in values else None,
    )


def make_summary(rows: Iterable[Row], centres: Iterable[str]) -> str:
    kinds = ("by a test", "by a page", "in part", "not yet", "nothing to do")
    counted = Counter((row.centre, row.standing) for row in rows)
    lines = [f"| covered | {' | '.join(kinds)} | rows |", f"| --- |{' --- |' * (len(kinds) + 1)}"]
    for centre in centres:
        numbers = [counted[centre, kind] for kind in kinds]
        lines.append(f"| {centre} | {' | '.join(map(str, numbers))} | {sum(numbers)} |")
    totals = [sum(counted[centre, kind] for centre in centres) for kind in kinds]
    lines.append(f"| together | {' | '.join(map(str, totals))} | {sum(totals)} |")
    return "\n".join(lines)


def make_table(rows: Iterable[Row]) -> str:
    lines = ["| row | about | what it says | covered by | not yet |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        covered = "<br>".join((*group_tests(row.tests), *map(link_page, row.pages)))
        lines.append(f"| {row.number} | {row.topic} | {escape(row.says)} | {covered} | {escape(row.not_yet or '')} |")
    return "\n".join(lines)


def group_tests(tests: Iterable[str]) -> list[str]:
    """One line a file: its path, and what of it counts."""
    files: dict[str, dict[str, list[str]]] = {}
    for one in tests:
        file, _, name = one.partition("::")
        function, _, parameter = name.partition("[")
        parameters = files.setdefault(file, {}).setdefault(function, [])
        parameters += [parameter.removesuffix("]")] if parameter else []
    return [f"`{file}`: {escape('; '.join(starmap(say, found.items())))}" for file, found in files.items()]


def say(function: str, parameters: Iterable[str]) -> str:
    """`test_it_trips` with `C202`: it trips (C202)."""
    words = function.removeprefix("test_").replace("_", " ")
    given = ", ".join(parameters)
    return f"{words} ({given})" if given else words


def link_page(page: str) -> str:
    path, _, anchor = page.partition("#")
    headings = re.findall(r"^#+ (.+)$", (_ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    part = next((one for one in headings if make_anchor(one) == anchor), "")
    inside = path.removeprefix("docs/")
    target = inside.removeprefix("reference/") if inside.startswith("reference/") else f"../{inside}"
    named = f"{headings[0]}: {part}" if part else headings[0]
    return f"[{escape(named)}]({target}{f'#{anchor}' if anchor else ''})"


def make_anchor(heading: str) -> str:
    """As the manual makes it."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("_", "\\_").replace("*", "\\*")
