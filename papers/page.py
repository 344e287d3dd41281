"""Writes exhibits: a page in Markdown, their pictures, and the figures as JSON."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from .exhibits import Exhibit, Line, Made

INTRODUCTION = """# The papers, figure by figure

*Also called: replication, reproduction study, errata.*

`unperplexed` started from the averages and scores of four papers. Does it compute what they print? This page makes
their figures and tables anew, and reproduces 65 of the 87 printed numbers. The first table counts them, and its last
column says why some differ. (It leaves out the third paper, [CM], because the predictions of its networks are not
public.) A number is *reproduced* if ours rounds to it or, for a formula, if both sides agree to six digits.

"""

KEY = """
In the tables, *printed* is the paper's number, if it has one, and *how* names our method: an *exact integral*, a
*formula*, a *simulation* with its standard error, or *other data* if the paper's data are not public. Remarks under a
table say which choices the paper leaves open. In pictures, crosses mark printed values. The
[glossary](../reference/glossary.md) explains geometric accuracy, robustness and decisiveness.

To make the page yourself, run `python -m papers` in a checkout after `pip install '.[sklearn]'`. Only [CM] Figure 1 and
Table 2 stay as they are, unless `UNPERPLEXED_DATA` names a folder with the predictions of networks, which are not in
the repository.
"""

_HEAD = ("", "printed", "ours", "difference", "how")
_OVERVIEW_HEAD = ("exhibit", "printed numbers", "reproduced", "largest difference", "why numbers differ")

_TOLERANCE = 1e-6
"""For figures compared with those written down: processors differ in last digits, which simulations can magnify."""

PUBLISHED = Path(__file__).parent.parent / "docs" / "evidence"


def pictures_of(folder: Path) -> Path:
    """Give the folder of the pictures, made where it is not there."""
    pictures = folder / "pictures" / "papers"
    pictures.mkdir(parents=True, exist_ok=True)
    return pictures


def written(made: Mapping[str, tuple[Exhibit, Made]], papers: Sequence[ModuleType], folder: Path) -> Path:
    """Write page, pictures and JSON into a folder, and give the page's path."""
    pictures = pictures_of(folder)
    with mpl.rc_context({"svg.hashsalt": "unperplexed"}):
        for name, (_, shown) in made.items():
            path = pictures / f"{name}.svg"
            if isinstance(shown.picture, Figure):
                shown.picture.savefig(path, metadata={"Date": None})
            elif shown.picture is not None and shown.picture.resolve() != path.resolve():
                shutil.copyfile(shown.picture, path)
    for name, (_, shown) in made.items():
        for file, table in _tables(name, shown).items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(table, "utf-8")
    (folder / "papers.csv").write_text(_overview(made, papers), "utf-8")
    parts = [INTRODUCTION + "\n".join(_shown("papers.csv")) + KEY]
    for paper in papers:
        of_paper = [made[exhibit.name] for exhibit in paper.EXHIBITS if exhibit.name in made]
        if of_paper:
            parts += [f"## {paper.TITLE}\n", f"{_wrapped(paper.SOURCE)}\n", *(_section(*each) for each in of_paper)]
    page = folder / "papers.md"
    page.write_text("\n".join(parts), encoding="utf-8")
    (folder / "papers.json").write_text(json.dumps(_figures(made), indent=1, ensure_ascii=False) + "\n", "utf-8")
    return page


def published(name: str, remarks: Sequence[str]) -> Made:
    """Give an exhibit as the page has it, for data that are not there. Its figures have three digits."""
    figures = json.loads((PUBLISHED / "papers.json").read_text("utf-8"))[name]
    lines = [Line(figure["what"], figure["printed"][0], figure["ours"], figure["how"], digits=3) for figure in figures]
    picture = PUBLISHED / "pictures" / "papers" / f"{name}.svg"
    return Made(lines, picture if picture.exists() else None, remarks, old=True)


def differing(made: Mapping[str, tuple[Exhibit, Made]], folder: Path) -> list[str]:
    """Say where the page and the JSON do not say what was made."""
    there = json.loads((folder / "papers.json").read_text("utf-8"))
    parts = (folder / "papers.md").read_text("utf-8").split("\n### ")
    sections = {part.split("\n", 1)[0]: f"### {part}".split("\n## ")[0].rstrip().split("\n") for part in parts[1:]}
    found = []
    for name, (exhibit, shown) in made.items():
        lines, figures = there.get(name, []), [_figure(line) for line in shown.lines]
        if [line["what"] for line in lines] != [line["what"] for line in figures]:
            found.append(f"{name}: other lines")
            continue
        found += [
            f"{name}: {now['what']}: {key} was {before[key]}, is {now[key]}"
            for before, now in zip(lines, figures, strict=True)
            for key in now
            if not _same(before[key], now[key])
        ]
        if shown.picture is not None and not (folder / "pictures" / "papers" / f"{name}.svg").exists():
            found.append(f"{name}: the picture is not there")
        said, words = sections.get(exhibit.title, []), _section(exhibit, shown).rstrip().split("\n")
        for path, table in _tables(name, shown).items():
            said = said + ((folder / path).read_text("utf-8").splitlines() if (folder / path).exists() else [])
            words = words + table.splitlines()
        if len(said) != len(words):
            found.append(f"{name}: the page has other lines")
        found += [
            f"{name}: the page says {before!r}, not {now!r}"
            for before, now in zip(said, words, strict=False)
            if not _same_line(before, now)
        ]
    return found


