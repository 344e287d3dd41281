"""Each group's small diagram has the marks of that group's own assessment."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from unperplexed import InputError, assess_by
from unperplexed.describe.assessment_charts import Event, reliability_chart


@pytest.fixture
def groups(rng):
    z = rng.normal(size=900)
    y, p = rng.random(900) < 1 / (1 + np.exp(-z)), 1 / (1 + np.exp(-z))
    return assess_by(y, p, by=np.repeat(["a", "$b$", "c", "d", "e"], 180), resamples=0)


def titles(figure):
    return [ax.get_title("left").strip().replace("\\", "") for ax in figure.axes if ax.get_visible()]


@pytest.mark.slow
def test_each_group_has_its_own_marks(groups):
    figure = groups.plot(Figure(figsize=(8, 5), layout="constrained"))
    assert titles(figure) == [group.key[0] for group in groups.groups]
    for ax, group in zip(figure.axes, groups.groups, strict=False):
        chart = reliability_chart(Event(group.assessment))
        [curve] = [line for line in ax.lines if line.get_gid() == "unperplexed-curve"]
        np.testing.assert_array_equal(curve.get_xydata(), np.stack([chart.lines[0].x, chart.lines[0].y], axis=1))
        [dots] = [line for line in ax.lines if line.get_marker() == "o"]
        np.testing.assert_array_equal(dots.get_ydata(), chart.points[0].y)
        below = ax.texts[0].get_text().replace("\n", " ")
        assert below.startswith("180 rows: ")
        assert group.assessment.diagnosis.headline in below
    assert figure.get_supylabel() == "Observed frequency of 'True'"


def test_bands_and_limits_are_drawn_where_there_are_some(rng):
    p = rng.uniform(size=160)
    y, by = rng.random(160) < p, np.arange(160) % 2
    figure = assess_by(y, p, by=by, resamples=40).plot()
    assert plt.fignum_exists(figure.number)
    assert [len(ax.collections) for ax in figure.axes] == [2, 2]  # a band, and limits of the points
    plt.close(figure)
    weighted = assess_by(y, p, by=by, sample_weight=rng.uniform(1, 2, 160), resamples=0).plot(Figure())
    assert [len(ax.collections) for ax in weighted.axes] == [1, 1]  # the band, which takes no samples


@pytest.mark.parametrize("size", [(8, 5), (4, 8), (12, 2.4)])
def test_diagrams_of_any_size_are_apart_and_can_be_read(groups, size):
    figure = groups.plot(Figure(figsize=size, layout="constrained"))
    figure.draw_without_rendering()
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert all(min(ax.bbox.size) > 0.8 * figure.dpi for ax in shown)  # inches
    boxes = [ax.get_tightbbox() for ax in shown] + [ax.texts[0].get_window_extent() for ax in shown]
    own = np.eye(len(boxes), dtype=bool) | np.eye(len(boxes), k=5, dtype=bool) | np.eye(len(boxes), k=-5, dtype=bool)
    caption = next(text for text in figure.texts if text.get_text().startswith("Observed")).get_window_extent()
    assert caption.y1 < max(ax.bbox.y1 for ax in shown) + 0.5 * figure.dpi  # beside the diagrams, not beside a title
    meet = np.array([[a.overlaps(b.padded(-2)) for b in boxes] for a in boxes])
    assert not np.any(meet & ~own)


def test_a_size_that_is_too_small_is_refused_with_one_that_suffices(groups):
    with pytest.raises(InputError, match="size=3x3: 5 diagrams cannot be .* such as 5.6x3.8"):
        groups.plot(Figure(figsize=(3, 3)))
    groups.plot(Figure(figsize=(5.6, 3.8)))


@pytest.mark.slow
def test_what_is_left_out_is_stated(groups):
    figure = groups.plot(Figure(), most=2)
    assert titles(figure) == [group.key[0] for group in groups.groups[:2]]
    assert "The first 2 of 5 groups" in figure.get_supxlabel()
    assert "\n" not in groups.plot(Figure()).get_supxlabel()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"most": 0}, "most: expected a whole number of groups from 1, got 0"),
        ({"most": True}, "most:"),
        ({"figure": 1}, "figure: expected a matplotlib Figure, got int"),
    ],
)
def test_bad_input(groups, arguments, message):
    with pytest.raises(InputError, match=message):
        groups.plot(**arguments)
