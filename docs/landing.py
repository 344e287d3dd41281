"""The drawings of the landing page, made by the program while the site is built.

A block "drawing" with the name of a function here shows what it draws; "curve" with the name of a page shows the
calibration curve of the page's first reliability diagram, small.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from pathlib import Path

import numpy as np
import polars as pl
from docutils.parsers.rst import Directive
from inline import picture

from unperplexed import Recalibrator, assess
from unperplexed.describe.assessment_charts import Event, reliability_chart

DOCS = Path(__file__).resolve().parent
LEFT, TOP, SIDE, FLOOR, BAR = 46, 14, 372, 412, 110
"""Of the hero, in its own units: edges and side of its square, where the bars stand, and the height of a share of 1."""
SAYS = 0.95
"""The prediction of the headline."""
CERTAIN = 0.95
"""Predictions above this are dots."""

_PICTURE = re.compile(r"\]\(\.\./(pictures/[^)]*\.svg)\)")
_CURVE = re.compile(
    r'<path d="([^"]*)"[^>]*style="fill: none; (?:stroke-dash[^;]*; )*stroke: #(?:0a5ea8|b4500a); stroke-width: 2[;"]'
)
_AXES = re.compile(r'<g id="axes_1">\s*<g id="patch_2">\s*<path d="M (\S+) (\S+)\s+L (\S+) \S+\s+L \S+ (\S+)')


def _data() -> tuple[pl.Series, pl.Series]:
    table = pl.read_csv(DOCS.parent / "examples" / "gallery" / "diabetes.csv")
    return table["progressed"], table["boosted"]


@cache
def _event() -> Event:
    return Event(assess(*_data(), pos_label="yes"))


@cache
def _mended() -> dict[float, float]:
    corrected = Recalibrator().fit(*_data(), pos_label="yes").transform([0.95, 0.5, 0.05])
    return dict(zip((0.95, 0.5, 0.05), np.asarray(corrected).tolist(), strict=True))


def _svg(kind: str, size: tuple[int, int], words: str, parts: Iterator[str]) -> str:
    box = f'viewBox="0 0 {size[0]} {size[1]}"'
    return f'<svg class="{kind}" {box} role="img" aria-label="{escape(words)}">{"".join(parts)}</svg>'


def _line(kind: str, x: object, y: object) -> str:
    points = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(np.ravel(x), np.ravel(y), strict=True))
    return f'<path class="{kind}" d="M{points}"/>'


def _text(kind: str, x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def _circle(kind: str, x: float, y: float, r: float) -> str:
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>'


def hero() -> str:
    """Draw the reliability diagram of the patients, with what the headline asks and its answer."""
    chart = reliability_chart(_event(), after_remedy=False)
    answer = float(np.interp(SAYS, _event().curve.predicted, _event().curve.observed))
    figure = _svg("dia", (440, 462), chart.label, _hero(chart, answer))
    return (
        f'<figure><p class="ftitle">{chart.title}</p><p class="axis">Observed frequency</p>{figure}'
        f'<p class="axis x">Predicted probability</p></figure>'
    )


def _hero(chart, answer: float) -> Iterator[str]:
    def x(p):
        return LEFT + SIDE * np.asarray(p)

    def y(p):
        return TOP + SIDE * (1 - np.asarray(p))

    [line], [points], mirror = chart.lines, chart.points, chart.mirror
    for k in range(6):
        at, words = k / 5, f"{20 * k}%" if k else "0"
        yield f'<path class="g" d="M{x(at):.1f} {TOP}V{y(0):.0f}M{LEFT} {y(at):.1f}H{x(1):.0f}"/>'
        yield _text("t", LEFT - 8, y(at) + 4, words, "end")
        if k < 5:
            yield _text("t", x(at), 452, words)
    yield _line("band", x([*line.x, *line.x[::-1]]), y([*line.low, *line.high[::-1]]))
    yield _line("id", x([0, 1]), y([0, 1]))
    for at, seen, low, high in zip(points.x, points.y, points.low, points.high, strict=True):
        yield _line("wk", x([at, at]), y([low, high])) + _circle("pt", x(at), y(seen), 3)
    yield _line("cv", x(line.x), y(line.y))
    yield _line("says", x([SAYS, SAYS]), y([0, answer])) + _line("is", x([SAYS, 0]), y([answer, answer]))
    yield _circle("dot", x(SAYS), y(answer), 6)
    yield _tag("so", x(SAYS) - 25, 438, 50, f"{SAYS:.0%}") + _tag("ib", 2, y(answer) - 10.5, 42, f"{answer:.0%}")
    yield _text("l b", x(0.12), y(0.445), "observed") + _text("l s", x(0.47), y(0.335), "as predicted", "start")
    for low, high, up, down in zip(mirror.edges, mirror.edges[1:], mirror.up, mirror.down, strict=False):
        where = f'x="{x(low) + 1:.1f}" width="{x(high) - x(low) - 2:.1f}"'
        yield f'<rect class="hu" {where} y="{FLOOR - BAR * up:.1f}" height="{BAR * up:.1f}"/>'
        yield f'<rect class="hd" {where} y="{FLOOR + 1}" height="{BAR * down:.1f}"/>'


def _tag(kind: str, x: float, y: float, width: float, words: str) -> str:
    box = f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width}" height="21" rx="10.5"/>'
    return f'<g class="tag">{box}{_text("", x + width / 2, y + 15, words)}</g>'


def gap() -> str:
    """Draw mean prediction and observed frequency of the group that the verdict names."""
    p, happened, total = _event().pairs
    named = (p >= 0.85) & (p <= 0.95)
    mean = float((p * total)[named].sum() / total[named].sum())
    seen = float(happened[named].sum() / total[named].sum())
    low, high = _limits(seen, float(total[named].sum()))

    def x(p: float) -> float:
        return 2 + 322 * (p - 0.6) / 0.4

    def parts() -> Iterator[str]:
        yield '<path class="ax" d="M2 78H324"/>'
        for k, anchor in enumerate(("start", "middle", "middle", "middle", "end")):
            at = 0.6 + k / 10
            yield f'<path class="ax" d="M{x(at):.1f} 78v5"/>' + _text("t", x(at), 99, f"{at:.0%}", anchor)
        yield _line("gl", [x(seen)] * 2, [50, 78]) + _line("gl", [x(mean)] * 2, [50, 78])
        yield _line("ci", [x(low), x(high)], [50, 50])
        yield _circle("pt", x(seen), 50, 7) + _circle("ring", x(mean), 50, 6.5)
        yield _text("l b", x(seen) + 24, 27, f"{seen:.0%} observed", "end")
        yield _text("l o", x(mean) - 26, 27, f"{mean:.0%} predicted", "start")

    words = f"Mean prediction {mean:.0%}, observed frequency {seen:.0%}, 95% CI {low:.0%} to {high:.0%}"
    return _svg("mini", (340, 118), words, parts())


def _limits(share: float, n: float, z: float = 1.96) -> tuple[float, float]:
    """Give Wilson's interval."""
    centre, scale = share + z * z / (2 * n), 1 + z * z / n
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (centre - half) / scale, (centre + half) / scale


