"""Bars of the bins and the heat map of findings: the numbers are those of the results."""

import math
import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from helpers import softmax_forecasts
from unperplexed import InputError, assess, assess_by
from unperplexed.describe.assessment_charts import bars_chart
from unperplexed.describe.groups import findings_chart, groups_table
from unperplexed.report.svg import plot


@pytest.fixture
def result(rng):
    y, p = softmax_forecasts(rng, 1000, 3, temperature=1.5)
    return assess(y, p, measured="equal-population:bins=12", resamples=0)


def test_bars_stand_where_the_bins_are(result):
    ax = Figure().subplots()
    assert result.plot(ax, kind="bars") is ax
    [bars] = ax.containers
    np.testing.assert_allclose([bar.get_height() for bar in bars], result.bins.measured)
    left = np.array([bar.get_x() for bar in bars])
    right = left + [bar.get_width() for bar in bars]
    wide = result.bins.highest - result.bins.lowest > 0.004
    np.testing.assert_allclose(left[wide], result.bins.lowest[wide])
    np.testing.assert_allclose(right[wide], result.bins.highest[wide])
    assert (right - left >= 0.00399).all()


def test_the_three_averages_are_joined_by_their_slope(result):
    ax = result.plot(Figure().subplots(), kind="bars")
    [dots] = [line for line in ax.lines if line.get_marker() == "o"]
    names = ("robustness", "geometric_accuracy", "decisiveness")
    expected = [[getattr(each, name) for each in (result.reported, result.measured)] for name in names]
    np.testing.assert_array_equal(dots.get_xydata(), expected)
    [line] = [line for line in ax.lines if line.get_gid() == "unperplexed-curve"]
    (a, b), (c, d) = line.get_xydata()
    assert (d - b) / (c - a) == pytest.approx(result.averages_slope)
    assert f"Slope {result.averages_slope:.2f} of the averages" in ax.get_title("left").replace("\n", " ")
    assert {"R", "G", "D", f"Slope {result.averages_slope:.2f}"} <= {text.get_text() for text in ax.texts}


def test_the_page_shows_the_same_bars(result):
    drawn = plot(bars_chart(result))
    [path] = re.findall(r'<path class="ba" d="([^"]*)"', drawn)
    tops = [float(top) for top in re.findall(r"M[\d.]+ 1000V([\d.]+)H", path)]
    np.testing.assert_allclose(1 - np.array(tops) / 1000, result.bins.measured, atol=6e-4)
    assert drawn.count("Reported ") == len(result.bins)


def test_without_averages_the_bars_are_alone(rng):
    result = assess(*softmax_forecasts(rng, 200, 3), view="top-label", resamples=0)
    assert math.isnan(result.averages_slope)
    ax = result.plot(Figure().subplots(), kind="bars")
    assert not [line for line in ax.lines if line.get_marker() == "o"]


def test_bins_of_each_class_are_refused(rng):
    result = assess(*softmax_forecasts(rng, 200, 3), view="each-class", resamples=0)
    with pytest.raises(InputError, match="assess with view='all-classes'"):
        result.plot(Figure().subplots(), kind="bars")


def test_classes_and_projections_of_nelsons_axes(rng):
    result = assess(*softmax_forecasts(rng, 400, 3), view="each-class", resamples=0)
    ax = result.plot(Figure().subplots(), axes="nelson", kind="averages")
    marks = [line for line in ax.lines if line.get_gid() == "unperplexed-class"]
    for marker, name in (("v", "robustness"), ("o", "geometric_accuracy"), ("^", "decisiveness")):
        of_classes = np.array([line.get_xydata()[0] for line in marks if line.get_marker() == marker])
        np.testing.assert_array_equal(of_classes[:, 0], getattr(result.classes, f"measured_{name}"))
        np.testing.assert_array_equal(of_classes[:, 1], getattr(result.classes, f"reported_{name}"))
    [diamond] = [line for line in ax.lines if line.get_marker() == "D"]
    assert diamond.get_xydata().tolist() == [[1, result.divergence_probability]]
    plain = result.plot(Figure().subplots(), kind="averages")
    assert not [line for line in plain.lines if line.get_marker() == "D"]


def test_without_a_ratio_of_the_averages_there_are_no_projections(rng):
    y = rng.integers(2, size=200)
    p = np.where(y == 1, 0.9, 0.1)
    p[0] = 1 - y[0]  # certain and wrong: a geometric mean of 0
    ax = assess(y, p, floor=0, resamples=0).plot(Figure().subplots(), axes="nelson", kind="averages")
    assert not [line for line in ax.lines if line.get_marker() == "D"]


