"""The reliability diagram by matplotlib has the report's marks; several on the same Axes share frame and histogram."""

import io

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from helpers import softmax_forecasts
from unperplexed import InputError, assess
from unperplexed.describe.assessment_charts import Event, reliability_chart
from unperplexed.report.chart import Chart, Line, Points, percent_axis
from unperplexed.report.matplotlib_chart import draw_reliability
from unperplexed.report.matplotlib_draw import IDENTITY, draw_alone


@pytest.fixture
def overconfident(rng):
    z = rng.normal(size=1000)
    y = rng.random(1000) < 1 / (1 + np.exp(-z))
    return assess(np.where(y, "yes", "no"), 1 / (1 + np.exp(-2.5 * z)), pos_label="yes", resamples=40)


def of(ax, gid):
    return [line for line in ax.lines if line.get_gid() == gid]


def strips(figure):
    return [each for each in figure.axes if each.get_gid() == "unperplexed-mirror"]


@pytest.mark.slow
def test_the_marks_are_those_of_the_report(overconfident):
    chart = reliability_chart(Event(overconfident))
    ax = Figure().subplots()
    assert overconfident.plot(ax) is ax
    [curve] = of(ax, "unperplexed-curve")
    line, points, mirror = chart.lines[0], chart.points[0], chart.mirror
    np.testing.assert_array_equal(curve.get_xydata(), np.stack([line.x, line.y], axis=1))
    band, whiskers = ax.collections
    corners = {tuple(place) for place in band.get_paths()[0].vertices}
    assert corners >= set(zip(line.x, line.low, strict=True)) | set(zip(line.x, line.high, strict=True))
    np.testing.assert_array_equal(
        [part[:, 1] for part in whiskers.get_segments()], np.stack([points.low, points.high], axis=1)
    )
    [dots] = (each for each in ax.lines if each.get_marker() == "o")
    np.testing.assert_array_equal(dots.get_xydata(), np.stack([points.x, points.y], axis=1))
    [strip] = strips(ax.figure)
    up, down = ([bar.get_height() for bar in bars] for bars in strip.containers)
    np.testing.assert_allclose(up, mirror.up)
    np.testing.assert_allclose(down, -mirror.down)
    assert sum(up) == pytest.approx(1)
    assert sum(down) == pytest.approx(-1)
    [identity] = of(ax, "unperplexed-identity")
    np.testing.assert_array_equal(identity.get_xydata(), [[0, 0], [1, 1]])


def test_the_words_are_those_of_the_report(overconfident):
    ax = overconfident.plot(Figure().subplots())
    assert ax.get_title("left").replace("\n", " ") == "High predictions are too high, low ones too low"
    texts = {text.get_text().replace("\n", " ") for text in ax.texts}
    assert texts >= {"Observed frequency", "Identity line"}
    assert any(text.startswith("95% band and intervals; 15 groups of about 67 rows") for text in texts)
    assert ax.get_ylabel() == "Observed frequency of 'yes'"
    [strip] = strips(ax.figure)
    assert strip.get_xlabel() == "Predicted probability of 'yes'"
    assert sum(int(text.get_text().split()[0]) for text in strip.texts) == 1000


@pytest.mark.slow
def test_several_share_identity_line_and_histogram(overconfident, rng):
    z = rng.normal(size=1000)
    other = assess(rng.random(1000) < 1 / (1 + np.exp(-z)), 1 / (1 + np.exp(-z)), resamples=0)
    ax = Figure().subplots()
    overconfident.plot(ax, name="boosted")
    other.plot(ax, name="logistic")
    other.plot(ax, name="third", color="black", linestyle=":", linewidth=3)
    curves = of(ax, "unperplexed-curve")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["boosted", "logistic", "third"]
    assert (
        len({to_rgba(curve.get_color()) for curve in curves}) == len({curve.get_linestyle() for curve in curves}) == 3
    )
    assert (to_rgba(curves[2].get_color()), curves[2].get_linewidth()) == (to_rgba("black"), 3)
    assert len(of(ax, "unperplexed-identity")) == len(strips(ax.figure)) == 1
    [strip] = strips(ax.figure)
    assert strip.texts[0].get_text().startswith("boosted: ")
    np.testing.assert_allclose(
        [bar.get_height() for bar in strip.containers[0]], reliability_chart(Event(overconfident)).mirror.up
    )
    assert ax.get_title("left") == ""
    assert not ax.texts