def dots() -> str:
    """Draw the confident predictions, the least confident first; wrong ones stand out."""
    observed, p = (column.to_numpy() for column in _data())
    top, right = np.maximum(p, 1 - p), (observed == "yes") == (p > 0.5)
    order = np.argsort(top, kind="stable")
    wrong = [not right[k] for k in order if top[k] > CERTAIN]
    words = f"{len(wrong)} predictions above {CERTAIN:.0%}, of which {sum(wrong)} are wrong"
    shown = (_circle("w" if each else "r", 8 + 21.6 * (k // 5), 14 + 20 * (k % 5), 6.4) for k, each in enumerate(wrong))
    return _svg("mini", (340, 118), words, shown)


def slope() -> str:
    """Draw what recalibration makes of three predictions."""

    def parts() -> Iterator[str]:
        yield '<path class="ax" d="M60 27V109M256 27V109" opacity=".45"/>'
        yield _text("t", 60, 12, "predicted") + _text("t", 256, 12, "recalibrated")
        for before, after in _mended().items():
            start, end = (109 - 82 * each for each in (before, after))
            yield _line("sl", [60, 256], [start, end]) + _circle("ring", 60, start, 5.5) + _circle("pt", 256, end, 6)
            yield _text("l o", 44, start + 4.5, f"{before:.0%}", "end")
            yield _text("l b", 272, end + 4.5, f"{after:.0%}", "start")

    words = "Recalibration maps " + ", ".join(f"{before:.0%} to {after:.0%}" for before, after in _mended().items())
    return _svg("mini", (340, 118), words, parts())


def curve(page: str) -> str:
    """Draw the calibration curve of a page's first reliability diagram, that which departs most from the diagonal."""
    shown = _PICTURE.findall((DOCS / f"{page}.md").read_text("utf-8"))
    curves = next(filter(None, (_curves((DOCS / path).read_text("utf-8")) for path in shown)))
    x, y = max(curves, key=lambda curve: np.mean(np.abs(curve[1] - curve[0])))
    square = '<rect class="fr" x="4" y="4" width="64" height="64"/><path class="id" d="M4 68L68 4"/>'
    return _svg("th", (72, 72), "Calibration curve", iter((square, _line("cv", 4 + 64 * x, 68 - 64 * y))))


def _curves(text: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Find the calibration curves of a reliability diagram, from 0 to 1; none in another picture."""
    axes = _AXES.search(text)
    if axes is None or "redicted probability" not in text:
        return []
    left, bottom, right, top = map(float, axes.groups())
    paths = (np.array(re.findall(r"[ML] (\S+) (\S+)", path), dtype=float).T for path in _CURVE.findall(text))
    return [((x - left) / (right - left), (y - bottom) / (top - bottom)) for x, y in paths if x.size > 3]


DRAWINGS: dict[str, Callable[[], str]] = {each.__name__: each for each in (hero, gap, dots, slope)}


class Drawing(Directive):
    """Shows a drawing by its name."""

    required_arguments = 1
    optional_arguments = 1

    def run(self):
        """Draw it."""
        name, *rest = self.arguments
        self.state.document.settings.env.note_reread()
        return [picture("", svg=DRAWINGS[name]() if not rest else curve(*rest))]


def setup(app):
    """Let Sphinx use it."""
    app.add_directive("drawing", Drawing)
    return {"parallel_read_safe": True}