@pytest.mark.slow
def test_the_top_label_view_has_no_means_to_draw(rng):
    ax = assess(*softmax_forecasts(rng, 200, 3), view="top-label", resamples=0).plot(
        Figure().subplots(), kind="averages"
    )
    assert not [line for line in ax.lines if str(line.get_label()).startswith("averages_slope")]


@pytest.fixture
def groups(rng):
    z = rng.normal(size=3000)
    y = rng.random(3000) < 1 / (1 + np.exp(-z))
    where = np.repeat(["fair", "high", "low", "sharp"], 750)
    changed = z * np.where(where == "sharp", 3, 1) + np.select([where == "high", where == "low"], [1.0, -1.0], 0.0)
    return assess_by(y, 1 / (1 + np.exp(-changed)), by={"site": where}, sort="group", resamples=0)


def test_the_heat_map_has_a_cell_for_each_finding(groups):
    chart = findings_chart(groups)
    found = [group.assessment.diagnosis.errors for group in groups.groups]
    assert "bias" in found[1]
    assert "confidence" in found[3]
    assert len(chart.cells.shown) == sum(len(set(each)) for each in found)
    assert chart.title == f"Evidence of miscalibration in {sum(map(bool, found))} of 4 groups"
    of = {(x, 4 - y): s for x, y, s in zip(chart.cells.x, chart.cells.y, chart.cells.strength, strict=True)}
    assert of[0, 1] < 0 < of[0, 2]
    assert np.abs(chart.cells.strength).max() == 1
    assert [text for _, text in chart.y.ticks] == ["fair (750)", "high (750)", "low (750)", "sharp (750)"]
    drawn = plot(chart)
    assert drawn.count("<rect") == len(chart.cells.shown)
    assert "overpredicts" in chart.label
    assert "underpredicts" in chart.label


def test_the_heat_map_is_drawn_with_its_numbers(groups):
    figure = groups.plot(Figure(), kind="findings")
    [ax] = figure.axes
    chart = findings_chart(groups)
    assert {text.get_text() for text in ax.texts} >= set(chart.cells.shown)
    assert [bar.get_x() + bar.get_width() / 2 for bar in ax.containers[0]] == pytest.approx(chart.cells.x.tolist())


@pytest.fixture(scope="module")
def doubtful():
    """Groups of which one has a finding alone, but not among all of them."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=6000)
    y = rng.random(6000) < 1 / (1 + np.exp(-z))
    sharper = np.repeat([2.0, 1.3, 1.0, 1.0, 1.0, 1.0], 1000)
    where = np.repeat(["a", "b", "c", "d", "e", "f"], 1000)
    return assess_by(y, 1 / (1 + np.exp(-z * sharper)), by={"site": where}, sort="group", resamples=0)


def test_pictures_and_report_tell_of_no_group_what_the_table_calls_not_significant(doubtful):
    verdicts = next(c for c in groups_table(doubtful).columns if c.heading == "miscalibration").values[1:]
    unsure = [at for at, verdict in enumerate(verdicts) if verdict == "not significant"]
    assert unsure
    assert all(doubtful.groups[at].diagnosis.findings for at in unsure)
    number = sum(verdict not in ("none detected", "not significant") for verdict in verdicts)
    chart = findings_chart(doubtful)
    assert chart.title == f"Evidence of miscalibration in {number} of 6 groups"
    assert not {6 - at for at in unsure} & set(chart.cells.y.tolist())
    assert "Holm-adjusted" in chart.subtitle
    drawn = [each for ax in doubtful.plot(Figure(), kind="reliability").axes for each in ax.texts]
    assert sum("not significant" in " ".join(each.get_text().split()) for each in drawn) == len(unsure)
    assert doubtful.to_html().count("1,000 rows: not significant.") == len(unsure)


def test_no_finding_is_a_blank_map(rng):
    y = rng.random(300) < 0.5
    found = assess_by(y, np.full(300, y.mean()), by=np.arange(300) % 2, resamples=0)
    assert findings_chart(found).title.endswith("in 0 of 2 groups")
    assert not found.plot(Figure(), kind="findings").axes[0].containers[0].patches
    with pytest.raises(
        InputError, match="kind: expected one of 'auto', 'reliability', 'findings', 'two-way', got 'pie'"
    ):
        found.plot(Figure(), kind="pie")
