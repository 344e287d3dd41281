"""Pages and frames of comparisons: groups, a baseline, many pairs, equal and untested differences."""

import re
from html import unescape

import numpy as np
import pytest

from unperplexed import InputError, compare, compare_sequentially
from unperplexed._lib.formatting import p_value_cell, p_value_text
from unperplexed.describe.comparison import comparison_document
from unperplexed.describe.comparison_charts import differences_chart, sequential_chart
from unperplexed.describe.comparison_tables import contributions_table, differences_table
from unperplexed.report.chart import Chart
from unperplexed.report.result import Naming

N = 60


@pytest.fixture
def data(rng):
    z = rng.normal(size=N)
    y = (rng.random(N) < 1 / (1 + np.exp(-z))).astype(int)
    return y, {name: 1 / (1 + np.exp(-factor * z)) for name, factor in zip("abcde", (1, 3, 0.4, 0.6, 2), strict=True)}


def shown(result):
    """Words of the page as a browser shows them."""
    return " ".join(
        unescape(re.sub(r"<(style|script).*?</\1>|<[^>]+>", " ", result.to_html(), flags=re.DOTALL)).split()
    )


@pytest.mark.slow
def test_groups_and_skill_are_sections_of_the_page_and_short_in_the_text(data):
    y, p = data
    two = {name: p[name] for name in "ab"}
    found = compare(y, two, by={"site": np.arange(N) % 2}, reference="base-rate")
    page = shown(found)
    assert "Differences by site" in page
    assert "Skill against the base rate" in page
    assert "Skill against the base rate" in str(found)
    groups = found.frame("groups")
    for group in found.groups:
        [row] = groups.filter(site=group.key[0], score="log_loss").to_dicts()
        assert row["difference"] == group.pairs[0].differences["log_loss"].difference
        assert row["rows"] == group.n_rows
    assert compare(y, two).frame("groups").is_empty()


@pytest.mark.slow
def test_the_verdict_names_a_forecaster_that_is_the_reference_first(data):
    y, p = data
    found = compare(y, p, reference="c")
    for (name, scores), clause in zip(found.skill.whole.scores.items(), found.clauses, strict=False):
        each = scores["log_loss"]
        better = f"'{name}' beats c" if each.skill > 0 else f"'{name}' is worse than c"
        assert (better if each.adjusted_p_value < 0.05 else f"evidence that '{name}' differs from c") in clause
        assert p_value_text(each.adjusted_p_value) in clause
    assert "adjusted for 10 pairs, of skill for 4 with c" in " ".join(found.to_text(columns=400).split())
    two = {name: p[name] for name in "ac"}
    assert compare(y, two, reference="c").verdict == compare(y, two).verdict


def test_frames_hold_the_scores_and_the_rows(data):
    y, p = data
    found = compare(y, {name: p[name] for name in "ab"})
    scores = found.frame("forecasters")
    assert scores["log_loss"].to_list() == [each.scores["log_loss"].mean for each in found.forecasters.values()]
    rows, contributions = found.frame("rows"), found.pairs[0].contributions
    assert rows["row"].to_list() == contributions.row.tolist()


def test_many_pairs_are_counted_and_their_p_values_adjusted(data):
    y, p = data
    found = compare(y, p)
    assert "... and 4 further pairs" in str(found)
    table = differences_table(found, headline=True)
    shown = next(column.values for column in table.columns if column.heading == "adjusted p-value")
    assert shown[0] == p_value_cell(found.pairs[0].differences["log_loss"].adjusted_p_value)
    assert "with simultaneous 95% CI" in table.caption


def test_equal_and_untested_differences_are_called_so(data):
    y, p = data
    for forecasts, outcomes, words in (
        ({"a": p["a"], "b": p["a"]}, y, "equal in every row"),
        ({"a": [0.3], "b": [0.6]}, [1], "not tested"),
    ):
        found = compare(outcomes, forecasts, labels=[0, 1])
        *_, conclusions = differences_table(found, headline=True).columns
        assert set(conclusions.values) == {words}
        assert "simultaneous" not in differences_table(found, headline=True).caption


def test_rows_that_outweigh_a_difference_next_to_nothing_have_no_share_in_figures():
    y = np.arange(40) % 2
    a = np.where(np.arange(40) < 20, 0.3, 0.6)
    b = np.where(np.arange(40) < 20, 0.6, 0.3)
    b[0] += 1e-6
    [pair] = compare(y, {"a": a, "b": b}).pairs
    shares = [value for column in contributions_table(pair).columns for value in column.values if "1000%" in value]
    assert shares
    assert set(shares) <= {"> 1000%", "< −1000%"}


def test_infinite_differences_have_no_forest(data):
    y, p = data
    zero = np.where(np.arange(N) == np.flatnonzero(y)[0], 0.0, p["b"])
    found = compare(y, {"a": p["a"], "zero": zero}, floor=0)
    blocks = comparison_document(found, Naming(), brief=False).first.blocks
    assert [block.label.split(".")[0] for block in blocks if isinstance(block, Chart)] == [
        "Paired differences in Brier score"
    ]
    with pytest.raises(InputError, match="score: no difference by log loss is finite; choose another score"):
        differences_chart(found, "log_loss")


def test_a_decision_that_later_rows_turned_is_told_in_the_past():
    early, late = np.full(300, 0.9), np.full(2000, 0.1)
    y, sure = np.ones(2300, int), np.r_[early, late]
    found = compare_sequentially(y, {"sure": sure, "half": np.full(2300, 0.5)})
    assert (found.better, found.better_now) == ("sure", "half")
    title = sequential_chart(found).title
    assert title.startswith(
        f"sure had the smaller Brier score after {found.decided_after:,} rows, but not over all rows"
    )
