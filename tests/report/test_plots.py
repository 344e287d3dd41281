import io
import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from PIL import Image

from helpers import softmax_forecasts
from unperplexed import InputError, assess, compare, risk_profile
from unperplexed.cli.parser import main


@pytest.fixture
def result(rng):
    return assess(*softmax_forecasts(rng, 1000, 3, temperature=1.5), measured="equal-population:bins=12")


def marks(ax):
    """Positions of the three marks by their shape."""
    return {
        line.get_marker(): (line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines if line.get_marker() in "v^"
    }


@pytest.mark.slow
@pytest.mark.parametrize(("axes", "swap"), [("reported", False), ("nelson", True)])
def test_marks_and_bubbles_are_where_the_numbers_say(result, axes, swap):
    ax = Figure().subplots()
    assert result.plot(ax, axes=axes) is ax
    expected = {
        "v": (result.reported.robustness, result.measured.robustness),
        "^": (result.reported.decisiveness, result.measured.decisiveness),
    }
    for marker, (x, y) in marks(ax).items():
        assert (x, y) == (expected[marker][::-1] if swap else expected[marker])
    (bubbles,) = (each for each in ax.collections if isinstance(each, PathCollection))
    offsets = np.asarray(bubbles.get_offsets())[:, :: -1 if swap else 1]
    happened = result.bins.happened > 0
    np.testing.assert_allclose(offsets[happened, 0], result.bins.geometric_accuracy[happened])
    np.testing.assert_allclose(offsets[:, 1], result.bins.measured)
    sizes = bubbles.get_sizes()
    area = result.bins.happened if swap else np.abs(result.bins.contribution)
    assert (np.argsort(sizes, kind="stable") == np.argsort(area, kind="stable")).all()
    assert ax.get_xlim() == ax.get_ylim()


def bubbles_of(ax):
    """Positions of the bubbles by the colour they have, and their sizes."""
    bubbles = [each for each in ax.collections if isinstance(each, PathCollection)]  # the others are bands
    found = {tuple(each.get_facecolor()[0][:3]): (each.get_offsets(), each.get_sizes()) for each in bubbles}
    assert len(found) == len(bubbles)
    return found


def test_two_classes_have_one_colour_and_one_curve(rng):
    """Those of the positive class, which the other's mirror."""
    y, p = softmax_forecasts(rng, 200, 2)
    result = assess(y, p, view="each-class")
    ax = Figure().subplots()
    result.plot(ax, kind="averages")
    [(offsets, _)] = bubbles_of(ax).values()
    assert result.bins.label == result.curve.label == ()
    np.testing.assert_allclose(offsets[:, 1], result.bins.measured)
    assert result.bins.total.sum() == 200
    assert result.bins.happened.sum() == y.sum()


@pytest.mark.parametrize("classes", [3, 6])
def test_few_classes_have_a_colour_each(rng, classes):
    y, p = softmax_forecasts(rng, 200, classes)
    result = assess(y, p, view="each-class")
    ax = Figure().subplots()
    result.plot(ax)
    found = list(bubbles_of(ax).values())
    assert len(found) == classes
    label = np.array(result.bins.label)
    for at, (offsets, _) in enumerate(found):
        assert set(offsets[:, 1]) <= set(result.bins.measured[label == at])
        assert classes > 3 or offsets.shape[0] == (label == at).sum()
    texts = [text.get_text() for text in ax.figure.axes[1].get_legend().get_texts()]
    assert {f"class {at}" for at in range(classes)} <= set(texts)


def test_many_classes_are_the_largest_bubbles_of_each_tenth(rng):
    result = assess(*softmax_forecasts(rng, 2000, 40, spread=4), view="each-class")
    ax = Figure().subplots()
    result.plot(ax)
    ((offsets, sizes),) = bubbles_of(ax).values()
    tenth = np.minimum((offsets[:, 0] * 10).astype(int), 9)
    counts = np.bincount(tenth, minlength=10)
    assert counts.max() == 15
    part = np.abs(result.bins.contribution)
    reported = np.where(result.bins.happened > 0, result.bins.geometric_accuracy, result.bins.mean_reported)
    of_bin = np.minimum((reported * 10).astype(int), 9)
    for t in range(10):
        largest = np.sort(part[of_bin == t])[::-1][:15]
        assert counts[t] == largest.size
        assert np.sort(sizes[tenth == t])[::-1] == pytest.approx(14 + (sizes.max() - 14) * largest / part.max())
    texts = [text.get_text() for text in ax.figure.axes[1].get_legend().get_texts()]
    assert f"{counts.sum()} of {len(result.bins):,} bins, by contribution" in texts


@pytest.mark.slow
def test_the_distribution_lies_along_the_reported_axis(result):
    figure = Figure()
    result.plot(figure.subplots())
    strip = figure.axes[-1]
    (stairs,) = strip.patches
    np.testing.assert_allclose(stairs.get_data().values, result.distribution.share)
    assert "reported" in strip.get_xlabel()
    figure = Figure()
    result.plot(figure.subplots(), axes="nelson")
    assert "reported" in figure.axes[-1].get_ylabel()


@pytest.mark.slow
def test_nothing_global_is_changed(result):
    before, figures = dict(mpl.rcParams), plt.get_fignums()
    result.plot(Figure().subplots())
    result.profile.plot(Figure().subplots())
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == figures


@pytest.mark.slow
def test_new_figure_when_no_axes_are_given(result):
    for draw in (result.plot, result.profile.plot):
        ax = draw()
        assert ax.figure.number in plt.get_fignums()
        plt.close(ax.figure)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_it_can_be_saved(result, kind):
    figure = Figure(layout="tight")
    result.plot(figure.subplots())
    stream = io.BytesIO()
    figure.savefig(stream, format=kind)
    assert stream.getvalue()[:5] in {b"\x89PNG\r"[:5], b"<?xml", b"%PDF-"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("y", "p", "settings"),
    [
        ([1], [0.5], {}),
        ([1, 0], [1.0, 0.0], {}),
        ([1, 1], [0.0, 1.0], {"floor": 0.0}),
        ([1, 0, 1], [0.2, 0.3, 0.9], {"view": "top-label"}),
        ([1], [0.5], {"view": "each-class"}),
        ([1, 1], [0.0, 1.0], {"view": "each-class", "floor": 0.0}),
    ],
)
def test_corners_draw_without_a_warning(y, p, settings):
    result = assess(y, p, **settings)
    figure = Figure(layout="tight")
    a, b = figure.subplots(1, 2)
    result.plot(a, kind="averages")
    result.profile.plot(b)
    figure.savefig(io.BytesIO(), format="png")


def test_profiles_share_axes(rng):
    ax = Figure().subplots()
    for name, spread in (("sharp", 0.2), ("dull", 2.0)):
        risk_profile(np.ones(300, dtype=int), rng.beta(spread, spread, 300)).plot(ax, label=name)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"sharp", "dull"} <= set(labels)


