"""Draw the pictures of the pages from the pages' own examples: ``python docs/page_pictures.py``, or with some names.

A picture is what an expression draws after the examples that stand before it on its page.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import drawings
from matplotlib.figure import Figure
from rewrite import rewritten

from gallery import round_numbers, small_files

DOCS = Path(__file__).resolve().parent
FOLDER = DOCS / "pictures" / "pages"
_LINK = r"!\[[^\]]*\]\((?:\.\./)?pictures/pages/%s\.svg\)"

PICTURES = {
    "start": "result.plot()",
    "averages": "assess(wet, predicted, measured='equal-population:bins=15', resamples=0).plot(kind='averages')",
    "comparison": "result.plot()",
    "groups": "result.plot(kind='findings')",
    "where": "found.plot()",
    "decisions": "boosted.plot()",
    "diagnosis": "two_by_two({name: sigmoid(s) for name, s in models.items()}, rain == 'rain', assess)",
    "elections": "result.plot(kind='reliability', name='election forecasts')",
    "weather": (
        "(lambda a, b: a.plot(b.plot(kind='reliability', name='other months'), kind='reliability', name='July to "
        "September'))(*(assess(part['rain'], part['p_rain'], scale='percent', clusters=part['date']) for part in "
        "[table.filter((pl.col('date').dt.quarter() == 3) == third) for third in (True, False)]))"
    ),
    "medicine": "result.plot(kind='reliability', name='boosted trees')",
    "recalibrate": (
        "assess(past['fraud'], recalibrator.transform(past['score']), resamples=0)"
        ".plot(assess(past['fraud'], past['score']).plot(name='before'), name='after')"
    ),
    "sequential": "result.plot()",
    "profile": "rain.profile.plot(measured=rain.measured_profile)",
    "pools": "rivals.plot()",
    "credit": "ax",
    "language-models": "loss_by_position(texts)",
    "bars": "result.plot(kind='bars')",
    "skill": "result.plot()",
    "monitoring": "found.plot()",
    "pit-histogram": "result.plot()",
    # Pages of explanation.
    "measured": "curves_of_estimators(['isotonic', 'shrunk-isotonic'], "
    "lambda name: assess(observed, predicted, measured=name, resamples=0), lambda p: 0.3 + 0.4 * p)",
    "intervals": "drawings.intervals(limits, truth)",
    "propriety": "expected_scores(reports, {name: [expected(rule, q) for q in reports] for name, rule in zip("
    "['log loss', 'Brier score', 'decisiveness', 'robustness'], rules)})",
    "information": "averages_by_order(lambda r: average_probability(p, r), "
    "{'Hartley': 1, 'Shannon': 0, 'collision': -1})",
    "distributions": "densities(lambda coupling: CoupledGaussian(coupling=coupling), couplings)",
    "two-class": "exact_curves({name: models[name] for name in ('perfect', 'mean 1', 'mean 3', 'coupling 0')})",
    "discriminant": "results[0.162].plot(results[0].plot(name='normal'), name='heavy tails')",
    "reading": "annotated(rain.plot())",
    "weights": "weights_by_order({'decisiveness, order 1': 1, 'geometric accuracy, order 0': 0, "
    "'robustness, order −2/3': -2 / 3})",
    "overconfident-network": "axes",
    "choosing": "axes",
    "compare-forecasters": "axes",
    "assess-a-language-model": "axes",
    "monitor-a-model": "axes",
}
"""What draws each picture, by its name: an expression of the page's names and those of ``drawings``."""


def page_of(name: str) -> Path:
    """Find the page that shows a picture."""
    [page] = (page for page in DOCS.rglob("*.md") if re.search(_LINK % name, page.read_text("utf-8")))
    return page


def drawn(name: str) -> Figure:
    """Run a page's examples up to the picture, and draw it."""
    text = page_of(name).read_text("utf-8")
    found = re.search(_LINK % name, text)
    assert found is not None
    namespace: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        rewritten(text[: found.start()], namespace)
    shown = eval(PICTURES[name], vars(drawings) | {"drawings": drawings} | namespace)
    return shown if isinstance(shown, Figure) else shown.figure


def draw(names: Iterable[str]) -> None:
    """Write pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names:
        with small_files():
            drawn(name).savefig(FOLDER / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
        round_numbers(FOLDER / f"{name}.svg")


if __name__ == "__main__":
    draw(sys.argv[1:] or PICTURES)
