"""Text, notebook card and page of decisions, decision curves and pools: all from one description."""

import re
from html import unescape

import numpy as np
import pytest

from unperplexed import decide, decision_curve, pool
from unperplexed.describe.decisions import decision_curve_document, decision_document
from unperplexed.describe.pools import pool_document
from unperplexed.report.result import Naming


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(20240229)
    p = rng.beta(1, 3, 300)
    y = np.where(rng.random(300) < p, "<yes>", "no")
    options = {"pos_label": "<yes>"}
    costs = {"cost_fp": 1, "cost_fn": 4, "recalibrated": np.sqrt(p)}
    return {
        decision_document: decide(y, p, **costs, **options),
        decision_curve_document: decision_curve(y, {"<a>": p, "b": np.sqrt(p)}, **options),
        pool_document: pool(y, {"<a>": p, "b": np.sqrt(p)}, **options),
    }


def words(html):
    """Text of a page or a card, as a browser shows it."""
    return " ".join(unescape(re.sub(r"<(style|script).*?</\1>|<[^>]+>", " ", html, flags=re.DOTALL)).split())


@pytest.mark.slow
def test_text_card_and_page_say_what_the_document_says(results):
    for describe, result in results.items():
        document = describe(result, Naming(), brief=True)
        shown = {
            "text": " ".join(str(result).split()),
            "card": words(result._repr_html_()),
            "page": words(result.to_html(name="today.csv", command="unperplexed again")),
        }
        for form, text in shown.items():
            assert document.headline in text, form
            assert " ".join(document.lead.split()) in text, form
            assert document.facts in text, form
            for table in (each for each in document.summary if hasattr(each, "columns")):
                for column in table.columns:
                    for value in column.values:
                        assert " ".join(value.split()) in text, (form, column.heading)
        assert "unperplexed again" in shown["page"]
        assert shown["page"].startswith("today.csv: ")


def test_names_from_outside_are_escaped(results):
    for result in results.values():
        for html in (result._repr_html_(), result.to_html()):
            assert "<yes>" not in html
            assert "<a>" not in html


def test_text_fits_80_columns(results):
    for result in results.values():
        assert max(map(len, str(result).splitlines())) <= 80


def test_reports_are_written_whole(results, tmp_path):
    for at, result in enumerate(results.values()):
        result.report(tmp_path / f"{at}.html", name="today.csv")
        assert (tmp_path / f"{at}.html").read_text() == result.to_html(name="today.csv")


def test_a_curve_without_events_is_shown(rng):
    p = rng.random(50)
    for y in (np.zeros(50, dtype=int), np.ones(50, dtype=int)):
        curve = decision_curve(y, p)
        assert "<svg" in curve.to_html()
        found = decide(y, p, cost_fp=1, cost_fn=1, recalibrated=None)
        assert "<svg" in found.to_html()
        assert "–" in str(found)  # shares of no rows
