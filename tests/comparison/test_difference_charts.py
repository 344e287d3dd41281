"""Forests and curves of comparisons: what is drawn are the result's own differences, whatever draws it."""

import io
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from unperplexed import InputError, compare, compare_sequentially, skill
from unperplexed.describe.comparison_charts import differences_chart, sequential_chart
from unperplexed.report.svg import plot


@pytest.fixture
def data(rng):
    z = rng.normal(size=400)
    y = (rng.random(400) < 1 / (1 + np.exp(-z))).astype(int)
    return y, {name: 1 / (1 + np.exp(-factor * z)) for name, factor in (("fair", 1), ("sharp", 4), ("flat", 0.5))}


@pytest.fixture
def found(data):
    y, p = data
    return compare(y, p)


def forest(ax):
    """Points of a forest with the ends of their limits."""
    dots = [line.get_xydata() for line in ax.lines if line.get_marker() == "o"]  # of one colour each
    ends = [segment for limits in ax.collections for segment in limits.get_segments()]
    ends.sort(key=lambda segment: -segment[0, 1])
    places = np.concatenate(dots)
    return places[np.argsort(-places[:, 1])], [segment[:, 0].tolist() for segment in ends]


@pytest.mark.parametrize("score", [None, "brier_score", "spherical_score"])
def test_the_forest_shows_the_differences(found, score):
    ax = Figure().subplots()
    assert found.plot(ax, score=score) is ax
    places, limits = forest(ax)
    expected = [pair.differences[score or "log_loss"] for pair in found.pairs]
    assert places[:, 0].tolist() == [d.difference for d in expected]
    assert places[:, 1].tolist() == [3, 2, 1]
    assert limits == [list(d.interval) for d in expected]
    rows = [text.get_text() for text in ax.texts if " − " in text.get_text()]
    assert rows == [f"{pair.first} − {pair.second}" for pair in found.pairs]
    assert f"{'above' if score == 'spherical_score' else 'below'} 0 the first" in " ".join(
        text.get_text().replace("\n", " ") for text in ax.texts
    )


def test_its_title_states_what_was_tested(data):
    y, p = data
    two = {"sharp": p["sharp"], "fair": p["fair"]}
    assert differences_chart(compare(y, two)).title == "fair is better by log loss"
    assert differences_chart(compare(y, two), "spherical_score").title == "fair is better by spherical score"
    same = {"fair": p["fair"], "again": p["fair"]}
    assert differences_chart(compare(y, same)).title == "No significant difference by log loss"
    assert re.fullmatch(r"\d of 3 pairs differ significantly by log loss", differences_chart(compare(y, p)).title)


def test_the_page_draws_the_same_forest(found):
    chart = differences_chart(found)
    drawn = plot(chart)
    [dots] = re.findall(r'<path class="pt ?" d="([^"]*)"', drawn)
    x = np.array(re.findall(r"M([\d.e-]+) ", dots), dtype=float) / 1000
    np.testing.assert_allclose(x, chart.x.place(np.array(chart.points[0].x)), atol=1e-3)
    for pair in found.pairs:
        assert f"{pair.first} − {pair.second}: " in chart.label
    assert drawn.count("&quot;,") + drawn.count("&quot;]") >= 3  # each pair can be read off


@pytest.mark.slow
def test_ratios_profiles_and_curves(found):
    places, limits = forest(found.plot(Figure().subplots(), kind="ratios"))
    assert places[:, 0].tolist() == [pair.accuracy_ratio for pair in found.pairs]
    assert limits == [list(pair.accuracy_ratio_interval) for pair in found.pairs]
    ax = found.plot(Figure().subplots(), kind="profiles")
    curves = {line.get_label(): line for line in ax.lines if line.get_gid() == "unperplexed-curve"}
    for name, each in found.forecasters.items():
        np.testing.assert_array_equal(curves[name].get_ydata(), each.assessment.profile.values)
    assert len(ax.collections) == 3
    ax = found.plot(Figure().subplots(), kind="reliability")
    assert {line.get_linestyle() for line in ax.lines if line.get_gid() == "unperplexed-curve"} == {"-", "--", "-."}


def test_profiles_of_dependent_rows_have_no_bands(data):
    y, p = data
    ax = compare(y, p, clusters=np.arange(400) % 40).plot(Figure().subplots(), kind="profiles")
    assert not ax.collections


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "pie"}, "kind: expected one of 'differences', 'ratios', 'profiles', 'reliability', got 'pie'"),
        ({"score": "auc"}, "score: expected one of 'log_loss'"),
        ({"kind": "ratios", "score": "log_loss"}, "score: 'log_loss' needs kind='differences'"),
        ({"ax": 1}, "ax: expected matplotlib Axes, got int"),
    ],
)
def test_bad_input(found, arguments, message):
    with pytest.raises(InputError, match=message):
        found.plot(**arguments)


def test_a_new_figure_has_room_for_its_rows(found):
    ax = found.plot()
    ax.figure.savefig(io.BytesIO(), format="png", dpi=50)
    assert ax.figure.get_size_inches()[1] < 3
    plt.close(ax.figure)


def test_the_sequence_ends_where_the_result_does(data):
    y, p = data
    found = compare_sequentially(y, {"sharp": p["sharp"], "fair": p["fair"]})
    chart = sequential_chart(found)
    [line] = chart.lines
    assert line.y[-1] == -found.difference[-1]
    assert (line.low[-1], line.high[-1]) == (-found.high[-1], -found.low[-1])
    assert "fair has the smaller Brier score" in chart.title
    assert "below 0 fair is better" in chart.subtitle
    assert chart.y.low <= min(line.low) <= max(line.high) <= chart.y.high
    assert 'tabindex="0"' in plot(chart)


def test_skill_is_a_forest_of_all_rows_and_groups(data):
    y, p = data
    found = skill(y, p["fair"], by={"site": np.arange(400) % 3})
    places, limits = forest(found.plot(Figure().subplots()))
    scores = [group.scores["forecast"]["log_loss"] for group in (found.whole, *found.groups)]
    assert places[:, 0].tolist() == [each.skill for each in scores]
    assert limits == [list(each.interval) for each in scores]
    title = found.plot(Figure().subplots(), rule="brier_score").get_title("left").replace("\n", " ")
    assert re.fullmatch(r"Better than the base rate in (all 3|\d of 3) groups by site", title)
    with pytest.raises(InputError, match="rule: expected one of"):
        found.plot(Figure().subplots(), rule="auc")