def test_a_colour_is_that_of_band_and_points_too(overconfident):
    ax = overconfident.plot(Figure().subplots(), c="black", lw=4, name="$a$")
    [curve] = of(ax, "unperplexed-curve")
    assert curve.get_linewidth() == 4
    marks = [curve.get_color(), *(each.get_color() for each in ax.lines if each.get_marker() == "o")]
    bands = [tuple(each.get_facecolor()[0][:3]) for each in ax.collections[:1]]
    assert {to_rgba(each)[:3] for each in [*marks, *bands]} == {(0, 0, 0)}
    assert r"\$a\$" in {text.get_text() for text in ax.texts}


def test_more_classes_keep_the_averages_and_have_the_top_class_on_demand(rng):
    result = assess(*softmax_forecasts(rng, 300, 3), resamples=0)
    assert "measured" in result.plot(Figure().subplots()).get_ylabel()
    ax = result.plot(Figure().subplots(), kind="reliability")
    assert ax.get_ylabel() == "Share of rows whose top class is observed"
    assert {text.get_text().split(" ", 2)[2] for text in strips(ax.figure)[0].texts} == {"correct", "wrong"}


@pytest.mark.slow
@pytest.mark.parametrize("floor", [0.005, 0.0])
@pytest.mark.parametrize(
    ("y", "p", "settings"),
    [
        ([1], [0.5], {}),
        ([1, 0], [1.0, 0.0], {}),
        ([1, 1], [0.0, 1.0], {}),
        ([1, 0, 1], [0.2, 0.3, 0.9], {"view": "top-label"}),
        ([1, 0, 1], [0.2, 0.3, 0.9], {"view": "all-classes", "sample_weight": [1, 2, 3]}),
    ],
)
def test_corners_draw_without_a_warning(y, p, settings, floor):
    figure = Figure(figsize=(4, 5), layout="tight")
    assess(y, p, floor=floor, **settings).plot(figure.subplots())
    figure.savefig(io.BytesIO(), format="png", dpi=40)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "pie"}, "kind: expected one of 'reliability', 'averages', 'bars', got 'pie'"),
        ({"kind": "reliability", "axes": "nelson"}, "axes: 'nelson' needs kind='averages'"),
        ({"kind": "bars", "axes": "nelson"}, "axes: 'nelson' needs kind='averages'"),
        ({"kind": "averages", "color": "red"}, "color: needs kind='reliability'"),
        ({"axes": "nelson", "name": "a"}, "name: needs kind='reliability'"),
        ({"axes": "x"}, "axes: expected"),
        ({"ax": Figure()}, "ax: expected matplotlib Axes, got Figure"),
    ],
)
def test_bad_input(settings, message):
    result = assess([1, 0, 1], [0.2, 0.3, 0.9], resamples=0)
    with pytest.raises(InputError, match=message):
        result.plot(**{"ax": Figure().subplots()} | settings)


def test_a_diagram_of_rare_events_widens_for_a_further_one():
    rng = np.random.default_rng(0)
    rare, common = rng.uniform(0, 0.03, 3000), rng.uniform(0, 0.9, 3000)
    first, second = (assess((rng.random(3000) < p).astype(int), p, resamples=0) for p in (rare, common))
    ax = first.plot(kind="reliability")
    assert ax.get_xlim() == (0, pytest.approx(ax.get_xlim()[1]))
    assert ax.get_xlim()[1] < 0.2
    second.plot(ax, kind="reliability")
    assert ax.get_xlim() == ax.get_ylim() == (0, 1)
    [identity] = (line for line in ax.lines if line.get_gid() == IDENTITY)
    assert list(identity.get_xdata()) == list(identity.get_ydata()) == [0, 1]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0", "20%", "40%", "60%", "80%", "100%"]


def test_a_chart_without_histogram_or_limits_has_neither():
    x = np.linspace(0, 1, 9)
    plain = Chart("t", "l", percent_axis("predicted"), percent_axis("observed"), (Line(x, x**2, label="Observed"),),
                  (Points(x, x**2),), shape="square")  # fmt: skip
    ax = draw_reliability(plain, Figure().subplots())
    assert not ax.collections
    assert not strips(ax.figure)
    with pytest.raises(InputError, match="figure: expected a matplotlib Figure, got int"):
        draw_alone(plain, 1)