def _same_line(before: str, now: str) -> bool:
    """Whether lines agree: in a table ours, difference and how within the last digit, all else wholly."""
    cells, others = ([] if not line.startswith('"') else next(csv.reader([line])) for line in (before, now))
    if not others or len(cells) != len(others):
        return before == now
    words, other_words = (" ".join(line[2:]).split() for line in (cells, others))
    if cells[:2] != others[:2] or len(words) != len(other_words):
        return False
    return all(_same_word(*pair) for pair in zip(words, other_words, strict=True))


def _same_word(before: str, now: str) -> bool:
    try:
        one, other = (float(word.strip(",±|")) for word in (before, now))
    except ValueError:
        return before == now
    digits = len(now.strip(",±|").partition(".")[2])
    return abs(one - other) <= 1.1 * 10.0**-digits


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(*each) for each in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return bool(one == other)


def _figures(made: Mapping[str, tuple[Exhibit, Made]]) -> dict[str, list[dict[str, Any]]]:
    return {name: [_figure(line) for line in shown.lines] for name, (_, shown) in made.items()}


def _figure(line: Line) -> dict[str, Any]:
    def rounded(values: Sequence[Any]) -> list[Any]:
        return [float(f"{x:.10g}") if isinstance(x, float) else x for x in values]

    return {
        "what": line.what,
        "printed": [line.printed] if isinstance(line.printed, str) else list(line.printed),
        "value_of_print": rounded(line.expected),
        "ours": rounded(line.values),
        "difference": rounded(line.differences),
        "how": line.how,
        "standard_error": rounded(line.errors),
    }


def _section(exhibit: Exhibit, shown: Made) -> str:
    lines = [f"### {exhibit.title}\n", f"{_wrapped(exhibit.shows)}\n"]
    if shown.picture is not None:
        lines.append(f"![{exhibit.title.partition(':')[0]}](pictures/papers/{exhibit.name}.svg)\n")
    for path in _tables(exhibit.name, shown):
        lines += _shown(path)
    return "\n".join(lines)


def _shown(path: str) -> list[str]:
    """Lines of the page that show a table."""
    return [":::{csv-table}", f":file: {path}", ":header-rows: 1", ":::", ""]


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def _overview(made: Mapping[str, tuple[Exhibit, Made]], papers: Sequence[ModuleType]) -> str:
    """A row for each exhibit: how many numbers are printed and reproduced, how far off the others are, and why."""
    rows = []
    for paper in papers:
        label = paper.TITLE.split()[0]
        for exhibit in paper.EXHIBITS:
            if exhibit.name in made and (
                pairs := [p for line in made[exhibit.name][1].lines if not line.again for p in _pairs(line)]
            ):
                off = [abs(ours - value) for value, ours, within in pairs if abs(ours - value) > within]
                most = f"{max(off):.2g}" if off else ""
                counts = str(len(pairs)), str(len(pairs) - len(off))
                rows.append((f"{label} {exhibit.title}", *counts, most, exhibit.why))
    return _quoted([_OVERVIEW_HEAD, *rows])


def _pairs(line: Line) -> list[tuple[float, float, float]]:
    """Each printed number of a line, or what a printed formula comes to, with ours and what rounding allows."""
    said = [line.printed] * len(line.values) if isinstance(line.printed, str) else line.printed
    pairs = []
    for at, found in enumerate(line.values):
        try:
            value = line.expected[at] if line.expected else float(said[at].replace("−", "-"))
            ours = float(found)
        except (ValueError, IndexError):
            continue
        digits = len(said[at].partition(".")[2]) if at < len(said) else 0
        pairs.append((value, ours, 1e-6 * abs(value) if line.expected else 0.5000001 * 10.0**-digits))
    return pairs


def _tables(name: str, shown: Made) -> dict[str, str]:
    """The tables of an exhibit by their paths: its lines, and what there is to remark."""
    tables = {f"exhibits/{name}.csv": [_HEAD, *map(_cells, shown.lines)]} if shown.lines else {}
    if shown.remarks:
        tables[f"remarks/{name}.csv"] = [("remarks",), *([remark] for remark in shown.remarks)]
    return {path: _quoted(rows) for path, rows in tables.items()}


def _quoted(rows: Iterable[Sequence[str]]) -> str:
    """Rows as CSV, each of which begins with a quotation mark."""
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return written.getvalue()


def _cells(line: Line) -> list[str]:
    def joined(values: Sequence[Any], sign: str = "") -> str:
        return ", ".join(x if isinstance(x, str) else _number(x, line.digits, sign) for x in values)

    printed = line.printed if isinstance(line.printed, str) else ", ".join(x or "–" for x in line.printed)
    if line.expected:
        printed += f" = {joined(line.expected)}"
    there = any(difference is not None for difference in line.differences)
    differences = joined(["–" if x is None else x for x in line.differences], "+") if there else ""
    how = f"{line.how}, ± {joined(line.errors)}" if line.errors else line.how
    return [line.what, printed, joined(line.values), differences, how]


def _number(x: float, digits: int, sign: str) -> str:
    text = f"{x:{sign}.{digits}f}"
    return text.lstrip("+-") if not float(text) else text  # neither +0 nor -0
