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

from matplotlib.figure import Figure
from rewrite import rewritten

from gallery import round_numbers, small_files

DOCS = Path(__file__).resolve().parent
FOLDER = DOCS / "pictures" / "pages"
_LINK = r"!\[[^\]]*\]\((?:\.\./)?pictures/pages/%s\.svg\)"

PICTURES = {
    "start": "result.plot()",
    "averages": "result.plot(kind='averages')",
    "comparison": "result.plot()",
    "groups": "result.plot(kind='findings')",
    "decisions": "boosted.plot()",
    "diagnosis": "result.plot()",
    "elections": "result.plot(kind='reliability', name='election forecasts')",
    "weather": (
        "third.plot(others.plot(kind='reliability', name='other months'), kind='reliability', name='July to September')"
    ),
    "medicine": "result.plot(kind='reliability', name='boosted trees')",
    "recalibrate": (
        "assess(past['fraud'], recalibrator.transform(past['p_fraud']), resamples=0)"
        ".plot(assessment.plot(name='before'), name='after')"
    ),
    "sequential": "result.plot()",
    "profile": "result.profile.plot(measured=result.measured_profile)",
    "pools": "rivals.plot()",
    "deep-learning": (
        "after.plot(before.plot(kind='reliability', name='before'), kind='reliability', name='with a temperature')"
    ),
    "credit": "ax",
    "language-models": (
        "__import__('unperplexed.report.matplotlib_draw', fromlist=['draw']).draw("
        "__import__('unperplexed.language_models.describe_texts', fromlist=['x']).position_chart(texts))"
    ),
    "language-model-confidences": "assess(answers['grade'], answers['confidence'], pos_label='Correct').plot()",
    "bars": "result.plot(kind='bars')",
    "skill": "result.plot()",
    "monitoring": "found.plot()",
}
"""What draws each picture, by its name."""


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
    shown = eval(PICTURES[name], namespace)
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