def test_unknown_axes(result):
    with pytest.raises(InputError, match="axes:"):
        result.plot(Figure().subplots(), axes="x")
    with pytest.raises(InputError, match="ax: expected matplotlib Axes, got Figure"):
        result.profile.plot(Figure())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a$x^$b", r"$\frac{$", "_hidden", "$5 to $10", "one\nline\ttwo"])
def test_names_are_drawn_as_they_are(name):
    """A dollar would begin a formula, and a label that begins with "_" is in no legend."""
    y, p = np.arange(90) % 3, np.full((90, 3), 1 / 3)
    each = assess(np.array(["b", name, "c"])[y], p, labels=["b", name, "c"], view="each-class", resamples=0)
    shown = repr(name)[1:-1].replace("\\\\", "\\")
    ax = each.plot()
    ax.figure.canvas.draw()
    drawn = {text.get_text().strip() for legend in legends(ax.figure) for text in legend.get_texts()}
    assert shown in {text.replace(r"\$", "$") for text in drawn}
    ax = compare(y, {name: p, "other": p[:, ::-1]}).plot()
    ax.figure.canvas.draw()
    assert any(shown in text.get_text().replace(r"\$", "$") for text in ax.texts)


def legends(figure):
    return [ax.get_legend() for ax in figure.axes if ax.get_legend() is not None]


@pytest.mark.slow
def test_what_does_not_fit_is_said(rng):
    z = rng.normal(size=200)
    y = rng.random(200) < 1 / (1 + np.exp(-z))
    found = compare(y, {f"f{i}": 1 / (1 + np.exp(-z * (1 + i / 10))) for i in range(9)})
    words = {
        kind: " ".join(text.get_text() for text in found.plot(Figure(figsize=(7, 9)).subplots(), kind=kind).texts)
        for kind in ("differences", "reliability")
    }
    assert "the first 30 of 36 pairs" in words["differences"].replace("\n", " ")
    assert "the first 6 of 9 forecasters" in words["reliability"].replace("\n", " ")


@pytest.mark.slow
def test_the_legend_of_narrow_axes_stays_beside_the_next_ones(result):
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4.5))
    result.plot(left)
    result.plot(right)
    figure.canvas.draw()
    legends = [child.get_legend() for child in figure.axes if child.get_legend() is not None]
    assert len(legends) == 2
    first, second = (legend.get_window_extent() for legend in legends)
    assert first.x1 < second.x0
    assert max(first.y1, second.y1) <= figure.bbox.y1
    plt.close(figure)


