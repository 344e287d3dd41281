"""What documents say of results: numbers, charts and captions of small cases that are known by hand."""

import re
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from scipy.stats import norm

from unperplexed import Distribution, Recalibrator, assess, decision_curve
from unperplexed.assessment.risk_coverage import risk_coverage
from unperplexed.describe.assessment_charts import class_charts, profile_chart
from unperplexed.describe.assessment_tables import _probability
from unperplexed.describe.decisions import benefits_table
from unperplexed.describe.distribution_charts import sides
from unperplexed.describe.leaderboard import abstaining_tables
from unperplexed.describe.pictures import plot_assessment
from unperplexed.describe.where import _error
from unperplexed.report.chart import Axis, Bars, Chart, Reference, _drawn, value_axis
from unperplexed.report.document import Strip
from unperplexed.report.html import _strip
from unperplexed.report.svg import _read_off


@pytest.fixture(scope="module")
def three():
    """Classes 0, 1 and 2, predicted with much, some and little, too surely."""
    rng = np.random.default_rng(6)
    base = np.array([0.6, 0.3, 0.1])
    p = base * np.exp(rng.normal(0, 0.2, (120, 3)))
    p /= p.sum(axis=1, keepdims=True)
    return rng.choice(3, 120, p=[0.4, 0.3, 0.3]), p


def test_each_class_has_its_own_curve(three):
    y, p = three
    charts = {chart.title: chart.lines[0].x for chart in class_charts(assess(y, p, resamples=0))}
    assert set(charts) == {"0", "1", "2"}
    for name, x in charts.items():
        own = p[:, int(name)]
        assert own.min() - 1e-9 <= x.min() <= x.max() <= own.max() + 1e-9


def test_marks_of_a_risk_profile_are_the_predicted_averages(three):
    found = assess(*three, resamples=0)
    [marks] = profile_chart(found).points
    assert marks.x == pytest.approx([-2 / 3, 0, 1])
    means = [getattr(found.reported, name) for name in ("robustness", "geometric_accuracy", "decisiveness")]
    assert marks.y == pytest.approx(means, rel=1e-3)


@pytest.mark.parametrize(
    ("axes", "down", "up"), [("reported", "reported", "measured"), ("nelson", "measured", "reported")]
)
def test_axes_are_named_by_what_they_show(three, axes, down, up):
    figure = plot_assessment(assess(*three, resamples=0), axes=axes).figure
    names = [
        {name for ax in figure.axes if "probability" in (name := of(ax))} for of in (Axes.get_xlabel, Axes.get_ylabel)
    ]
    plt.close(figure)
    assert names == [{f"{down} probability"}, {f"{up} probability"}]


def test_outcomes_beside_intervals_add_up_to_all():
    """Of ten outcomes two are below the 10th percentile, and three above the 90th."""
    z = norm.ppf([0.05, 0.06, 0.3, 0.4, 0.5, 0.6, 0.7, 0.92, 0.94, 0.96])
    found = assess(z, Distribution("normal", mean=np.zeros(10), sd=np.ones(10)))
    assert sides(found) == (
        "20.0% below the 10% quantile, 50.0% inside, 30.0% above the 90% quantile (expected 10%, 80%, 10%)"
    )


@pytest.mark.parametrize(("models", "caption"), [(4, ""), (5, "1 forecaster more: frame()")])
def test_a_table_of_net_benefits_says_how_many_forecasters_it_leaves_out(models, caption):
    curve = decision_curve([1, 0, 1, 0], {f"m{at}": [0.7, 0.2, 0.6, 0.4] for at in range(models)})
    assert benefits_table(curve, every=False).caption == caption


def test_shares_of_wrong_answers_are_of_the_most_confident_ones():
    """Of ten answers the fourth and the last are wrong."""
    entry = SimpleNamespace(
        model="m",
        confidence="p",
        risk_coverage=risk_coverage([1, 1, 1, 0, 1, 1, 1, 1, 1, 0], np.linspace(0.95, 0.5, 10)),
    )
    tables = abstaining_tables(SimpleNamespace(entries=[entry], confidence=0.95, by="model"))
    wrong, limits = ({column.heading: column.values[0] for column in table.columns} for table in tables)
    names = ("20%", "50%", "80%", "100%")
    assert [wrong[name] for name in names] == ["0.00%", "20.0%", "12.5%", "20.0%"]
    assert [limits[name] for name in names] == ["0.900", "0.750", "0.600", "0.500"]


def test_maps_that_were_not_tried_with_three_classes_are_named():
    fitted = Recalibrator().fit(np.arange(9) % 3, np.random.default_rng(6).dirichlet(np.ones(3), 9))
    assert "Not tried with 9 rows of 3 classes: matrix." in " ".join(fitted.to_text().split())


@pytest.mark.parametrize(
    ("p", "text"), [(0.9994, "0.999"), (0.9996, "> 0.999"), (1.0, "1.000"), (0.0004, "4.0e\u221204")]
)
def test_probabilities_next_to_0_and_1_are_not_rounded_to_them(p, text):
    assert _probability(p) == text


@pytest.mark.parametrize(("effect", "words"), [(2.0, "2.00 times too narrow"), (0.8, "1.25 times too wide")])
def test_a_wrong_width_of_a_group_is_a_factor_above_1(effect, words):
    assert _error(SimpleNamespace(form="normal"), SimpleNamespace(error="width", effect=effect)) == words


def test_ticks_have_the_decimals_of_their_step():
    assert [text for _, text in value_axis(0, 0.004, "x").ticks] == ["0", "0.001", "0.002", "0.003", "0.004"]
    assert [text for _, text in value_axis(0, 4, "x").ticks] == ["0", "1", "2", "3", "4"]


def test_strips_are_in_percent_of_their_scale():
    shown = _strip(Strip(0.2, 0.3, 0.25, 0.35), 0.5)
    assert [float(each) for each in re.findall(r"left:([\d.]+)%", shown)] == [40, 50, 40, 60]
    assert [float(each) for each in re.findall(r"width:([\d.]+)%", shown)] == [20, 20]


BARS = Bars(np.array([0.0, 0.4]), np.array([0.2, 1.0]), np.array([0.5, 0.25]), ["one", "two"])
OF_BARS = Chart("", "", Axis(0.0, 1.0), Axis(0.0, 0.5), bars=[BARS], references=[Reference((0.2, 0.6), (0.0, 0.5))])


def test_a_bar_is_read_off_at_its_middle():
    assert [*_read_off(OF_BARS)] == [(0.1, 1.0, "one"), (0.7, 0.5, "two")]


def test_labels_keep_away_from_the_tops_of_bars_and_from_references():
    """Both are points that are near each other, from end to end."""
    drawn = _drawn(OF_BARS)
    x = np.arange(0, 1.0001, 0.01)
    for top, low, high in ((1.0, 0.0, 0.2), (0.5, 0.4, 1.0)):
        for at in x[(x >= low) & (x <= high)]:
            assert np.hypot(*(drawn - [at, top]).T).min() < 0.02
    line = drawn[:120]
    assert (line[0], line[-1]) == (pytest.approx([0.2, 0.0]), pytest.approx([0.6, 1.0]))
    assert line[:, 0] == pytest.approx(0.2 + 0.4 * line[:, 1])
    assert drawn.min() >= 0
    assert drawn.max() <= 1
