import io

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from conftest import softmax_forecasts
from unperplexed import InputError, assess, risk_profile


@pytest.fixture
def result(rng):
    return assess(*softmax_forecasts(rng, 1000, 3, temperature=1.5), measured="equal-population", bins=12)


def marks(ax):
    """Positions of the three marks by their shape."""
    return {
        line.get_marker(): (line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines if line.get_marker() in "v^"
    }


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
    (bubbles,) = ax.collections
    offsets = np.asarray(bubbles.get_offsets())[:, :: -1 if swap else 1]
    happened = result.bins.happened > 0
    np.testing.assert_allclose(offsets[happened, 0], result.bins.geometric_accuracy[happened])
    np.testing.assert_allclose(offsets[:, 1], result.bins.measured)
    sizes = bubbles.get_sizes()
    assert (np.argsort(sizes) == np.argsort(np.abs(result.bins.contribution))).all()
    assert ax.get_xlim() == ax.get_ylim()


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


def test_nothing_global_is_changed(result):
    before, figures = dict(mpl.rcParams), plt.get_fignums()
    result.plot(Figure().subplots())
    result.profile.plot(Figure().subplots())
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == figures


def test_new_figure_when_no_axes_are_given(result):
    for draw in (result.plot, result.profile.plot):
        ax = draw()
        assert ax.figure.number in plt.get_fignums()
        plt.close(ax.figure)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_it_can_be_saved(result, kind):
    figure = Figure(layout="tight")
    result.plot(figure.subplots())
    stream = io.BytesIO()
    figure.savefig(stream, format=kind)
    assert stream.getvalue()[:5] in {b"\x89PNG\r"[:5], b"<?xml", b"%PDF-"}


@pytest.mark.parametrize(
    ("y", "p", "settings"),
    [
        ([1], [0.5], {}),
        ([1, 0], [1.0, 0.0], {}),
        ([1, 1], [0.0, 1.0], {"floor": 0.0}),
        ([1, 0, 1], [0.2, 0.3, 0.9], {"view": "top-label"}),
    ],
)
def test_corners_draw_without_a_warning(y, p, settings):
    result = assess(y, p, **settings)
    figure = Figure(layout="tight")
    a, b = figure.subplots(1, 2)
    result.plot(a)
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
