"""Parts of the search for groups of rows: weights, cells, rules and the map of distributions beside a group."""

import numpy as np
import pytest
from scipy.special import expit, ndtri

from unperplexed import Distribution
from unperplexed.calibration.where import rules
from unperplexed.calibration.where.chance import simulated
from unperplexed.calibration.where.conditions import columns_of_values
from unperplexed.calibration.where.pit import PitModel
from unperplexed.calibration.where.rules import Model, Scores, SearchedRows


def columns(**values):
    return [column for name, each in values.items() for column in columns_of_values(name, np.asarray(each, float))]


def test_weights_add_up_to_rows_of_equal_weight_that_tell_as_much():
    s, y, w = np.zeros(4), np.array([0.0, 1, 0, 1]), np.array([1.0, 1, 2, 4])
    assert SearchedRows.of(s, y).w.tolist() == [1] * 4
    assert SearchedRows.of(s, y, w).w.sum() == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert SearchedRows.of(s, y, 7 * w).w == pytest.approx(SearchedRows.of(s, y, w).w)


@pytest.mark.parametrize("slope", [False, True])
def test_in_cells_of_equal_log_odds_a_group_is_fitted_as_to_the_rows(monkeypatch, slope):
    rng = np.random.default_rng(1)
    s = rng.choice([-2.0, -1.0, 0.0, 1.0, 2.0], 900)
    inside = rng.random(900) < 0.3
    rows = SearchedRows.of(s, (rng.random(900) < expit(s + inside)).astype(float))
    every = np.ones(900, bool)
    of_rows = rows.model.at(every).with_group(inside, slope)
    monkeypatch.setattr(rules, "_CELL_ROWS", 100)
    in_cells = rows.model.at(every).with_group(inside, slope)
    assert in_cells.cell.max() == 9  # five log-odds, in the group and beside it
    assert in_cells.effect(0) == pytest.approx(of_rows.effect(0), rel=1e-6, abs=1e-9)


def test_rules_above_one_half_need_what_their_mirror_images_below_it_do():
    rng = np.random.default_rng(2)
    s, kind, part = rng.normal(2, 0.5, 600), rng.integers(0, 4, 600), rng.integers(0, 3, 600)
    y = (rng.random(600) < expit(s)).astype(float)
    read = columns(kind=kind, part=part)
    high, low = (Scores(read, Model.of(SearchedRows.of(*each))) for each in ((s, y), (-s, 1 - y)))
    assert high.n_rules == low.n_rules > 10
    assert np.array_equal(high.of[0, 1].kinds[0].fine, low.of[0, 1].kinds[0].fine)


def test_a_column_of_numbers_is_asked_for_all_ranges_of_its_values():
    """But for that of all of them."""
    [column] = columns(x=[3, 1, 2, 2, np.nan])
    held = {tuple(column.holds(condition).tolist()) for condition in column.conditions[1:]}
    assert held == {
        (False, True, False, False, False), (False, False, True, True, False), (True, False, False, False, False),
        (False, True, True, True, False), (True, False, True, True, False), (False, False, False, False, True),
    }  # fmt: skip


@pytest.mark.parametrize("slope", [False, True])
def test_the_shift_and_the_width_of_a_group_of_distributions_are_fitted_beside_those_of_all(slope):
    """Outcomes at exact quantiles: all rows are shifted by 0.3 spreads, and a group by 0.5 more, or twice as wide."""
    z, inside = np.tile(ndtri((np.arange(200) + 0.5) / 200), 2), np.repeat([False, True], 200)
    outcome = 0.3 + np.where(inside, 2 * z if slope else z + 0.5, z)
    model = PitModel(Distribution("normal", mean=np.zeros(400), sd=np.ones(400)).rows_of(outcome, None, None))
    group = model.with_group(inside, slope)
    assert group.model is model
    assert group._deviation == pytest.approx(0.5)  # of a half of the rows
    assert group.loss < model.loss < 0
    freed = group._freed.low  # without the group's own error
    assert freed[inside].mean() == pytest.approx(freed[~inside].mean(), abs=0.03)
    assert freed[inside].std() == pytest.approx(freed[~inside].std(), rel=0.03)


def test_the_largest_of_four_classes_of_rules_is_as_of_one_to_four_gumbel_values():
    """Their maximum has the same distribution, higher by the logarithm of their number if they are independent."""
    rng = np.random.default_rng(3)
    s = rng.normal(0, 1, 300)
    read = columns(x=rng.normal(size=300), other=rng.integers(0, 3, 300))
    scores = Scores(read, Model.of(SearchedRows.of(s, (rng.random(300) < expit(s)).astype(float))))
    found = simulated(scores, rng)
    assert np.isfinite(found.each.scale).all()
    assert 0 < found.best.location < np.log(4) + 0.3