@pytest.fixture(scope="module")
def rain():
    """A small file of forecasts of rain by season."""
    rng = np.random.default_rng(2)
    p = rng.uniform(0.05, 0.95, 400)
    season = np.where(np.arange(400) % 2, "winter; cold", "summer")
    return (rng.random(400) < p).astype(int), p, season


def written(tmp_path, *words):
    """Run a command that writes a picture, and give the picture and the words in it."""
    chart = tmp_path / "chart.svg"
    with mpl.rc_context({"svg.fonttype": "none"}):
        assert main([*words, "--plot", str(chart), "--quiet"]) in (0, None)
    svg = chart.read_text("utf-8")
    return svg, " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))


def test_a_picture_for_print_has_title_caption_size_and_type(tmp_path, rain):
    y, p, season = rain
    rows = "".join(f"{a},{b:.4f},{c}\n" for a, b, c in zip(y, p, season, strict=True))
    (tmp_path / "rain.csv").write_text("wet,p,season\n" + rows)
    of = ("assess", str(tmp_path / "rain.csv"), "--truth", "wet", "--prob", "p", "--resamples", "0")
    svg, words = written(tmp_path, *of)
    assert "Observed frequency of wet" in words  # by the column's name, as 1 says nothing
    assert f"{y.sum()} rows with wet" in words
    assert "#0a5ea8" in svg
    style = ("--style", "title=Rain & snow, $5 each", "size=8x5", "font-size=13", "colours=grey")
    svg, words = written(tmp_path, *of, *style, "--reading", "outcome=rain or snow")
    assert "Rain &amp; snow, $5 each" in words
    assert f"{y.sum()} rows with rain or snow" in words
    assert 'width="576pt" height="360pt"' in svg
    for by in ((), ("--by", "season")):
        _, words = written(tmp_path, *of, *by, "--style", "outcome=days with rain")
        assert "Observed frequency of days with rain" in words
    plain, _ = written(tmp_path, *of, "--style", "size=8x5")
    of_type = [{float(each) for each in re.findall(r"([0-9.]+)px", text)} for text in (svg, plain)]
    np.testing.assert_allclose([*map(max, of_type)], [1.3 * max(of_type[1]), max(of_type[1])], rtol=1e-5)
    np.testing.assert_allclose([*map(min, of_type)], [1.3 * min(of_type[1]), min(of_type[1])], rtol=1e-5)
    colours = {tuple(each) for each in re.findall(r"#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})\b", svg)}
    assert colours
    assert all(len({*each}) == 1 for each in colours)
    _, words = written(tmp_path, *of, "--by", "season", "--style", "title=By season")
    assert all(each in words for each in ("By season", "summer", "winter; cold", "Observed frequency of wet"))
    _, words = written(tmp_path, *of, "--by", "season", "--where", "season = 'summer'", "--style", "title=One season")
    assert all(each in words for each in ("One season", "summer"))


def test_python_writes_the_same_picture(tmp_path, rain):
    y, p, _ = rain
    found = assess(np.where(y, "rain", "dry"), p, labels=["dry", "rain"], resamples=0)
    for name in ("chart.pdf", "chart.png"):
        found.save_plot(tmp_path / name, title="Rain", size=(6, 5))
    with Image.open(tmp_path / "chart.png") as picture:
        assert picture.size == (900, 750)
    first = (tmp_path / "chart.pdf").read_bytes()
    found.save_plot(tmp_path / "chart.pdf", title="Rain", size=(6, 5))
    assert first == (tmp_path / "chart.pdf").read_bytes()
    for style, reason in (
        ({"size": (1, 5)}, "size: expected width and height from 2 to 50 inches"),
        ({"font_size": 100}, "font-size: expected 4 to 40 points, got 100"),
        ({"colours": "blue"}, "colours"),
    ):
        with pytest.raises(InputError, match=reason):
            found.save_plot(tmp_path / "chart.svg", **style)
    with pytest.raises(InputError, match=r"known: \.png, \.svg, \.pdf"):
        found.save_plot(tmp_path / "chart.gif")
